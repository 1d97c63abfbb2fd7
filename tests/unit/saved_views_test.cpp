// Saved views: what is written is looked from again; the file may say anything.
#include "app/studio/saved_views.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "renderer/scene/near_plane.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

class SavedViews : public ::testing::Test {
  protected:
    const test::TemporaryFolder folder_;
};

TEST_F(SavedViews, ComeBackAsTheyWere) {
    NavigationState at;
    const Vec3d up{0, 0, 1};
    const double fov = 50;
    ASSERT_TRUE(place(at, {1.5, -2.25, 3}, {0.1, 0.2, 0.3}, &up, &fov));
    const fs::path file = folder_ / "views.txt";
    ASSERT_TRUE(write_views(file, {{"from above = left", 7, {}}, {"door", -1, at}}));
    const auto back = read_views(file);
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[0].name, "from above = left");
    EXPECT_EQ(back[0].photo, 7);
    EXPECT_EQ(back[1].photo, -1);
    const Vec3d eye = back[1].place.eye();
    EXPECT_NEAR(eye.x, 1.5, 1e-6);
    EXPECT_NEAR(eye.y, -2.25, 1e-6);
    EXPECT_NEAR(eye.z, 3, 1e-6);
    EXPECT_NEAR(back[1].place.fov_y, at.fov_y, 1e-9);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            EXPECT_NEAR(back[1].place.rotation.m[i][j], at.rotation.m[i][j], 1e-7);
}

TEST_F(SavedViews, ParallelRaysComeBack) {
    NavigationState at;
    ASSERT_TRUE(place(at, {0, 0, -3}, {0, 0, 0}, nullptr, nullptr));
    at.through.model = CameraModel::orthographic;
    const fs::path file = folder_ / "views.txt";
    ASSERT_TRUE(write_views(file, {{"plan", -1, at}, {"usual", -1, {}}}));
    const auto back = read_views(file);
    ASSERT_EQ(back.size(), 2u);
    EXPECT_TRUE(back[0].place.parallel());
    EXPECT_FALSE(back[1].place.parallel());
    ASSERT_TRUE(write_text_file(file, "a = 0 0 -3 0 0 0 0 -1 0 50 flat\n"));
    EXPECT_TRUE(read_views(file).empty());
}

TEST_F(SavedViews, LinesThatAreNoneArePassedOver) {
    fs::create_directories(folder_);
    const fs::path file = folder_ / "views.txt";
    ASSERT_TRUE(write_text_file(file,
                                "rubbish\n = photo 3\na = photo -1\nb = photo x\nc = 1 2 3\n"
                                "d = 1 1 1 1 1 1 0 1 0 50\ne = nan 0 0 1 0 0 0 1 0 50\n"
                                "good = photo 2\nno end = 0 0 -3 0 0 0 0 -1 0 50"));
    const auto views = read_views(file);
    ASSERT_EQ(views.size(), 2u);
    EXPECT_EQ(views[0].name, "good");
    EXPECT_EQ(views[1].name, "no end");
    EXPECT_TRUE(read_views(folder_ / "none.txt").empty());
}

TEST_F(SavedViews, ARunsLieInItsFolder) {
    EXPECT_EQ(views_file("runs/a", "photos", "/config"), fs::path("runs/a/views.txt"));
    const fs::path other = views_file("", "/nowhere/scene.ply", "/config");
    EXPECT_EQ(other.parent_path(), fs::path("/config/views"));
    EXPECT_NE(other, views_file("", "/nowhere/other.ply", "/config"));
}

TEST(NearPlane, FollowsSmallWorldsOnly) {
    EXPECT_EQ(near_plane_for(4.3), 0.0F);
    EXPECT_FLOAT_EQ(near_plane_for(4.3e-4), 4.3e-6F);
    EXPECT_EQ(near_plane_for(0), 0.0F);
    for (const float size : {1e-4F, 1e-2F, 3.0F}) {
        GaussianModel model(101, 0);
        for (std::size_t row = 0; row < model.count; ++row)
            model.at(kMeans, row) = size * (static_cast<float>(row) - 50);
        model.at(kMeans, 100) = 1e9F;  // one that lies far out
        model.at(kMeans + 1, 99) = NAN;
        const float near = near_plane_of(model);
        EXPECT_EQ(near > 0, size < 1) << size;
        EXPECT_LT(near, 0.02F * 50 * size);
    }
}

}  // namespace
}  // namespace gs
