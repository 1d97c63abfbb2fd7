// A budget that grows beyond itself and keeps what photos see most: when, which Gaussians, whole
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/parallel.h"
#include "renderer/raster/blend_weights.h"
#include "small_run.h"
#include "tests/support/temporary_folder.h"
#include "trainer/density/run_edit.h"
#include "trainer/settings/strategy.h"
#include "trainer/trainer.h"
#include "trainer/training_backend.h"

namespace gs {
namespace {

/// Grows to 750 and keeps 500 with the last of five rounds, after 25 steps.
TrainingSettings overgrown() {
    TrainingSettings s = testing::busy_settings();
    s.strategy = StrategyKind::budget;
    s.revised_opacity = s.long_axis = true;
    s.opacity_reset_every = 0;
    s.max_gaussians = 500;
    s.overgrow = 1.5;
    return s;
}

/// The model of a whole run that is saved and resumed after `pause` steps.
GaussianModel trained(const TrainingSettings& settings, std::uint64_t pause) {
    const test::TemporaryFolder folder;
    const fs::path file = folder / "run.ckpt";
    const auto capture = testing::small_capture();
    auto trainer = std::move(*Trainer::create(capture, settings, make_cpu_training()));
    while (trainer->steps_done() < pause) (void)trainer->step();
    EXPECT_TRUE(trainer->save_checkpoint(file));
    trainer = std::move(*Trainer::resume(file, capture, make_cpu_training()));
    while (!trainer->finished()) (void)trainer->step();
    return trainer->model();
}

TEST(Overgrow, ABudgetThatOvergrowsIsReducedWhenGrowthEnds) {
    TrainingSettings s = defaults_of(StrategyKind::budget);
    s.max_gaussians = 1000;
    const auto kept = [&](std::uint64_t steps, std::size_t gaussians = 1300) {
        return strategy_of(s).after_step(s, {steps, 100, gaussians}).keep;
    };
    EXPECT_EQ(kept(14900), 0u) << "overgrow is 1";
    EXPECT_EQ(peak_gaussians(s), 1000u);
    s.overgrow = 1.3;
    EXPECT_EQ(peak_gaussians(s), 1300u);
    EXPECT_EQ(kept(14800), 0u) << "a round follows";
    EXPECT_EQ(kept(14900), 1000u);
    EXPECT_EQ(kept(14900, 1000), 0u) << "there are no more than these";
    EXPECT_EQ(kept(14950), 0u) << "no time for a round";
    EXPECT_EQ(kept(15200), 1000u) << "the last round could not";
    EXPECT_EQ(kept(20000), 0u) << "growth is long over: added by hand";
    EXPECT_EQ(strategy_of(s).after_step(s, {14900, 1200, 1300}).keep, 1200u)
        << "given at the start";
    EXPECT_EQ(strategy_of(s).target(s, {14800, 100, 0}), growth_curve(100, 1300, 143, 144));
    EXPECT_EQ(strategy_of(s).target(s, {14900, 100, 0}), 1000u);

    // Opacities reset at 3,000 are low for 200 steps; one reset with the last round comes after.
    s.densify_until = 3150;
    EXPECT_EQ(kept(3100), 0u);
    EXPECT_EQ(kept(3200), 1000u);
    s.steps = 3150;
    EXPECT_EQ(kept(3150), 1000u) << "the last step";
    s.densify_until = 3050;
    EXPECT_EQ(kept(3000), 1000u);
    EXPECT_TRUE(strategy_of(s).after_step(s, {3000, 100, 1300}).reset_opacity);
    s.densify_until = 0;
    EXPECT_EQ(kept(100), 0u) << "nothing grew";
    s.opacity_reset_every = 0;
    s.densify_until = 3150;
    EXPECT_EQ(kept(3100), 1000u);

    s.strategy = StrategyKind::adc;
    EXPECT_EQ(kept(3100), 0u) << "only budget uses it";
    EXPECT_EQ(peak_gaussians(s), 1000u);
}

TEST(Overgrow, TheLeastSeenRowsThatAreNotLockedGo) {
    RunArrays run = new_run({6, 0, padded_capacity(6)});
    const std::vector<double> weights = {3, std::nan(""), 2, 2, 0.5, 7};
    using Rows = std::vector<std::uint32_t>;
    const auto rows = [&](std::size_t keep) { return rows_to_reduce(run.identity, weights, keep); };
    EXPECT_EQ(rows(6), Rows());
    EXPECT_EQ(rows(9), Rows());
    EXPECT_EQ(rows(4), Rows({1, 4}));
    EXPECT_EQ(rows(3), Rows({1, 3, 4})) << "of two alike the later one";
    EXPECT_EQ(rows(1), Rows({0, 1, 2, 3, 4}));
    lock_rows(run, Rows({1, 2}), true);
    EXPECT_EQ(rows(4), Rows({3, 4}));
    EXPECT_EQ(rows(1), Rows({0, 3, 4, 5})) << "locked ones stay";
}

TEST(Overgrow, GrowsAndKeepsItsBudgetWithTheSameBits) {
    TrainingSettings settings = overgrown();
    const auto trainer =
        std::move(*Trainer::create(testing::small_capture(), settings, make_cpu_training()));
    std::size_t most = 0;
    while (!trainer->finished()) {
        const StepReport report = trainer->step();
        most = std::max(most, report.gaussians);
        ASSERT_LE(report.gaussians, peak_gaussians(settings));
        EXPECT_EQ(report.round.reduced > 0, report.step == 25) << report.step;
        if (report.step >= 25) {
            EXPECT_EQ(report.gaussians, 500u);
        }
    }
    EXPECT_EQ(most, growth_curve(300, 750, 4, 5));
    EXPECT_EQ(trainer->identity().tags.size(), 500u);
    set_thread_count(3);
    const GaussianModel resumed = trained(settings, 17);
    set_thread_count(0);
    EXPECT_TRUE(testing::same_bits(resumed, trainer->model()));

    settings.opacity_reset_every = 13;  // 12 steps before the last round
    EXPECT_EQ(trained(settings, 27).count, 500u) << "reduced with the last step";
}

/// The capture in a world of other units.
std::shared_ptr<Capture> scaled(std::shared_ptr<Capture> capture, float by) {
    for (View& view : capture->views)
        view.camera.translation = static_cast<double>(by) * view.camera.translation;
    for (SparsePoint& p : capture->points) p.position = by * p.position;
    return capture;
}

TEST(Overgrow, KeepsWhatThePhotosSeeMost) {
    for (const float scale : {1.0f, 1e-3f})
        for (const bool filtered : {false, true}) {
            SCOPED_TRACE(fmt::format("scale {}, 3D filter {}", scale, filtered));
            TrainingSettings settings = overgrown();
            settings.filter_3d = filtered;
            const auto capture = scaled(testing::small_capture(), scale);
            const auto trainer =
                std::move(*Trainer::create(capture, settings, make_cpu_training()));
            while (trainer->steps_done() < 24) (void)trainer->step();
            const RowIdentity before = trainer->identity();
            std::vector<Camera> cameras;
            for (const std::size_t view : capture->view_indices(false))
                cameras.push_back(capture->views[view].camera);
            const auto weights = blend_weights(trainer->rasterizer(), trainer->model(), cameras,
                                               trainer->render_options());
            ASSERT_TRUE(weights);
            EXPECT_GT(trainer->step().round.reduced, 200u);
            std::map<std::uint32_t, double> left;
            for (std::size_t row = 0; row < weights->size(); ++row)
                left[before.ids()[row]] = (*weights)[row];
            double kept = 0, all = 0;
            for (const auto& [id, weight] : left) all += weight;
            for (const std::uint32_t id : trainer->identity().ids()) kept += left.at(id);
            // One step moves few of them across the line.
            std::vector<double> most = *weights;
            std::ranges::sort(most, std::greater());
            double best = 0;
            for (std::size_t i = 0; i < trainer->gaussian_count(); ++i) best += most[i];
            EXPECT_GT(kept, 0.98 * best);
            EXPECT_LT(best, all);
        }
}

}  // namespace
}  // namespace gs
