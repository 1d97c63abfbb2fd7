// Records of steps whose loss arrives some steps later, as from a device: nothing is recorded
// twice, and no unknown loss as zero.
#include <gtest/gtest.h>

#include <cmath>

#include "app/session/parts/run_plots.h"
#include "app/session/photo_looks.h"
#include "small_run.h"
#include "tests/support/temporary_folder.h"
#include "trainer/run/run_files.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

/// Step `step` with `measured` behind it; 0: nothing new is known.
StepReport report_of(std::uint64_t step, std::uint64_t measured) {
    StepReport report{.step = step,
                      .view = static_cast<std::size_t>(step % 3),
                      .milliseconds = 2,
                      .gaussians = 100,
                      .measured_step = measured};
    if (measured == 0) return report;
    report.measured_view = static_cast<std::size_t>(measured % 3);
    report.loss = report.l1 = 0.5 / static_cast<double>(measured);
    report.ssim = 0.5;
    report.psnr = 20;
    report.counters.visible = 10 * measured;
    return report;
}
/// The first two steps report nothing, then each reports the step two before it.
StepReport late(std::uint64_t step) { return report_of(step, step > 2 ? step - 2 : 0); }

TEST(LateReports, NothingIsKnownUntilItIsTold) {
    const StepReport report = report_of(1, 0);
    EXPECT_TRUE(std::isnan(report.loss) && std::isnan(report.psnr) && std::isnan(report.ssim));
}

TEST(LateReports, CurvesHaveWhatIsKnown) {
    RunPlots plots;
    plots.begin(std::vector<CameraRow>(3));
    for (std::uint64_t step = 1; step <= 20; ++step) plots.add_step(late(step));
    const auto curves = plots.curves();
    ASSERT_FALSE(curves->loss.empty());
    for (const CurvePoint& point : curves->loss) EXPECT_GT(point.value, 0.0f);
    for (const CurvePoint& point : curves->train_psnr) EXPECT_EQ(point.value, 20.0f);
    const auto cameras = plots.cameras();
    std::uint64_t sampled = 0, told = 0;
    for (const CameraRow& row : *cameras) {
        sampled += row.times_sampled;
        told += row.loss_history.size();
        for (const CurvePoint& point : row.loss_history)
            EXPECT_NEAR(point.value * point.step, 0.5f, 1e-4f);
    }
    EXPECT_EQ(sampled, 20u);
    EXPECT_EQ(told, 18u);
}

TEST(RunPlots, CamerasStandWhereTheRunHasThem) {
    const auto capture = testing::small_capture();
    TrainingSettings settings = testing::busy_settings();
    settings.refine_poses = true;
    settings.pose_from = 0;
    auto trainer = Trainer::create(capture, settings, make_cpu_training());
    ASSERT_TRUE(trainer);
    std::vector<CameraRow> rows(capture->views.size());
    for (std::size_t v = 0; v < rows.size(); ++v) {
        rows[v].view = v;
        rows[v].camera = capture->views[v].camera;
    }
    RunPlots plots;
    plots.begin(rows);
    for (int i = 0; i < 20; ++i) (*trainer)->step();
    plots.take_poses(**trainer);
    const auto now = plots.cameras();
    const auto learned = photo_looks(**trainer, false);
    ASSERT_TRUE(learned);
    EXPECT_FALSE(learned->pose_arrows);
    EXPECT_TRUE(learned->photos.empty());
    for (std::size_t v = 0; v < rows.size(); ++v) {
        const Vec3d moved = (*now)[v].camera.position() - rows[v].camera.position();
        const PoseChange* const change = change_of(learned->poses, v);
        EXPECT_EQ(change == nullptr, capture->views[v].test) << v;
        EXPECT_EQ(dot(moved, moved) > 0, change != nullptr) << v;
        if (!change) continue;
        EXPECT_EQ(dot(change->move - moved, change->move - moved), 0) << v;
    }
}

TEST(LateReports, EveryStepHasItsOwnRow) {
    StepLog log;
    for (std::uint64_t step = 1; step <= 6; ++step) log.add(late(step));
    const test::TemporaryFolder folder;
    const fs::path path = folder / "steps.csv";
    ASSERT_TRUE(log.write(path));
    const auto text = required(read_text_file(path));
    EXPECT_EQ(text,
              "step,loss,l1,ssim,psnr,milliseconds,gaussians,visible,isects,view,lr_means,target,"
              "cloned,split,added,relocated,pruned,lidar_m\n"
              "1,0.5,0.5,0.5,20,2,100,10,0,1,0,,,,,,,\n"
              "2,0.25,0.25,0.5,20,2,100,20,0,2,0,,,,,,,\n"
              "3,0.1666667,0.1666667,0.5,20,2,100,30,0,0,0,,,,,,,\n"
              "4,0.125,0.125,0.5,20,2,100,40,0,1,0,,,,,,,\n"
              "5,,,,,2,100,,,2,0,,,,,,,\n"
              "6,,,,,2,100,,,0,0,,,,,,,\n");
}

TEST(LateReports, RoundsComeBackFromTheFile) {
    StepLog log;
    StepReport with = report_of(1, 1);
    with.densified = true;
    with.round.target = 5000;
    with.round.cloned = 12, with.round.split = 7, with.round.pruned = 3;
    log.add(with);
    log.add(report_of(2, 2));
    const test::TemporaryFolder folder;
    const fs::path path = folder / "steps.csv";
    ASSERT_TRUE(log.write(path));
    StepLog back;
    back.take_earlier(path, 2);
    RunPlots plots;
    plots.begin({});
    for (const StepReport& step : back.rows()) plots.add_step(step);
    const auto curves = plots.curves();
    const RoundCurves& rounds = curves->rounds;
    ASSERT_EQ(rounds.target.size(), 1u);  // the second step was followed by none
    EXPECT_EQ(rounds.target[0].step, 1.0f);
    EXPECT_EQ(rounds.target[0].value, 5000.0f);
    EXPECT_EQ(rounds.cloned[0].value, 12.0f);
    EXPECT_EQ(rounds.split[0].value, 7.0f);
    EXPECT_EQ(rounds.pruned[0].value, 3.0f);
    EXPECT_EQ(rounds.relocated[0].value, 0.0f);
}

}  // namespace
}  // namespace gs
