// What was measured in a scene: kept beside its saved views, whatever the file says; lengths in
// words; lines of it in a picture.
#include "app/studio/measures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "panels/viewport/overlay_parts.h"
#include "renderer/scene/camera.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

class Measures : public ::testing::Test {
  protected:
    const test::TemporaryFolder folder_;
};

TEST_F(Measures, ComeBackAsTheyWere) {
    MeasureState measured{.points = {{1.5, -2.25, 3}, {0.1, 0.2, 0.3}, {9, 9, 9}},
                          .metres_per_unit = 0.123456789,
                          .up = Vec3d{0, 0.6, -0.8}};
    const fs::path file = measures_file(folder_ / "views.txt");
    EXPECT_EQ(file.filename(), "measures.txt");
    EXPECT_EQ(measures_file(folder_ / "12ab.txt").filename(), "12ab.measures.txt");
    ASSERT_TRUE(write_measures(file, measured));
    const MeasureState back = read_measures(file);
    ASSERT_EQ(back.points.size(), 2u) << "the point that waits is not kept";
    EXPECT_DOUBLE_EQ(back.length(0), measured.length(0));
    EXPECT_DOUBLE_EQ(back.metres_per_unit, 0.123456789);
    ASSERT_TRUE(back.up);
    EXPECT_DOUBLE_EQ(back.up->z, -0.8);
    ASSERT_TRUE(write_measures(file, {}));
    EXPECT_FALSE(fs::exists(file));
    EXPECT_TRUE(read_measures(file).empty());
}

TEST_F(Measures, LinesThatAreNoneArePassedOver) {
    fs::create_directories(folder_);
    const fs::path file = folder_ / "measures.txt";
    ASSERT_TRUE(write_text_file(file,
                                "rubbish\nmetres_per_unit = -1\nmetres_per_unit = x\nup = 0 0 0\n"
                                "up = 1 2\ndistance = 1 2 3 4 5\ndistance = nan 0 0 1 1 1\n"
                                "up = 0 -3 0\ndistance = 0 0 0 3 0 4"));
    const MeasureState back = read_measures(file);
    EXPECT_EQ(back.metres_per_unit, 0);
    ASSERT_TRUE(back.up);
    EXPECT_DOUBLE_EQ(back.up->y, -1) << "of length 1";
    ASSERT_EQ(back.distances(), 1u);
    EXPECT_DOUBLE_EQ(back.length(0), 5);
    EXPECT_FALSE(write_measures(file / "below a file", back));
}

TEST_F(Measures, LengthsAreToldInFittingUnits) {
    EXPECT_EQ(length_words(0.8, 0), "0.8 units");
    EXPECT_EQ(length_words(0.8, 1.5), "1.2 m");
    EXPECT_EQ(length_words(0.2, 1.5), "30 cm");
    EXPECT_EQ(length_words(0.001, 1.5), "1.5 mm");
    EXPECT_EQ(length_words(2000, 1.5), "3 km");
}

TEST_F(Measures, LinesAreWhereTheirPointsAre) {
    const Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 200, 100, 1.0);
    MeasureState measured{
        .points = {{-0.5, 0, 0}, {0.5, 0, 0}, {0, 0, -9}, {0, 0, -8}, {0, 0.5, 0}}};
    const auto lines = lines_of(measured, camera);
    ASSERT_EQ(lines.size(), 1u) << "one lies behind the camera, one has no end yet";
    EXPECT_EQ(lines[0].number, 1u);
    EXPECT_EQ(lines[0].words, "1 units");
    EXPECT_NEAR(lines[0].ends[0].x + lines[0].ends[1].x, 200, 1e-6);
    EXPECT_NEAR(lines[0].ends[0].y, 50, 1e-6);
    EXPECT_NEAR(std::abs(lines[0].ends[1].x - lines[0].ends[0].x), camera.fx / 4, 1e-6);
}

}  // namespace
}  // namespace gs
