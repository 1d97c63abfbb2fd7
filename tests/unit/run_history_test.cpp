// Run: going back to a state before an edit, branching from it, older checkpoints, alarms.
#include "renderer/io/splats/splat_io.h"
#include "run_fixture.h"
#include "trainer/checkpoint.h"
#include "trainer/run/run_alarms.h"

namespace gs {
namespace {

using testing::kFiles;
using testing::RunTest;
using testing::TrainingRun;

class RunHistory : public RunTest {
  protected:
    RunHistory() {
        options_.snapshot_budget = [this] { return budget_; };
    }
    static Result<void> revert_to(TrainingRun& run, std::uint64_t step) {
        const auto number = run.snapshots().newest_of(step);
        return number ? run.snapshots().revert(*number)
                      : Result<void>(tl::unexpected(number.error()));
    }
    static Result<void> branch_at(TrainingRun& run, std::uint64_t step) {
        const auto number = run.snapshots().newest_of(step);
        return number ? run.snapshots().branch(*number)
                      : Result<void>(tl::unexpected(number.error()));
    }
    std::uint64_t budget_ = 64 << 20;
    static void train_to(TrainingRun& run, std::uint64_t step) {
        while (run.trainer().steps_done() < step) ASSERT_NE(run.step(), TrainingRun::Did::nothing);
    }
    static void edit(TrainingRun& run, double lr) {
        TrainingSettings s = run.trainer().settings();
        s.lr_means = lr;
        run.change(s, fmt::format("lr_means {:g}", lr));
    }
    static std::vector<float> values(const TrainingRun& run) {
        const GaussianModel model = run.trainer().model();
        std::vector<float> out;
        for (int p = 0; p < model.planes(); ++p)
            out.insert(out.end(), model.plane(p), model.plane(p) + model.count);
        return out;
    }
};

TEST_F(RunHistory, GoesBackBeforeAnEditAndTakesTheSameWay) {
    const auto plain = make();
    train_to(*plain, 20);
    const std::vector<float> wanted = values(*plain);
    options_.runs = folder_ / "runs";
    options_.elsewhere = true;
    const auto run = make();
    train_to(*run, 12);
    const double usual = run->trainer().settings().lr_means;
    edit(*run, 0.5);
    edit(*run, 0.9);
    ASSERT_EQ(run->snapshots().all().size(), 1u) << "two edits in one step are undone at once";
    EXPECT_EQ(run->snapshots().all()[0].step(), 12u);
    EXPECT_EQ(run->snapshots().all()[0].why, "before lr_means 0.5");
    EXPECT_EQ(run->record().marks.size(), 2u);
    train_to(*run, 20);
    EXPECT_NE(values(*run), wanted);
    ASSERT_TRUE(revert_to(*run, 12));
    EXPECT_EQ(run->trainer().steps_done(), 12u);
    EXPECT_EQ(run->trainer().settings().lr_means, usual);
    EXPECT_EQ(run->record().steps.rows().size(), 12u);
    EXPECT_TRUE(run->record().marks.empty());
    EXPECT_EQ(run->record().last.step, 12u);
    train_to(*run, 20);
    EXPECT_EQ(values(*run), wanted) << "bit for bit as if nothing had been edited";
    EXPECT_FALSE(revert_to(*run, 13));
}

TEST_F(RunHistory, WhereItStoodCanBeGoneToAgain) {
    const auto run = make();
    train_to(*run, 10);
    edit(*run, 0.01);
    train_to(*run, 14);
    const std::vector<float> there = values(*run);
    ASSERT_TRUE(revert_to(*run, 10));
    ASSERT_EQ(run->snapshots().all().size(), 2u);
    EXPECT_EQ(run->snapshots().all()[1].step(), 14u);
    train_to(*run, 11);
    ASSERT_TRUE(revert_to(*run, 14));
    EXPECT_EQ(values(*run), there);
    EXPECT_EQ(run->record().marks.size(), 1u);
    EXPECT_EQ(run->record().steps.rows().size(), 14u);
}

TEST_F(RunHistory, AFinishedRunGoesBackAndOnAgain) {
    const auto run = make();
    train_to(*run, 15);
    edit(*run, 0.3);
    drive(*run);
    ASSERT_TRUE(run->ended());
    ASSERT_TRUE(revert_to(*run, 15));
    EXPECT_FALSE(run->ended());
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "reverted-30.gsc"), 30u);
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 30u)
        << "there is always a checkpoint to resume from";
    run->finish();
    EXPECT_EQ(metrics()["steps"], 30) << "nothing is written before it has moved on";
    ASSERT_TRUE(revert_to(*run, 15));
    drive(*run);
    ASSERT_TRUE(revert_to(*run, 15));
    EXPECT_TRUE(fs::exists(folder_ / "out" / "reverted-30-2.gsc")) << "each end is kept";
    ASSERT_TRUE(revert_to(*run, 30));
    EXPECT_TRUE(run->ended()) << "forward again, at the end";
    ASSERT_TRUE(revert_to(*run, 15));
    drive(*run);
    EXPECT_TRUE(run->ended());
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 30u);
    EXPECT_EQ(metrics()["steps"], 30);
}

TEST_F(RunHistory, BranchesIntoARunOfItsOwn) {
    options_.runs = folder_ / "runs";
    const auto run = make();
    train_to(*run, 8);
    edit(*run, 0.3);
    train_to(*run, 12);
    ASSERT_TRUE(branch_at(*run, 8));
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 12u) << "the parent is saved";
    EXPECT_TRUE(fs::exists(folder_ / "out" / "metrics.json"));
    const fs::path folder = run->keeper().folder();
    EXPECT_EQ(folder.parent_path(), folder_) << "beside it";
    EXPECT_EQ(run->snapshots().all().size(), 1u);
    edit(*run, 0.2);
    drive(*run);
    EXPECT_EQ(checkpoint_steps(folder / "checkpoint.gsc"), 30u);
    const auto description = required(read_run_description(folder));
    EXPECT_EQ(description.parent, (folder_ / "out").string());
    EXPECT_EQ(description.parent_step, 8u);
    ASSERT_EQ(description.marks.size(), 1u);
    EXPECT_EQ(description.marks[0].text, "lr_means 0.2");
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint.gsc"), 12u) << "and left alone";
}

TEST_F(RunHistory, ABranchOfAFinishedRunIsSaved) {
    const auto run = make();
    drive(*run);
    edit(*run, 0.3);
    ASSERT_TRUE(branch_at(*run, 30));
    const fs::path folder = run->keeper().folder();
    run->finish();
    EXPECT_NE(folder, folder_ / "out");
    EXPECT_EQ(checkpoint_steps(folder / "checkpoint.gsc"), 30u);
}

TEST_F(RunHistory, SnapshotsKeepWithinTheirMemory) {
    const auto run = make();
    train_to(*run, 25);  // nothing grows any more
    const std::uint64_t one = snapshot_bytes(run->trainer().backend(), run->trainer().settings());
    const auto now = run->trainer().snapshot();
    EXPECT_EQ(one, padded_capacity(now->arrays.model.count * 3 / 2) *
                       (row_bytes(now->arrays) / now->arrays.model.capacity));
    budget_ = 3 * one;
    for (std::uint64_t step = 26; step <= 29; ++step) {
        train_to(*run, step);
        edit(*run, 1e-4 * static_cast<double>(step));
    }
    std::uint64_t bytes = 0;
    for (const RunSnapshot& snapshot : run->snapshots().all()) bytes += snapshot.bytes();
    EXPECT_LE(bytes, budget_);
    EXPECT_GE(run->snapshots().all().size(), 2u);
    EXPECT_LT(run->snapshots().all().size(), 5u);
    EXPECT_EQ(run->snapshots().all().back().step(), 29u);
    budget_ = one / 2;
    train_to(*run, 30);
    edit(*run, 1e-5);
    EXPECT_NE(told_.back().find("no snapshot to restore"), std::string::npos);
    EXPECT_EQ(run->trainer().settings().lr_means, 1e-5) << "the edit is made all the same";
}

TEST_F(RunHistory, WithoutRoomInMemoryWhereItStoodIsOnDisk) {
    const auto run = make();
    train_to(*run, 10);
    edit(*run, 0.01);
    train_to(*run, 14);
    budget_ = 1;
    ASSERT_TRUE(revert_to(*run, 10));
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "reverted-14.gsc"), 14u);
    EXPECT_EQ(run->trainer().steps_done(), 10u);
    train_to(*run, 12);
    ASSERT_TRUE(revert_to(*run, 10)) << "it can be gone to once more";
}

TEST_F(RunHistory, WhereItCanBeKeptNowhereItStays) {
    const auto run = make();
    train_to(*run, 10);
    edit(*run, 0.01);
    train_to(*run, 14);
    budget_ = 1;
    fs::create_directories(folder_ / "out" / "reverted-14.gsc.not");
    run->options().folder = "/proc/nowhere";  // it cannot be made
    run->options().taken.reset();
    EXPECT_FALSE(revert_to(*run, 10));
    EXPECT_EQ(run->trainer().steps_done(), 14u);
    EXPECT_FALSE(branch_at(*run, 10));
    EXPECT_EQ(run->trainer().steps_done(), 14u);
}

TEST_F(RunHistory, ARunThatWasOnlyOpenedLeavesItsFolderAlone) {
    options_.save_every = 5;
    options_.keep.every = 5;
    { drive(*make()); }
    const std::string before = read_text_file(folder_ / "out" / "metrics.csv").value();
    options_.resumed_from = (folder_ / "out" / "checkpoint-15.gsc").string();
    options_.folder = folder_ / "out";
    auto trainer =
        Trainer::resume(options_.resumed_from, testing::small_capture(), make_cpu_training());
    ASSERT_TRUE(trainer);
    TrainingRun run(std::move(*trainer), options_);
    edit(run, 0.01);
    ASSERT_TRUE(branch_at(run, 15));
    EXPECT_EQ(read_text_file(folder_ / "out" / "metrics.csv").value(), before);
    EXPECT_NE(run.keeper().folder(), folder_ / "out");
    EXPECT_EQ(run.options().parent, (folder_ / "out").string());
}

TEST_F(RunHistory, RevertingSetsTheSplatsOfLaterStepsAside) {
    options_.save_every = 0;
    options_.keep.at = {6, 12};
    const auto run = make();
    const fs::path out = folder_ / "out";
    train_to(*run, 10);
    edit(*run, 0.01);
    train_to(*run, 14);
    ASSERT_TRUE(fs::exists(kept_splats(out, 12)) && fs::exists(kept_checkpoint(out, 12)));
    ASSERT_TRUE(revert_to(*run, 10));
    train_to(*run, 11);
    EXPECT_TRUE(fs::exists(kept_splats(out, 6)));
    EXPECT_FALSE(fs::exists(kept_splats(out, 12)));
    EXPECT_TRUE(fs::exists(out / "reverted-12.ply") && fs::exists(out / "reverted-12.gsc"));
}

TEST_F(RunHistory, TwoStatesOfOneStepAreToldApart) {
    const auto run = make();
    train_to(*run, 10);
    edit(*run, 0.01);
    train_to(*run, 14);
    const std::vector<float> first = values(*run);
    ASSERT_TRUE(revert_to(*run, 10));
    edit(*run, 0.02);
    train_to(*run, 14);
    edit(*run, 0.03);
    ASSERT_NE(values(*run), first);
    std::vector<std::uint64_t> of_14;
    for (const RunSnapshot& snapshot : run->snapshots().all())
        if (snapshot.step() == 14) of_14.push_back(snapshot.number);
    ASSERT_EQ(of_14.size(), 2u);
    ASSERT_TRUE(run->snapshots().revert(of_14[0]));
    EXPECT_EQ(values(*run), first);
}

TEST_F(RunHistory, WhatIsFixedLaterChangesBeforeTheFirstStep) {
    const auto run = make();
    TrainingSettings s = run->trainer().settings();
    s.sh_degree = 1;
    s.seed = 7;
    EXPECT_EQ(run->change(s, "sh_degree 3 -> 1"), true) << "it restarts";
    EXPECT_EQ(run->trainer().model().sh_degree, 1);
    TrainingSettings bad = s;
    bad.sh_degree = 0;
    bad.crop = true;  // to a point
    EXPECT_FALSE(run->change(bad, "sh_degree 1 -> 0").has_value());
    EXPECT_EQ(run->trainer().settings().crop, 0) << "as it was";
    EXPECT_EQ(run->trainer().model().sh_degree, 1);
    EXPECT_EQ(run->record().marks.size(), 1u);
    train_to(*run, 2);
    s.sh_degree = 2;
    EXPECT_EQ(run->change(s, "too late"), false);
    EXPECT_EQ(run->trainer().settings().sh_degree, 1);
}

TEST_F(RunHistory, KeepsCheckpointsByTheRule) {
    options_.save_every = 5;
    options_.keep.last = 2;
    options_.keep.every = 10;
    options_.keep.best = true;
    options_.evaluate_every = 10;
    const auto run = make();
    drive(*run);
    std::set<std::string> wanted = kFiles;
    wanted.insert({"checkpoint-10.gsc", "checkpoint-20.gsc", "checkpoint-25.gsc",
                   "checkpoint-30.gsc", "best.gsc"});
    EXPECT_EQ(names(folder_ / "out"), wanted);
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "checkpoint-20.gsc"), 20u);
    double best = 0;
    std::uint64_t at = 0;
    for (const Evaluation& e : run->record().evaluations)
        if (e.psnr > best) best = e.psnr, at = e.step;
    EXPECT_EQ(checkpoint_steps(folder_ / "out" / "best.gsc"), at);
}

TEST_F(RunHistory, AnOlderCheckpointBringsItsRecordsBack) {
    options_.save_every = 5;
    options_.keep.every = 5;
    { drive(*make()); }
    options_.resumed_from = (folder_ / "out" / "checkpoint-15.gsc").string();
    auto trainer =
        Trainer::resume(options_.resumed_from, testing::small_capture(), make_cpu_training());
    ASSERT_TRUE(trainer);
    options_.folder = folder_ / "again";
    TrainingRun run(std::move(*trainer), options_);
    EXPECT_EQ(run.record().steps.rows().size(), 15u);
}

TEST_F(RunHistory, OverwriteTakesEverythingTheOtherRunLeft) {
    options_.save_every = 5;
    options_.keep = {3, 0, true};
    { drive(*make()); }
    options_ = RunOptions();
    options_.overwrite = true;
    drive(*make());
    EXPECT_EQ(names(folder_ / "out"), kFiles);
}

StepReport report(std::uint64_t step, double loss, std::size_t gaussians = 100) {
    return {.step = step, .gaussians = gaussians, .measured_step = step, .loss = loss};
}

/// Steps with `loss` and a little scatter; what was said about them.
std::vector<std::string> feed(RunAlarms& alarms, std::uint64_t& step, int steps, double loss,
                              const TrainingSettings& settings, int divisor = 1) {
    std::vector<std::string> said;
    for (int i = 0; i < steps; ++i, ++step) {
        StepReport of = report(step, loss * (1 + 0.2 * std::sin(static_cast<double>(step))));
        of.measured_divisor = divisor;
        if (auto text = alarms.look_at(of, settings)) said.push_back(*text);
    }
    return said;
}

TEST(RunAlarms, ALossThatRisesIsToldOnceUntilItIsOver) {
    TrainingSettings settings;
    settings.opacity_reset_every = 0;
    RunAlarms alarms(20);
    std::uint64_t step = 1;
    EXPECT_TRUE(feed(alarms, step, 500, 0.1, settings).empty());
    EXPECT_EQ(feed(alarms, step, 200, 0.2, settings).size(), 1u);
    EXPECT_TRUE(feed(alarms, step, 200, 0.1, settings).empty());
    EXPECT_EQ(feed(alarms, step, 100, 0.3, settings).size(), 1u);
}

TEST(RunAlarms, LargerPhotosAreNoAlarm) {
    TrainingSettings settings;
    settings.opacity_reset_every = 0;
    RunAlarms alarms(20);
    std::uint64_t step = 1;
    EXPECT_TRUE(feed(alarms, step, 500, 0.1, settings, 2).empty());
    EXPECT_TRUE(feed(alarms, step, 500, 0.2, settings).empty());
    EXPECT_EQ(feed(alarms, step, 200, 0.4, settings).size(), 1u);
}

TEST(RunAlarms, AReductionIsNoAlarm) {
    TrainingSettings settings;
    settings.opacity_reset_every = 0;
    RunAlarms alarms(20);
    std::uint64_t step = 1;
    EXPECT_TRUE(feed(alarms, step, 500, 0.1, settings).empty());
    StepReport reduced = report(step++, 0.2);
    reduced.round.reduced = 1;
    EXPECT_FALSE(alarms.look_at(reduced, settings));
    EXPECT_TRUE(feed(alarms, step, 100, 0.2, settings).empty());
}

TEST(RunAlarms, AnOpacityResetIsNoAlarm) {
    TrainingSettings settings;
    settings.opacity_reset_every = 600;
    settings.densify_until = 10000;
    RunAlarms alarms(20);
    std::uint64_t step = 1;
    EXPECT_TRUE(feed(alarms, step, 600, 0.1, settings).empty());
    EXPECT_TRUE(feed(alarms, step, 100, 0.2, settings).empty());
}

TEST(RunAlarms, NumbersThatAreNoneTheLimitAndAFallingScore) {
    TrainingSettings settings;
    settings.max_gaussians = 500;
    RunAlarms alarms(20);
    EXPECT_EQ(alarms.look_at(report(1, kNotMeasured), settings), "the loss is not a number");
    EXPECT_FALSE(alarms.look_at(report(2, kNotMeasured), settings));
    EXPECT_TRUE(alarms.look_at(report(3, 0.1, 500), settings));
    EXPECT_FALSE(alarms.look_at(report(4, 0.1, 500), settings));
    Evaluation e;
    e.psnr = 25;
    EXPECT_FALSE(alarms.look_at(e));
    e.psnr = 24.8;
    EXPECT_FALSE(alarms.look_at(e));
    e.psnr = 24.2;
    EXPECT_EQ(alarms.look_at(e), "the test photos fell from 25.00 to 24.20 dB");
}

}  // namespace
}  // namespace gs
