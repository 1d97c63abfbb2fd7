// TimeLapse: which steps are drawn, where the pictures are stored, and what resuming or going back
// does to existing ones. And Run with one: pictures while it trains, thumbnails at checkpoints.
#include "trainer/run/time_lapse.h"

#include <gtest/gtest.h>

#include "base/beside_program.h"
#include "renderer/io/images/image_io.h"
#include "run_fixture.h"
#include "tests/support/temporary_folder.h"
#include "trainer/run/lapse_video.h"
#include "trainer/run/run_pictures.h"

namespace gs::testing {
namespace {

LapseCamera camera_at(const std::string& name, double x) {
    return {name, look_at({x, -1, -4}, {0, 0, 0}, {0, -1, 0}, 80, 60, 0.9)};
}
Image8 drawn(const Camera& camera, int) {
    Image8 out{camera.width, camera.height, 3, {}};
    out.bytes.assign(3 * out.pixels(), 90);
    return out;
}
using Steps = std::vector<std::uint64_t>;

TEST(LapsePace, IsANumberOfStepsOrAutoOrOff) {
    EXPECT_EQ(*parse_lapse_pace("100"), (LapsePace{100, false}));
    EXPECT_EQ(*parse_lapse_pace("auto"), (LapsePace{0, true}));
    EXPECT_FALSE(parse_lapse_pace("off")->on());
    for (const char* wrong : {"", "-1", "1.5", "often", "100 ", "99999999999999999999"})
        EXPECT_FALSE(parse_lapse_pace(wrong)) << wrong;
    for (const char* text : {"100", "auto", "off"})
        EXPECT_EQ(text_of(*parse_lapse_pace(text)), text);
}

TEST(LapseCameras, AreSavedViewsPhotosOrWhatIsUsual) {
    const auto capture = small_capture();
    const std::vector<LapseCamera> saved{camera_at("above", 1)};
    const auto usual = choose_lapse_cameras("", saved, *capture);
    ASSERT_EQ(usual->size(), 2u);
    EXPECT_EQ((*usual)[0].name, "view0.png") << "the first that is held out";
    EXPECT_EQ((*usual)[1].name, "above");
    const auto named = required(choose_lapse_cameras("above,view3,view4.png", saved, *capture));
    EXPECT_EQ(named[1].camera.translation.x, capture->views[3].camera.translation.x);
    const auto wrong = choose_lapse_cameras("view3,below", saved, *capture);
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message.find("below"), std::string::npos);
}

TEST(TimeLapse, TakesPicturesThatAnotherProcessGoesOnWith) {
    const test::TemporaryFolder folder;
    TimeLapse lapse;
    EXPECT_FALSE(lapse.due(100, 1));
    lapse.set_pace({100, false});
    lapse.set_cameras({camera_at("a/b", 1), camera_at("a b", 2)});
    for (std::uint64_t step = 0; step <= 300; ++step) {
        if (!lapse.due(step, 1)) continue;
        ASSERT_TRUE(lapse.take(folder.path(), step, drawn));
    }
    EXPECT_EQ(lapse.pictures(), 8u);
    const auto views = time_lapse_in(folder.path());
    ASSERT_EQ(views.size(), 2u);
    EXPECT_NE(views[0].folder, views[1].folder) << "names that are plain alike";
    for (const LapseView& view : views) {
        EXPECT_EQ(view.steps, (Steps{0, 100, 200, 300}));
        EXPECT_EQ(read_image(lapse_picture(view.folder, 200))->width, 80);
    }
    // Another process resumes after step 250: once it owns the folder, later pictures are moved
    // aside and not lost.
    TimeLapse next;
    next.take_up(folder.path(), 250);
    EXPECT_EQ(time_lapse_in(folder.path())[0].steps, (Steps{0, 100, 200, 300})) << "only read";
    next.move_in(folder.path());
    EXPECT_EQ(next.pace(), (LapsePace{100, false}));
    EXPECT_EQ(next.views()[1].name, "a b");
    EXPECT_EQ(next.views()[0].steps, (Steps{0, 100, 200}));
    EXPECT_TRUE(fs::exists(lapse_picture(
        folder.path() / kTimeLapseFolder / "left-300" / views[0].folder.filename(), 300)));
    ASSERT_TRUE(next.take(folder.path(), 300, drawn));
    EXPECT_EQ(time_lapse_in(folder.path())[0].steps, (Steps{0, 100, 200, 300}));
    const auto go_back = [&] {
        next.go_back(100);
        next.move_in(folder.path());
    };
    go_back();
    ASSERT_TRUE(next.take(folder.path(), 300, drawn));
    go_back();
    EXPECT_TRUE(fs::exists(folder.path() / kTimeLapseFolder / "left-300-3"));
}

TEST(TimeLapse, ACameraThatMovedGetsAnotherFolder) {
    const test::TemporaryFolder folder;
    TimeLapse lapse;
    lapse.set_pace({1, false});
    lapse.set_cameras({camera_at("a", 1)});
    ASSERT_TRUE(lapse.take(folder.path(), 1, drawn));
    lapse.set_cameras({camera_at("a", 2)});
    ASSERT_TRUE(lapse.take(folder.path(), 2, drawn));
    ASSERT_EQ(lapse.views().size(), 2u);
    EXPECT_NE(lapse.views()[0].folder, lapse.views()[1].folder);
    EXPECT_EQ(lapse.views()[1].steps, (Steps{2}));
    EXPECT_EQ(lapse.views()[0].steps, (Steps{1}));
    // Known to the next process, too; and where it moved while another one looked.
    EXPECT_EQ(time_lapse_in(folder.path())[0].name, "a (before)");
    lapse.set_cameras({camera_at("b", 1)});
    ASSERT_TRUE(lapse.take(folder.path(), 3, drawn));
    lapse.set_cameras({camera_at("a", 3)});
    ASSERT_TRUE(lapse.take(folder.path(), 4, drawn));
    const auto views = time_lapse_in(folder.path());
    ASSERT_EQ(views.size(), 4u);
    EXPECT_EQ(views[1].steps, (Steps{2}));
    EXPECT_EQ(views[3].name, "a");
    EXPECT_EQ(views[3].steps, (Steps{4}));
    TimeLapse next;
    next.take_up(folder.path(), 4);
    ASSERT_TRUE(next.take(folder.path(), 5, drawn));
    EXPECT_EQ(next.views()[3].steps, (Steps{4, 5}));
    EXPECT_EQ(next.pictures(), 1u) << "by the newest cameras alone";
}

TEST(TimeLapse, CamerasOfOneNameAreToldApart) {
    const test::TemporaryFolder folder;
    TimeLapse lapse;
    lapse.set_pace({1, false});
    lapse.set_cameras({camera_at("a", 1), camera_at("a", 2)});
    ASSERT_TRUE(lapse.take(folder.path(), 1, drawn));
    const auto views = time_lapse_in(folder.path());
    ASSERT_EQ(views.size(), 2u);
    EXPECT_EQ(views[1].name, "a (2)");
    EXPECT_EQ(views[1].steps, (Steps{1}));
}

TEST(TimeLapse, ACameraWithParallelRaysKeepsThem) {
    const test::TemporaryFolder folder;
    LapseCamera camera = camera_at("a", 1);
    camera.camera.model = CameraModel::orthographic;
    TimeLapse lapse;
    lapse.set_pace({1, false});
    lapse.set_cameras({camera});
    ASSERT_TRUE(lapse.take(folder.path(), 1, drawn));
    TimeLapse next;
    next.take_up(folder.path(), 1);
    bool parallel = false;
    ASSERT_TRUE(next.take(folder.path(), 2, [&](const Camera& seen, int) {
        parallel = seen.orthographic();
        return drawn(seen, 0);
    }));
    EXPECT_TRUE(parallel);
}

TEST(TimeLapse, OnlyItsOwnFilesAreRemoved) {
    const test::TemporaryFolder folder;
    TimeLapse lapse;
    lapse.set_pace({1, false});
    lapse.set_cameras({camera_at("a", 1)});
    ASSERT_TRUE(lapse.take(folder.path(), 1, drawn));
    const fs::path all = folder.path() / kTimeLapseFolder, film = all / "film.mp4",
                   note = all / "a" / "1.jpg";
    ASSERT_TRUE(write_text_file(film, "of a user"));
    ASSERT_TRUE(write_text_file(note, "of a user"));
    remove_time_lapse(folder.path());
    EXPECT_TRUE(fs::exists(film));
    EXPECT_TRUE(fs::exists(note));
    EXPECT_FALSE(fs::exists(lapse_picture(all / "a", 1)));
    fs::remove(film);
    fs::remove(note);
    remove_time_lapse(folder.path());
    EXPECT_FALSE(fs::exists(all));
}

TEST(TimeLapse, ItsOwnPaceCostsAHundredthOfTheTime) {
    const test::TemporaryFolder folder;
    TimeLapse lapse;
    lapse.set_pace({0, true});
    lapse.set_cameras({camera_at("a", 1)});
    EXPECT_TRUE(lapse.due(10, 0)) << "the first";
    EXPECT_FALSE(lapse.due(11, 0)) << "at round steps";
    ASSERT_TRUE(lapse.take(folder.path(), 10, drawn));
    const double cost = lapse.seconds();
    ASSERT_GT(cost, 0);
    EXPECT_FALSE(lapse.due(20, 199 * cost));
    EXPECT_TRUE(lapse.due(20, 201 * cost));
}

TEST(TimeLapse, EndsWhereNothingCanBeWritten) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(write_text_file(folder.path() / kTimeLapseFolder, "a file is in the way"));
    TimeLapse lapse;
    lapse.set_pace({1, false});
    lapse.set_cameras({camera_at("a", 1)});
    EXPECT_FALSE(lapse.take(folder.path(), 1, drawn));
    EXPECT_FALSE(lapse.pace().on());
}

class RunPictures : public RunTest {
  protected:
    /// A run of 30 steps in "out", with pictures of every fifth and a checkpoint of every tenth.
    void make_first() {
        options_.lapse_pace = LapsePace{5, false};
        options_.save_every = options_.keep.every = 10;
        { drive(*make()); }
        options_.lapse_pace.reset();
    }
    /// From its checkpoint of step 10 into `folder`, taken by somebody else where `taken`.
    std::unique_ptr<TrainingRun> go_on(const fs::path& folder, bool taken) {
        const fs::path from = kept_checkpoint(folder_ / "out", 10);
        options_.resumed_from = from.string();
        options_.folder = taken ? fs::path() : folder;
        const Tell tell = [](LogLevel, const std::string&) {};
        if (taken) {
            auto own = RunFolder::take(folder, from, 10, options_.overwrite, tell);
            EXPECT_TRUE(own);
            options_.taken = std::make_shared<RunFolder>(std::move(*own));
        }
        auto trainer = Trainer::resume(from, small_capture(), make_cpu_training());
        EXPECT_TRUE(trainer);
        auto out = std::make_unique<TrainingRun>(std::move(*trainer), options_);
        options_.taken.reset();
        return out;
    }
    Steps steps_in(const fs::path& folder) {
        const auto views = time_lapse_in(folder);
        return views.empty() ? Steps() : views[0].steps;
    }
    static constexpr int kAll = 30;
    const Steps all_{0, 5, 10, 15, 20, 25, kAll};
};

TEST_F(RunPictures, OpeningACheckpointMovesNothing) {
    make_first();
    {
        const auto run = go_on(folder_ / "out", false);
        EXPECT_EQ(run->keeper().lapse().views()[0].steps, (Steps{0, 5, 10}));
        EXPECT_EQ(steps_in(folder_ / "out"), all_);
    }
    EXPECT_EQ(steps_in(folder_ / "out"), all_);
    options_.overwrite = true;
    const auto run = go_on(folder_ / "out", false);
    while (run->trainer().steps_done() < 15) run->step();
    EXPECT_EQ(steps_in(folder_ / "out"), (Steps{0, 5, 10, 15}));
    EXPECT_TRUE(fs::exists(folder_ / "out" / kTimeLapseFolder / "left-30"));
}

TEST_F(RunPictures, ARunThatGoesOnElsewhereLeavesThePicturesItCameFrom) {
    make_first();
    for (const bool taken : {true, false}) {
        const fs::path other = folder_ / (taken ? "taken" : "named");
        const auto run = go_on(other, taken);
        drive(*run);
        EXPECT_EQ(steps_in(folder_ / "out"), all_) << taken;
        EXPECT_EQ(steps_in(other), (Steps{15, 20, 25, kAll})) << taken;
        EXPECT_EQ(run->keeper().lapse().views()[0].folder.parent_path(), other / kTimeLapseFolder);
    }
    // A folder that another process has: "elsewhere".
    const Tell silent = [](LogLevel, const std::string&) {};
    const auto held = RunFolder::take(folder_ / "out", {}, 0, true, silent);
    ASSERT_TRUE(held);
    options_.elsewhere = true;
    options_.runs = folder_ / "runs";
    const auto run = go_on(folder_ / "out", false);
    drive(*run);
    EXPECT_EQ(steps_in(folder_ / "out"), all_);
    EXPECT_EQ(steps_in(run->keeper().folder()), (Steps{15, 20, 25, kAll}));
}

TEST_F(RunPictures, AFolderThatIsMovedAwayKeepsWhatItHas) {
    options_.lapse_pace = LapsePace{5, false};
    const auto run = make();
    while (run->trainer().steps_done() < 10) run->step();
    ASSERT_TRUE(run->keeper().save_checkpoint());
    fs::rename(folder_ / "out", folder_ / "away");
    { drive(*make()); }  // another run lies there now
    while (run->trainer().steps_done() < 15) run->step();
    EXPECT_EQ(steps_in(folder_ / "away"), (Steps{0, 5, 10}));
    EXPECT_EQ(steps_in(folder_ / "out"), all_);
    EXPECT_EQ(steps_in(run->keeper().folder()), (Steps{15}));
    EXPECT_TRUE(run->keeper().lapse().pace().on());
}

TEST_F(RunPictures, OverwritingWhatItGoesOnFromKeepsItsPictures) {
    for (const bool taken : {true, false}) {
        options_ = {};
        fs::remove_all(folder_ / "out");
        make_first();
        ASSERT_TRUE(write_text_file(folder_ / "out" / kTimeLapseFolder / "film.mp4", "a user's"));
        options_.overwrite = true;
        const auto run = go_on(folder_ / "out", taken);
        drive(*run);
        EXPECT_EQ(steps_in(folder_ / "out"), all_) << taken;
        EXPECT_TRUE(fs::exists(folder_ / "out" / kTimeLapseFolder / "left-30"));
        EXPECT_TRUE(fs::exists(folder_ / "out" / kTimeLapseFolder / "film.mp4"));
    }
}

TEST_F(RunPictures, CamerasThatAreNamedTakeThePlaceOfThoseTheRunHad) {
    make_first();
    options_.lapse_named = true;
    options_.lapse_cameras = [](const Capture& capture) {
        return choose_lapse_cameras("view3", {}, capture);
    };
    options_.overwrite = true;
    const auto run = go_on(folder_ / "out", true);
    EXPECT_EQ(run->keeper().lapse().pace(), (LapsePace{5, false})) << "as it was";
    drive(*run);
    const auto views = time_lapse_in(folder_ / "out");
    ASSERT_EQ(views.size(), 2u);
    EXPECT_EQ(views[0].steps, (Steps{0, 5, 10}));
    EXPECT_EQ(views[1].name, "view3");
    EXPECT_EQ(views[1].steps, (Steps{15, 20, 25, kAll}));
}

TEST_F(RunPictures, ARunDrawsItsTimeLapseAndThumbnails) {
    options_.lapse_pace = LapsePace{10, false};
    options_.last_view = [] { return camera_at("", 2).camera; };
    auto run = make();
    drive(*run);
    const auto views = time_lapse_in(folder_ / "out");
    ASSERT_EQ(views.size(), 1u);
    EXPECT_EQ(views[0].name, "view0.png");
    EXPECT_EQ(views[0].steps, (Steps{0, 10, 20, 30}));
    const auto first = read_image(lapse_picture(views[0].folder, 0)),
               last = read_image(lapse_picture(views[0].folder, 30));
    ASSERT_TRUE(first && last);
    EXPECT_NE(first->bytes, last->bytes);
    EXPECT_EQ(metrics()["time_lapse"]["pictures"], 4);
    for (const fs::path& file : thumbnail_files(folder_ / "out"))
        EXPECT_TRUE(read_image(file)) << file;
}

TEST_F(RunPictures, PicturesChangeNothingOfTheTraining) {
    auto plain = make();
    drive(*plain);
    const auto losses = plain->record().steps.rows();
    plain.reset();
    fs::remove_all(folder_ / "out");
    options_.lapse_pace = LapsePace{1, false};
    auto drawn_one = make();
    drive(*drawn_one);
    ASSERT_EQ(drawn_one->record().steps.rows().size(), losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_EQ(drawn_one->record().steps.rows()[i].loss, losses[i].loss);
}

TEST_F(RunPictures, GoingBackAndOverwritingLeaveNoPicturesOfAnotherWay) {
    options_.lapse_pace = LapsePace{5, false};
    options_.snapshot_budget = [] { return std::uint64_t{1} << 30; };
    auto run = make();
    while (run->trainer().steps_done() < 10) run->step();
    run->change(run->trainer().settings(), "nothing at all");
    while (run->trainer().steps_done() < 20) run->step();
    ASSERT_TRUE(run->snapshots().revert(1));
    EXPECT_EQ(time_lapse_in(folder_ / "out")[0].steps, (Steps{0, 5, 10}));
    EXPECT_TRUE(fs::is_directory(folder_ / "out" / kTimeLapseFolder / "left-20"));
    ASSERT_TRUE(run->snapshots().branch(1));
    while (run->trainer().steps_done() < 15) run->step();
    EXPECT_EQ(time_lapse_in(folder_ / "out")[0].steps, (Steps{0, 5, 10}));
    EXPECT_EQ(time_lapse_in(run->keeper().folder())[0].steps, (Steps{15}));
    run.reset();
    options_.lapse_pace.reset();
    options_.overwrite = true;
    run = make();
    drive(*run);
    EXPECT_TRUE(time_lapse_in(folder_ / "out").empty());
    EXPECT_FALSE(fs::exists(folder_ / "out" / kTimeLapseFolder));
}

TEST(TimeLapse, IsAVideoOfItsPictures) {
    const test::TemporaryFolder folder;
    TimeLapse lapse;
    EXPECT_FALSE(write_lapse_video({}, "", folder.path() / "a.mp4", {}, {}));
    lapse.set_pace({100, false});
    lapse.set_cameras({camera_at("a", 1), camera_at("b", 2)});
    for (const std::uint64_t step : {0, 100, 200})
        ASSERT_TRUE(lapse.take(folder.path(), step, drawn));
    const auto none = write_lapse_video(lapse.views(), "c", folder.path() / "a.mp4", {}, {});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().text().find("a, b"), std::string::npos);
    if (!beside_program("libgausscope_video.so", {"../lib"}, "")) GTEST_SKIP() << "no libavcodec";
    // A picture that cannot be read is named, and the rest is a film.
    ASSERT_TRUE(write_text_file(lapse_picture(lapse.views()[1].folder, 100), "no picture"));
    const fs::path file = folder.path() / "b.mp4";
    const auto made = required(write_lapse_video(lapse.views(), "b", file, {}, {}));
    EXPECT_EQ(made.pictures, 2u);
    EXPECT_EQ(made.skipped.size(), 1u);
    EXPECT_GT(fs::file_size(file), 300u);
    const auto cancelled = write_lapse_video(lapse.views(), "a", folder.path() / "c.mp4", {},
                                             [](auto, auto done, auto) { return done < 2; });
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
    EXPECT_FALSE(fs::exists(folder.path() / "c.mp4"));
}

}  // namespace
}  // namespace gs::testing
