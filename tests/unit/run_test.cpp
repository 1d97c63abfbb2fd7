// Run: what a run leaves behind when it ends, is stopped, or fails; when it measures and saves.
#include "trainer/run/run.h"

#include <gtest/gtest.h>

#include "renderer/device/device_error.h"
#include "run_fixture.h"
#include "trainer/checkpoint.h"

namespace gs {
namespace {

using testing::busy_settings;
using testing::Json;
using testing::kFiles;
using testing::RunTest;
using testing::small_capture;
using testing::TrainingRun;

/// Fails in its n-th forward pass as `fail` says.
class FailingRasterizer final : public Rasterizer {
  public:
    FailingRasterizer(int good, std::function<void()> fail) : good_(good), fail_(std::move(fail)) {}
    std::string name() const override { return "failing"; }
    std::unique_ptr<ForwardState> make_state() const override { return inner_->make_state(); }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& state, RenderResult& result) override {
        if (good_-- == 0) fail_();
        inner_->forward(source, camera, options, state, result);
    }
    void backward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                  ForwardState& state, const RenderResult& result, const PixelGradients& gradients,
                  GradientSink& sink) override {
        inner_->backward(source, camera, options, state, result, gradients, sink);
    }

  private:
    std::unique_ptr<Rasterizer> inner_ = make_cpu_rasterizer();
    int good_;
    std::function<void()> fail_;
};

TEST_F(RunTest, AWholeRunLeavesItsFiles) {
    options_.evaluate_every = 10;
    options_.stage_times = [] { return Json{{{"name", "blend"}}}; };
    const auto run = make();
    drive(*run);
    EXPECT_TRUE(run->ended() && run->failure().empty() && run->keeper().files().in_place());
    EXPECT_EQ(names(folder_ / "out"), kFiles);
    const Json m = metrics();
    EXPECT_EQ(m["steps"], 30);
    EXPECT_EQ(m["interrupted"], false);
    EXPECT_EQ(m["test"]["images"].size(), 1u);
    EXPECT_EQ(m["stages"][0]["name"], "blend");
    ASSERT_EQ(m["evaluations"].size(), 3u);
    EXPECT_EQ(m["evaluations"][0]["step"], 10);
    EXPECT_EQ(m["evaluations"][2]["step"], 30);
    EXPECT_EQ(m["files"]["splats"], (folder_ / "out" / "point_cloud.ply").string());
    EXPECT_TRUE(told_.empty()) << told_[0];
    EXPECT_EQ(run->step(), TrainingRun::Did::nothing);
}

TEST_F(RunTest, NothingIsMeasuredOrSavedInBetweenUnlessAskedFor) {
    options_.save_every = 0;
    const auto run = make();
    for (int i = 0; i < 29; ++i) EXPECT_EQ(run->step(), TrainingRun::Did::step);
    EXPECT_EQ(names(folder_ / "out"), std::set<std::string>{"run.json"});
    EXPECT_FALSE(run->evaluating());
    drive(*run);
    EXPECT_EQ(metrics()["evaluations"].size(), 1u) << "0 is at the end only, not never";
}

TEST_F(RunTest, WhatIsDueAtAResetOfOpacitiesIsMeasuredBeforeIt) {
    options_.evaluate_every = 13;  // as often as opacities are reset
    const auto run = make();
    drive(*run);
    std::vector<std::uint64_t> steps;
    for (const Evaluation& e : run->record().evaluations) steps.push_back(e.step);
    EXPECT_EQ(steps, (std::vector<std::uint64_t>{12, 25, 30}));
    TrainingSettings never = busy_settings();
    never.opacity_reset_every = 0;
    for (std::uint64_t step = 1; step < 40; ++step) {
        EXPECT_EQ(evaluation_due(never, 13, step), step % 13 == 0) << step;
        EXPECT_FALSE(evaluation_due(busy_settings(), 0, step)) << step;
    }
    EXPECT_TRUE(evaluation_due(busy_settings(), 13, 39)) << "opacities are reset no more";
}

TEST_F(RunTest, FinishedInTheMiddleItIsSavedOnceAndGoesOnFromThere) {
    const auto run = make();
    for (int i = 0; i < 7; ++i) run->step();
    run->finish();
    EXPECT_EQ(names(folder_ / "out"), kFiles);
    EXPECT_EQ(metrics()["interrupted"], true);
    EXPECT_TRUE(metrics()["test"]["psnr"].is_null());
    EXPECT_EQ(run->step(), TrainingRun::Did::nothing);
    fs::remove_all(folder_ / "out");
    run->finish();
    EXPECT_FALSE(fs::exists(folder_ / "out")) << "saved already";
}

TEST_F(RunTest, NoStepNoFiles) {
    make()->finish();
    EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(RunTest, StoppedBeforeItsFirstStepItCanBeResumed) {
    auto taken = required(RunFolder::take(folder_ / "out", {}, 0, false, {}));
    options_.taken = std::make_shared<RunFolder>(std::move(taken));
    make()->finish();
    EXPECT_EQ(names(folder_ / "out"), kFiles);
    EXPECT_EQ(metrics()["steps"], 0);
    EXPECT_EQ(metrics()["interrupted"], true);
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 0u);
}

TEST_F(RunTest, WhateverFailsTheModelIsSavedAtOnce) {
    const struct {
        const char* what;
        std::function<void()> fail;
        bool checkpoint;
    } kFailures[] = {
        {"memory", [] { throw std::bad_alloc(); }, false},
        {"it is gone", [] { throw DeviceError("it is gone", false); }, true},
        {"max-gaussians", [] { throw DeviceError("no memory", true); }, true},
        {"something else", [] { throw std::runtime_error("something else"); }, false},
    };
    for (const auto& failure : kFailures) {
        SCOPED_TRACE(failure.what);
        fs::remove_all(folder_ / "out");
        const auto run = make(std::make_unique<FailingRasterizer>(9, failure.fail));
        drive(*run);
        EXPECT_EQ(run->trainer().steps_done(), 9u);
        EXPECT_NE(run->failure().find(failure.what), std::string::npos) << run->failure();
        EXPECT_FALSE(run->ended()) << "it may be tried again";
        std::set<std::string> expected = kFiles;
        if (!failure.checkpoint) expected.erase("checkpoint.gsc");
        EXPECT_EQ(names(folder_ / "out"), expected);
        drive(*run);  // the failure was a passing one
        EXPECT_EQ(metrics()["steps"], 30);
        EXPECT_EQ(names(folder_ / "out"), kFiles);
    }
}

TEST_F(RunTest, AnEvaluationThatFailsDoesNotEndTheRun) {
    options_.evaluate_every = 10;
    const auto run = make(
        std::make_unique<FailingRasterizer>(10, [] { throw std::runtime_error("no picture"); }));
    drive(*run);
    EXPECT_EQ(metrics()["steps"], 30);
    EXPECT_EQ(metrics()["evaluations"].size(), 2u);
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_NE(told_[0].find("no picture"), std::string::npos);
}

TEST_F(RunTest, WhatCannotBeWrittenGoesToTheTemporaryFolder) {
    fs::create_directories(folder_ / "tmp");
    const auto run = make();
    ASSERT_TRUE(run->keeper().take_folder());
    fs::remove_all(folder_ / "out");
    ASSERT_TRUE(write_text_file(folder_ / "out", "a file where the folder was"));
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before ? before : "";
    ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    drive(*run);
    before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
    EXPECT_FALSE(run->keeper().files().in_place());
    EXPECT_EQ(run->keeper().files().at("splats").rfind((folder_ / "tmp").string(), 0), 0u);
    EXPECT_EQ(names(fs::path(run->keeper().files().at("metrics")).parent_path()), kFiles);
    EXPECT_EQ(told_.size(), 6u) << "each file, and that the step is not saved there";
}

TEST_F(RunTest, DoesNotBeginWhereItCannotWrite) {
    ASSERT_TRUE(write_text_file(folder_ / "out", "a file where the folder should be"));
    const auto run = make();
    drive(*run);
    EXPECT_EQ(run->trainer().steps_done(), 0u);
    EXPECT_NE(run->failure().find((folder_ / "out").string()), std::string::npos);
    fs::remove(folder_ / "out");
    drive(*run);
    EXPECT_EQ(metrics()["steps"], 30) << "it may be tried again";
}

TEST_F(RunTest, MovedAwayItDoesNotWriteIntoTheNextRunOfThatName) {
    const auto first = make();
    for (int i = 0; i < 3; ++i) first->step();
    fs::rename(folder_ / "out", folder_ / "moved");
    const auto second = make();
    for (int i = 0; i < 5; ++i) second->step();
    second->finish();
    first->finish();
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 5u);
    EXPECT_EQ(metrics()["steps"], 5);
    EXPECT_EQ(first->keeper().folder().parent_path(), folder_);
    EXPECT_EQ(checkpoint_steps(first->keeper().folder() / "checkpoint.gsc"), 3u);
    EXPECT_TRUE(fs::exists(folder_ / "out" / "run.lock")) << "it is the other's";
}

TEST_F(RunTest, MoreStepsGoOnWithARunThatHadAll) {
    const auto run = make();
    drive(*run);
    TrainingSettings more = run->trainer().settings();
    more.steps = 33;
    run->change(more, "more steps");
    EXPECT_FALSE(run->ended());
    drive(*run);
    EXPECT_TRUE(run->ended());
    EXPECT_EQ(metrics()["steps"], 33);
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 33u);
    more.steps = 40;
    run->change(more, "more steps");
    run->step();
    run->finish();
    run->change(more, "more steps");
    EXPECT_TRUE(run->ended()) << "it was stopped";
}

TEST_F(RunTest, GoesElsewhereWhereAnotherRunIs) {
    { drive(*make()); }
    options_.elsewhere = true;
    options_.runs = folder_ / "runs";
    const auto run = make();
    for (int i = 0; i < 2; ++i) run->step();
    run->finish();
    EXPECT_EQ(metrics()["steps"], 30);
    EXPECT_EQ(run->keeper().folder().parent_path(), folder_ / "runs");
    EXPECT_EQ(names(run->keeper().folder()), kFiles);
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_NE(told_[0].find("contains a run of 30 steps; this run writes to"), std::string::npos);
}

TEST_F(RunTest, ACheckpointOfAnotherRunIsNotReplacedByName) {
    const fs::path other = folder_ / "other.gsc";
    const auto run = make();
    run->step();
    ASSERT_TRUE(run->keeper().save_checkpoint(other));
    run->step();
    EXPECT_TRUE(run->keeper().save_checkpoint(other)) << "its own";
    const auto second = make();
    second->step();
    const auto refused = second->keeper().save_checkpoint(other);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("2 steps"), std::string::npos);
}

TEST_F(RunTest, GoesOnWithWhatWasOnRecord) {
    options_.evaluate_every = 5;
    {
        const auto run = make();
        for (int i = 0; i < 3; ++i) run->step();
        run->change(run->trainer().settings(), "something");
        while (run->record().last.step < 12) run->step();
        run->finish();
    }
    options_.resumed_from = (folder_ / "out" / "checkpoint.gsc").string();
    options_.folder = folder_ / "out";
    auto trainer = Trainer::resume(options_.resumed_from, small_capture(), make_cpu_training());
    ASSERT_TRUE(trainer);
    TrainingRun run(std::move(*trainer), options_);
    ASSERT_EQ(run.record().steps.rows().size(), 12u);
    EXPECT_EQ(run.record().steps.rows()[11].step, 12u);
    EXPECT_GT(run.record().steps.rows()[11].loss, 0);
    EXPECT_GT(run.record().steps.rows()[11].lr_means, 0);
    ASSERT_EQ(run.record().marks.size(), 1u);
    EXPECT_EQ(run.record().marks[0].step, 3u);
    EXPECT_EQ(run.record().evaluations.size(), 2u);
    drive(run);
    EXPECT_EQ(metrics()["evaluations"].size(), 6u);
}

TEST_F(RunTest, MeasuredOnDemandAndWithoutHeldOutPhotos) {
    auto capture = small_capture();
    capture->views[0].test = false;
    const auto run = make(make_cpu_rasterizer(), capture);
    run->step();
    run->evaluate();
    TrainingRun::Did did = TrainingRun::Did::photo;
    while (did == TrainingRun::Did::photo) did = run->step();
    EXPECT_EQ(did, TrainingRun::Did::evaluation);
    EXPECT_EQ(run->record().evaluation.images.size(), 6u);
    EXPECT_EQ(run->trainer().steps_done(), 1u);
    drive(*run);
    EXPECT_TRUE(metrics()["test"]["images"].empty()) << "photos it was trained on are no test";
    EXPECT_EQ(told_.size(), 1u);
}

TEST_F(RunTest, StepsAreMarkedForProfilers) {
    std::vector<bool> calls;
    options_.set_profiling = [&](bool on) { calls.push_back(on); };
    options_.profile_steps = {3, 4};
    const auto run = make();
    for (int i = 0; i < 2; ++i) run->step();
    EXPECT_TRUE(calls.empty());
    run->step();
    EXPECT_EQ(calls, std::vector<bool>{true});
    run->pause();
    run->step();
    EXPECT_EQ(calls, (std::vector<bool>{true, false, true, false}));
}

TEST_F(RunTest, BytesThatAreNotUtf8EndNoRun) {
    auto capture = small_capture();
    capture->views[0].name = "caf\xe9.png";
    options_.capture = "photos\xff";
    const auto run = make(make_cpu_rasterizer(), capture);
    drive(*run);
    EXPECT_EQ(metrics()["test"]["images"][0]["name"],
              "caf\xef\xbf\xbd"
              "e9.png");  // the byte, as text
}

TEST_F(RunTest, JumpsOfTheCurvesAreMarked) {
    TrainingSettings settings = busy_settings();
    settings.strategy = StrategyKind::budget;
    settings.opacity_reset_every = 0;
    settings.max_gaussians = 400;
    settings.overgrow = 1.5;
    settings.coarse_until = 10;
    options_.folder = folder_ / "out";
    TrainingRun run(
        std::move(*Trainer::create(small_capture(256, 256), settings, make_cpu_training())),
        options_);
    drive(run);
    ASSERT_EQ(run.record().marks.size(), 2u);
    EXPECT_EQ(run.record().marks[0].step, 11u);
    EXPECT_EQ(run.record().marks[0].text, "photos in full size");
    EXPECT_EQ(run.record().marks[1].step, 25u);
    EXPECT_TRUE(run.record().marks[1].text.ends_with("least visible Gaussians removed"));
    EXPECT_FALSE(run.record().marks[1].alarm);
}

}  // namespace
}  // namespace gs
