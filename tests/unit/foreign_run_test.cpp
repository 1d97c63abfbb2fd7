// The result folders of other trainers: their newest Gaussians, and the photos they were trained
// from.
#include "trainer/run/foreign_run.h"

#include <gtest/gtest.h>

#include "app/paths/path_contents.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

class ForeignRuns : public ::testing::Test {
  protected:
    /// A file with `count` Gaussians.
    void splats(const fs::path& name, std::size_t count) {
        fs::create_directories((folder_ / name).parent_path());
        ASSERT_TRUE(write_splats(folder_ / name, GaussianModel(count, 0)));
    }
    void text(const fs::path& name, std::string_view content) {
        fs::create_directories((folder_ / name).parent_path());
        ASSERT_TRUE(write_text_file(folder_ / name, content));
    }
    std::size_t opened() {
        const auto file = read_any_splats(find_contents(folder_.string()));
        EXPECT_TRUE(file) << file.error().text();
        return file ? file->model.count : 0;
    }

    test::TemporaryFolder temporary_;
    fs::path folder_ = temporary_.path() / "result", photos_ = temporary_.path() / "photos, (all)";
};

TEST_F(ForeignRuns, the_newest_step_is_opened_by_number_and_not_by_name) {
    const std::pair<const char*, const char*> kLayouts[] = {
        {"point_cloud/iteration_7000/point_cloud.ply",
         "point_cloud/iteration_30000/point_cloud.ply"},
        {"ply/point_cloud_6999.ply", "ply/point_cloud_29999.ply"},
        {"export_5000.ply", "export_30000.ply"},
        {"splat_9000.ply", "splat_30000.ply"}};
    for (const auto& [early, late] : kLayouts) {
        fs::remove_all(folder_);
        splats(early, 3);
        splats(late, 5);
        EXPECT_EQ(opened(), 5u) << late;
        const auto steps = foreign_steps(folder_);
        ASSERT_EQ(steps.size(), 2u) << late;
        EXPECT_LT(steps[0].step, steps[1].step);
        EXPECT_EQ(find_contents(folder_.string()).run_folder, "")
            << "nothing is written into another trainer's folder";
    }
}

TEST_F(ForeignRuns, names_that_are_no_steps_are_not_taken_for_one) {
    for (const char* name : {"export_.ply", "export_x.ply", "export_-3.ply", "export_3.ply.tmp",
                             "export_99999999999999999999.ply", "splat_1a.ply"})
        text(name, "x");
    fs::create_directories(folder_ / "point_cloud" / "iteration_7" / "point_cloud.ply");
    EXPECT_TRUE(foreign_steps(folder_).empty());
    EXPECT_FALSE(run_in(folder_));
    splats("splat.ply", 2);  // nerfstudio's export
    EXPECT_EQ(opened(), 2u);
}

TEST_F(ForeignRuns, a_folder_with_a_run_of_ours_is_ours) {
    splats("export_5000.ply", 3);
    splats("point_cloud.ply", 4);
    EXPECT_EQ(opened(), 4u);
    EXPECT_EQ(find_contents(folder_.string()).run_folder, folder_);
}

TEST_F(ForeignRuns, cfg_args_names_photos_and_split) {
    fs::create_directories(photos_);
    splats("point_cloud/iteration_7/point_cloud.ply", 1);
    const auto cfg = [&](std::string_view rest) {
        text("cfg_args", fmt::format("Namespace(data_device='cuda', {}, source_path='{}', "
                                     "white_background=True)",
                                     rest, photos_.string()));
        auto read = read_run_description(folder_);
        EXPECT_TRUE(read);
        return read ? std::move(*read) : RunDescription();
    };
    const RunDescription whole = cfg("eval=True, images='images', resolution=-1, sh_degree=3");
    EXPECT_EQ(whole.capture, photos_);
    EXPECT_EQ(whole.loading.test_every, 8);
    EXPECT_EQ(whole.loading.max_side, 1600);
    EXPECT_EQ(whole.loading.background.x, 1);
    EXPECT_TRUE(find_contents(folder_.string()).knows_capture);
    const RunDescription small = cfg("eval=False, images=\"images_4\", resolution=2");
    EXPECT_EQ(small.loading.test_every, 0);
    EXPECT_EQ(small.loading.downscale, 8);
    EXPECT_EQ(small.loading.max_side, 0);
    fs::remove_all(photos_);
    EXPECT_FALSE(find_contents(folder_.string()).knows_capture) << "they have moved";
    EXPECT_EQ(opened(), 1u);
}

TEST_F(ForeignRuns, cfg_yml_names_photos_and_split) {
    fs::create_directories(photos_);
    splats("ply/point_cloud_9.ply", 1);
    text("cfg.yml", fmt::format("# c: d\nstrategy: !dataclass:DefaultStrategy\n  test_every: 3\n"
                                "data_dir: '{}'\ndata_factor: 4\ntest_every: 5\n",
                                photos_.string()));
    const auto read = foreign_description(folder_);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->capture, photos_);
    EXPECT_EQ(read->loading.downscale, 4);
    EXPECT_EQ(read->loading.test_every, 5);
}

TEST_F(ForeignRuns, settings_that_lie_harm_nobody) {
    splats("export_1.ply", 1);
    for (const char* name : {"cfg_args", "cfg.yml"})
        for (const char* content :
             {"", "Namespace(", "Namespace(=", "Namespace(source_path='", "Namespace(a=1,,,)",
              "Namespace(source_path='/nowhere', resolution=99999999999999999999)", ": \n:\n",
              "data_dir: /nowhere\n", "\n\n: "}) {
            text(name, content);
            EXPECT_FALSE(foreign_description(folder_)) << content;
            EXPECT_EQ(opened(), 1u);
        }
}

}  // namespace
}  // namespace gs
