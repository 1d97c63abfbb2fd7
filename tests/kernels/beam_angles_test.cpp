// Angles and directions of a lidar's beams against stored numbers of three sensors.
#include "renderer/scene/beam_angles.h"

#include <gtest/gtest.h>

#include "tests/support/data.h"
#include "tests/support/npz.h"

namespace gs::test {
namespace {

double squared(Vec3d v) { return dot(v, v); }

TEST(BeamAngles, AreThoseOfStoredBeams) {
    GS_NEED_DATA("reference/sensors/lidar.npz");
    const Arrays data = load_npz(data_path("reference/sensors/lidar.npz"));
    for (const std::string sensor : {"waymo", "pandar64", "at128"}) {
        SCOPED_TRACE(sensor);
        const Array &angles = data[sensor + "_element_angles"],
                    &directions = data[sensor + "_element_dir"];
        ASSERT_GT(angles.dim(0), 0u);
        for (std::size_t i = 0; i < angles.dim(0); ++i) {
            const Vec3d d = direction_of({angles[2 * i], angles[2 * i + 1]});
            const Vec3d expected{directions[3 * i], directions[3 * i + 1], directions[3 * i + 2]};
            ASSERT_LT(squared(d - expected), 1e-24);
            const BeamAngles back = angles_of(expected);
            ASSERT_NEAR(back.elevation, angles[2 * i + 1], 1e-12);
            ASSERT_LT(squared(direction_of(back) - expected), 1e-24);
        }
    }
}

}  // namespace
}  // namespace gs::test
