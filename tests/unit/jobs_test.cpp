// Jobs on threads and in slices: results, progress, commands, and each way to end.
#include "app/session/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "app/session/viewer.h"
#include "renderer/raster/frame_size.h"

namespace gs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using News = Jobs::News;
using Slice = Jobs::Slice;

struct JobsTest : ::testing::Test {
    /// Three pieces, the last of which ends it.
    void start_counting(JobLabel label) {
        jobs.start_slices(
            std::move(label),
            [n = 0](const Shown&, const Progress& progress) mutable {
                progress("counting", static_cast<std::size_t>(++n), 3);
                return n < 3 ? Slice::worked : Slice::ended;
            },
            [this] { heard.emplace_back("counted"); },
            [this](const Error& error) { heard.push_back(error.text()); });
    }
    void start_waiting(JobLabel label) {
        jobs.start<int>(
            std::move(label),
            [](const Progress& progress) -> Result<int> {
                while (progress("waiting", 1, 2)) std::this_thread::yield();
                return fail(ErrorKind::cancelled, "", "was cancelled");
            },
            [this](int) { heard.emplace_back("done"); },
            [this](const Error& error) { heard.push_back(error.text()); });
    }
    News slice() { return jobs.slice(shown, viewer); }
    void follow_until_results() {
        while (jobs.follow() != News::results) std::this_thread::yield();
    }

    LoadedScene scene;
    Shown shown{scene};
    Viewer viewer;
    std::vector<std::string> heard;
    Jobs jobs{[] {}};
};

TEST_F(JobsTest, a_thread_hands_over_its_result) {
    jobs.start<int>(
        {"thread", "adding", 7}, [](const Progress&) -> Result<int> { return 42; },
        [this](int sum) { heard.push_back(std::to_string(sum)); },
        [this](const Error& error) { heard.push_back(error.text()); });
    EXPECT_TRUE(jobs.running("thread"));
    EXPECT_EQ(jobs.done(9), 6U) << "its command is not done";
    EXPECT_EQ(slice(), News::none);
    follow_until_results();
    EXPECT_THAT(heard, ElementsAre("42"));
    EXPECT_FALSE(jobs.running("thread"));
    EXPECT_EQ(jobs.done(9), 9U);
}

TEST_F(JobsTest, slices_work_once_a_turn_until_they_end) {
    start_counting({"slices", "beginning", 3});
    EXPECT_EQ(jobs.progress_of("slices")->what, "beginning");
    EXPECT_EQ(jobs.done(5), 2U);
    EXPECT_EQ(slice(), News::reports);
    ASSERT_EQ(jobs.activities().size(), 1U);
    const Activity one = jobs.activities()[0];
    EXPECT_EQ(one.name, "slices");
    EXPECT_DOUBLE_EQ(one.share, 1.0 / 3);
    EXPECT_TRUE(one.what.starts_with("counting, ") && one.what.ends_with(" left")) << one.what;
    EXPECT_EQ(slice(), News::reports);
    EXPECT_THAT(heard, IsEmpty());
    EXPECT_EQ(slice(), News::results);
    EXPECT_THAT(heard, ElementsAre("counted"));
    EXPECT_THAT(jobs.activities(), IsEmpty());
    EXPECT_EQ(jobs.done(5), 5U);
    EXPECT_EQ(slice(), News::none);
}

TEST_F(JobsTest, a_slice_may_wait_or_fail) {
    bool ready = false;
    jobs.start_slices(
        {"slices", "reading"},
        [&](const Shown&, const Progress&) -> Result<Slice> {
            if (!ready) return Slice::waited;
            return fail(ErrorKind::unreadable, "file", "is gone");
        },
        [] {}, [this](const Error& error) { heard.push_back(error.text()); });
    EXPECT_EQ(slice(), News::none);
    ready = true;
    EXPECT_EQ(slice(), News::results);
    EXPECT_THAT(heard, ElementsAre("file: is gone"));
    EXPECT_FALSE(jobs.running("slices"));
}

TEST_F(JobsTest, a_picture_that_is_refused_ends_only_its_job) {
    start_counting({"others", "counting"});
    jobs.start_slices(
        {"slices", "drawing"},
        [](const Shown&, const Progress&) -> Result<Slice> { throw FrameTooLarge("too large"); },
        [] {}, [this](const Error& error) { heard.push_back(error.text()); });
    EXPECT_EQ(slice(), News::results);
    EXPECT_THAT(heard, ElementsAre("too large"));
    EXPECT_FALSE(jobs.running("slices"));
    EXPECT_TRUE(jobs.running("others"));
}

TEST_F(JobsTest, both_kinds_are_cancelled_by_name_or_all) {
    start_waiting({"thread", "waiting", 2});
    start_counting({"slices", "counting"});
    EXPECT_FALSE(jobs.cancel("other"));
    EXPECT_TRUE(jobs.cancel("slices"));
    EXPECT_THAT(heard, ElementsAre("was cancelled"));
    EXPECT_TRUE(jobs.cancel(""));
    follow_until_results();
    EXPECT_THAT(heard, ElementsAre("was cancelled", "was cancelled"));
    EXPECT_FALSE(jobs.cancel(""));
    EXPECT_EQ(jobs.done(5), 5U);
}

TEST_F(JobsTest, silent_slices_are_ended_only_by_the_engine) {
    start_counting({"silent", ""});
    EXPECT_FALSE(jobs.cancel(""));
    EXPECT_THAT(jobs.activities(), IsEmpty());
    EXPECT_TRUE(jobs.running("silent"));
    jobs.cancel_slices();
    EXPECT_THAT(heard, ElementsAre("was cancelled"));
    EXPECT_FALSE(jobs.running("silent"));
}

TEST_F(JobsTest, a_later_command_may_wait_for_a_running_job) {
    start_waiting({"thread", "waiting"});
    EXPECT_EQ(jobs.done(8), 8U);
    jobs.wait_for("thread", 8);
    EXPECT_EQ(jobs.done(8), 7U);
}

TEST_F(JobsTest, a_dropped_job_says_nothing) {
    start_waiting({"thread", "waiting"});
    start_counting({"slices", "counting"});
    jobs.drop("thread");
    jobs.drop("slices");
    start_counting({"slices", "counting"});
    start_counting({"slices", "counting"});  // replaces the earlier one
    EXPECT_EQ(jobs.activities().size(), 1U);
    EXPECT_EQ(jobs.follow(), News::none);
    while (jobs.running("slices")) slice();
    EXPECT_THAT(heard, ElementsAre("counted"));
}

TEST_F(JobsTest, what_needs_the_scene_ends_with_it) {
    start_waiting({"thread", "waiting", 2, true});
    start_counting({"slices", "counting", 3, true});
    start_counting({"silent", "", 0, true});
    start_counting({"stays", "going"});
    EXPECT_THAT(jobs.scene_gone(), ElementsAre("waiting", "counting"));
    EXPECT_EQ(jobs.activities().size(), 1U);
    EXPECT_FALSE(jobs.running("silent"));
    EXPECT_EQ(jobs.done(5), 5U);
    follow_until_results();
    EXPECT_THAT(heard, IsEmpty()) << "the thread's result is discarded";
    EXPECT_TRUE(jobs.running("stays"));
}

TEST_F(JobsTest, slices_and_handlers_may_start_and_drop_jobs) {
    jobs.start_slices({"first", "first"}, [this](const Shown&, const Progress&) {
        start_counting({"new", "counting"});
        jobs.drop("second");
        jobs.drop("first");
        return Slice::ended;
    });
    jobs.start_slices({"second", "second"}, [this](const Shown&, const Progress&) {
        heard.emplace_back("second");
        return Slice::worked;
    });
    slice();
    EXPECT_THAT(heard, IsEmpty());
    EXPECT_TRUE(jobs.running("new"));
    EXPECT_EQ(jobs.activities().size(), 1U);
}

TEST_F(JobsTest, slices_take_their_share_while_something_trains) {
    shown.training = true;
    viewer.add_picture(shown, 1);  // more than was earned
    start_counting({"slices", "counting"});
    EXPECT_EQ(slice(), News::none);
    viewer.add_work(2);
    EXPECT_EQ(slice(), News::none) << "without a viewport, a quarter of the time";
    viewer.add_work(1.1);
    EXPECT_EQ(slice(), News::reports);
    viewer.add_picture(shown, 1);
    start_counting({.name = "slices", .what = "counting", .like_training = true});
    EXPECT_EQ(slice(), News::reports) << "it never waits";
}

}  // namespace
}  // namespace gs
