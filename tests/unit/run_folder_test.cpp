// RunFolder: who may write into a run's folder, and what run.json says when it cannot be trusted.
#include "trainer/run/run_folder.h"

#include "app/paths/path_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "small_run.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint.h"

namespace gs {
namespace {

using ::testing::HasSubstr;

class RunFolders : public ::testing::Test {
  protected:
    Result<RunFolder> take(const fs::path& from = {}, std::uint64_t step = 0,
                           bool overwrite = false) {
        return RunFolder::take(folder_, from, step, overwrite,
                               [this](LogLevel, const std::string& text) { told_ += text; });
    }
    void put(const char* name, std::string_view text = "x") {
        fs::create_directories(folder_);
        ASSERT_TRUE(write_text_file(folder_ / name, text));
    }

    test::TemporaryFolder temporary_;
    fs::path folder_ = temporary_.path() / "deep" / "run";
    std::string told_;
};

TEST_F(RunFolders, is_taken_by_one_at_a_time_and_given_back) {
    {
        const auto first = take();
        ASSERT_TRUE(first);
        const auto second = take();
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().kind, ErrorKind::usage);
        EXPECT_THAT(second.error().text(), HasSubstr(fmt::format("process {}", ::getpid())));
    }
    EXPECT_TRUE(fs::is_empty(folder_));
    EXPECT_TRUE(take());
    EXPECT_EQ(told_, "");
}

TEST_F(RunFolders, of_a_killed_process_is_taken_over) {
    const pid_t child = ::fork();
    if (child == 0) {
        [[maybe_unused]] const auto held = new Result<RunFolder>(take());
        ::_exit(held->has_value() ? 7 : 1);  // without destructors
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(WEXITSTATUS(status), 7);
    put(fmt::format("checkpoint.gsc.tmp{}", child).c_str());
    put(fmt::format("metrics.json.tmp{}", ::getpid()).c_str());  // its writer lives
    put("notes.tmpx");
    put(fmt::format("notes.txt.tmp{}", child).c_str());  // no run's
    ASSERT_TRUE(take());
    EXPECT_THAT(told_, HasSubstr(fmt::format("process {} did not end", child)));
    EXPECT_FALSE(fs::exists(folder_ / fmt::format("checkpoint.gsc.tmp{}", child)));
    EXPECT_TRUE(fs::exists(folder_ / fmt::format("metrics.json.tmp{}", ::getpid())));
    EXPECT_TRUE(fs::exists(folder_ / "notes.tmpx"));
    EXPECT_TRUE(fs::exists(folder_ / fmt::format("notes.txt.tmp{}", child)));
}

TEST_F(RunFolders, of_a_process_that_is_just_ending_is_waited_for) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        [[maybe_unused]] const auto held = new Result<RunFolder>(take());
        (void)!::write(ready[1], "x", 1);
        ::usleep(200'000);  // as one that gives much memory back
        ::_exit(held->has_value() ? 7 : 1);
    }
    char sign = 0;
    ASSERT_EQ(::read(ready[0], &sign, 1), 1);
    EXPECT_TRUE(take());
    EXPECT_THAT(told_, HasSubstr(fmt::format("process {} did not end", child)));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(RunFolders, another_run_is_replaced_only_when_told) {
    put("point_cloud.ply");
    put("notes.txt");
    ASSERT_FALSE(take());
    EXPECT_THAT(take().error().text(), HasSubstr("--overwrite"));
    EXPECT_TRUE(fs::exists(folder_ / "point_cloud.ply"));
    auto taken = take({}, 0, true);
    ASSERT_TRUE(taken);
    EXPECT_TRUE(fs::exists(folder_ / "point_cloud.ply")) << "until the new run can begin";
    taken->clear();
    EXPECT_FALSE(fs::exists(folder_ / "point_cloud.ply"));
    EXPECT_TRUE(fs::exists(folder_ / "notes.txt")) << "is no run's";
}

TEST_F(RunFolders, a_later_step_is_not_replaced_by_an_earlier_one) {
    const auto capture = testing::small_capture();
    auto trainer = Trainer::create(capture, testing::busy_settings(), make_cpu_training());
    ASSERT_TRUE(trainer);
    fs::create_directories(folder_);
    const fs::path early = folder_ / "early.gsc", newest = folder_ / "checkpoint.gsc";
    for (int i = 0; i < 3; ++i) (*trainer)->step();
    ASSERT_TRUE((*trainer)->save_checkpoint(early));
    for (int i = 0; i < 2; ++i) (*trainer)->step();
    ASSERT_TRUE((*trainer)->save_checkpoint(newest));
    EXPECT_EQ(checkpoint_steps(early), 3u);
    EXPECT_EQ(checkpoint_steps(newest), 5u);
    EXPECT_EQ(run_in(folder_)->steps, 5u);
    const auto refused = take(early, 3);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(take(early, 9)) << "another checkpoint there may be of any run";
    EXPECT_THAT(refused.error().text(), HasSubstr("5 steps"));
    EXPECT_TRUE(take(newest, 5));
    EXPECT_FALSE(take(temporary_.path() / "elsewhere.gsc", 9)) << "it is another run's";
    EXPECT_EQ(read_any_splats(find_contents(folder_))->model.count, (*trainer)->gaussian_count());
}

TEST_F(RunFolders, new_ones_are_numbered) {
    const auto tell = [](LogLevel, const std::string&) {};
    const auto a = RunFolder::take_new(temporary_.path() / "runs", "dense/of ../it", tell);
    const fs::path next = RunFolder::next_new(temporary_.path() / "runs", "dense/of ../it");
    const auto b = RunFolder::take_new(temporary_.path() / "runs", "dense/of ../it", tell);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(next, b->path());
    EXPECT_THAT(a->path().filename().string(), ::testing::MatchesRegex("dense-of-..-it-.*-1"));
    EXPECT_THAT(b->path().filename().string(), ::testing::EndsWith("-2"));
    EXPECT_FALSE(RunFolder::take_new("/proc/nowhere", "x", tell));
}

TEST_F(RunFolders, the_description_comes_back) {
    RunDescription d{.capture = "/photos"};
    d.loading.downscale = 3;
    d.loading.test_views = {"a", "b"};
    d.loading.left_out = {"c"};
    d.loading.model = "sparse/1";
    d.loading.listed_split = ListedSplit::ignored;
    d.loading.background = {0.25F, 0.5F, 1};
    d.loading.masks = "m";
    d.marks = {{5, "one"}, {9, "two"}};
    Evaluation e;
    e.step = 7;
    e.psnr = 20;
    e.images = {{2, "c", 19, 0.5, 0.25}, {3, "d", kNotMeasured, kNotMeasured, kNotMeasured}};
    d.evaluations = {e};
    put("run.json", json_text(to_json(d)));
    const auto back = required(read_run_description(folder_));
    EXPECT_EQ(json_text(to_json(back)), json_text(to_json(d)));
    const auto early = read_run_description(folder_, 6);
    EXPECT_EQ(early->marks.size(), 1u);
    EXPECT_TRUE(early->evaluations.empty());
}

TEST_F(RunFolders, a_description_that_lies_harms_nobody) {
    EXPECT_EQ(read_run_description(folder_).error().kind, ErrorKind::not_found);
    for (const char* text : {"", "[]", "{", "{}", "{\"format\":\"gausscope run 9\"}", "null"}) {
        put("run.json", text);
        EXPECT_FALSE(read_run_description(folder_)) << text;
    }
    put("run.json",
        R"({"format":"gausscope run 1","capture":7,"loading":{"downscale":-9,"max_side":"x",
            "test_every":1e99,"test_views":[1,{}],"background":[1],"masks":[]},"marks":{"a":1},
            "evaluations":[3,{"step":-1},{"views":[1e99,-4,"x"],"image_psnr":"no"}]})");
    const auto read = required(read_run_description(folder_));
    EXPECT_EQ(read.capture, "");
    EXPECT_EQ(read.loading.downscale, 0);
    EXPECT_EQ(read.loading.test_every, CaptureOptions().test_every);
    EXPECT_EQ(read.loading.listed_split, ListedSplit::separate_files)
        << "runs that do not say it knew only these";
    EXPECT_TRUE(read.loading.undistort) << "runs that do not say it resampled their photos";
    for (const Evaluation& e : read.evaluations)
        for (const ImageScore& image : e.images) EXPECT_GT(image.view, 1u << 20);
}

}  // namespace
}  // namespace gs
