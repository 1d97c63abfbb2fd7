// A lidar's beams: angles, directions and moments against stored numbers of three sensors, and the
// way back from an angle to the beam.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "renderer/scene/lidar_pattern.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"

namespace gs::test {
namespace {

constexpr const char* kFile = "reference/sensors/lidar.npz";

LidarPattern stored_pattern(const Arrays& data, const std::string& sensor) {
    auto made = LidarPattern::create(data[sensor + "_row_elevations"].values,
                                     data[sensor + "_column_azimuths"].values,
                                     data[sensor + "_row_offsets"].values);
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
}
LidarElement element_at(const Array& a, std::size_t i) {
    return {static_cast<std::uint32_t>(a[2 * i]), static_cast<std::uint32_t>(a[2 * i + 1])};
}

TEST(LidarPattern, BeamsGoWhereStored) {
    GS_NEED_DATA(kFile);
    const Arrays data = load_npz(data_path(kFile));
    for (const std::string sensor : {"waymo", "pandar64", "at128"}) {
        SCOPED_TRACE(sensor);
        const LidarPattern pattern = stored_pattern(data, sensor);
        const Array &elements = data[sensor + "_element"],
                    &angles = data[sensor + "_element_angles"],
                    &directions = data[sensor + "_element_dir"],
                    &times = data[sensor + "_element_time"];
        for (std::size_t i = 0; i < elements.dim(0); ++i) {
            const LidarElement e = element_at(elements, i);
            const BeamAngles a = pattern.angles(e);
            ASSERT_NEAR(wrapped_angle(a.azimuth - angles[2 * i]), 0, 1e-12);
            ASSERT_NEAR(a.elevation, angles[2 * i + 1], 1e-12);
            const Vec3d d = pattern.direction(e);
            const double expected[3] = {directions[3 * i], directions[3 * i + 1],
                                        directions[3 * i + 2]},
                         got[3] = {d.x, d.y, d.z};
            for (int k = 0; k < 3; ++k) ASSERT_NEAR(got[k], expected[k], 1e-12);
            ASSERT_NEAR(pattern.time(e.column), times[i], 1e-12);
            ASSERT_EQ(pattern.nearest(angles_of(d)), e) << "and back";
        }
    }
}

TEST(LidarPattern, AnAnglesBeamIsTheNearest) {
    GS_NEED_DATA(kFile);
    const Arrays data = load_npz(data_path(kFile));
    for (const std::string sensor : {"waymo", "pandar64", "at128"}) {
        SCOPED_TRACE(sensor);
        const LidarPattern pattern = stored_pattern(data, sensor);
        const Array &angles = data[sensor + "_query_angles"],
                    &elements = data[sensor + "_query_element"],
                    &clear = data[sensor + "_query_clear"];
        std::size_t compared = 0;
        for (std::size_t i = 0; i < elements.dim(0); ++i) {
            if (clear[i] == 0) continue;
            ++compared;
            ASSERT_EQ(pattern.nearest({angles[2 * i], angles[2 * i + 1]}), element_at(elements, i))
                << i;
        }
        EXPECT_GT(compared, 3000u);
    }
}

TEST(LidarPattern, TheSeamIsNoBorderAndNonsenseIsRefused) {
    const double pi = std::numbers::pi, inf = std::numeric_limits<double>::infinity();
    std::vector<double> columns;
    for (int i = 0; i < 360; ++i) columns.push_back((180 - i) * pi / 180);
    const auto pattern = LidarPattern::create({0.1, -0.1}, columns, {0, 0.001});
    ASSERT_TRUE(pattern);
    EXPECT_EQ(pattern->nearest({-pi + 0.001, 0.3}), (LidarElement{0, 0}));
    EXPECT_EQ(pattern->nearest({pi - 0.001, -1.5}), (LidarElement{1, 0}));
    EXPECT_EQ(pattern->nearest({7 * pi, 0.09}), (LidarElement{0, 0}));
    EXPECT_FALSE(pattern->nearest({inf, 0}));
    EXPECT_FALSE(LidarPattern::create({}, {0}, {}));
    EXPECT_FALSE(LidarPattern::create({0}, {}, {0}));
    EXPECT_FALSE(LidarPattern::create({0, 1}, {0}, {0}));
    EXPECT_FALSE(LidarPattern::create({2}, {0}, {0}));
    EXPECT_FALSE(LidarPattern::create({0}, {inf}, {0}));
    EXPECT_EQ(wrapped_angle(pi), -pi);
    EXPECT_LT(wrapped_angle(-pi - 1e-18), pi);
}

}  // namespace
}  // namespace gs::test
