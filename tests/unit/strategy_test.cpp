// Strategies: their defaults, growth along a curve, relocation and equation 9, what nudges every
// Gaussian; whole runs with each of them, resumed and on other numbers of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/parallel.h"
#include "small_run.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "trainer/density/density.h"
#include "trainer/density/init.h"
#include "trainer/density/nudge.h"
#include "trainer/density/relocation.h"
#include "trainer/settings/strategy.h"
#include "trainer/trainer.h"
#include "trainer/training_backend.h"

namespace gs {
namespace {

float opacity_at(const GaussianModel& model, std::size_t row) {
    return math::sigmoid(model.at(kOpacityLogits, row));
}

/// Rows at x = their number, of this opacity and size.
struct Line {
    RunArrays run;
    GaussianModel& model = run.model;
    LazyAdam adam{model, run.adam};
    DensityStatistics& statistics = run.statistics;
    RowIdentity& identity = run.identity;
    TrainingSettings settings = defaults_of(StrategyKind::mcmc);

    explicit Line(std::size_t count, float opacity = 0.5f, float scale = 0.01f)
        : run(new_run({count, 0, padded_capacity(count)})) {
        for (std::size_t i = 0; i < count; ++i) {
            model.at(kMeans, i) = static_cast<float>(i);
            model.at(kQuats, i) = 1;
            model.at(kOpacityLogits, i) = std::log(opacity / (1 - opacity));
            for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, i) = std::log(scale);
        }
        settings.max_gaussians = static_cast<double>(count);
    }
    DensityReport round() { return relocate(run, settings, 1.0); }
};

TEST(Strategy, DefaultsAndScaling) {
    const TrainingSettings full = defaults_of(StrategyKind::mcmc);
    EXPECT_EQ(full.opacity_reset_every, 0);
    EXPECT_EQ(full.densify_until, 25000);
    for (const double steps : {300.0, 2000.0, 7000.0, 30000.0}) {
        const auto made = required(make_settings({{"steps", steps}, {"strategy", 1}}));
        EXPECT_EQ(made.init_opacity, steps < 15000 ? 0.1 : 0.5);
        EXPECT_LT(made.densify_from, made.densify_until);
        EXPECT_LT(made.densify_until, made.noise_until);
        EXPECT_LT(made.noise_until, steps);
        // Enough rounds that a twentieth each time is several times what there was. Not more: where
        // rounds come before every photo was seen, places are drawn by too little (0.4 dB).
        const double rounds = (made.densify_until - made.densify_from) / made.densify_every;
        if (steps >= 2000) {
            EXPECT_GT(std::pow(1.05, rounds), steps < 7000 ? 4 : 13) << steps;
        }
        for (const SettingField& f : setting_fields())
            EXPECT_TRUE(f.of(made) >= f.min && f.of(made) <= f.max) << f.name;
    }
    EXPECT_FALSE(strategy_of(full).gathers_statistics(full, 600));
    EXPECT_TRUE(strategy_of({}).gathers_statistics({}, 600));
}

TEST(Strategy, ChangingItKeepsWhatWasChosen) {
    TrainingSettings s = scaled_to_steps({}, 2000);
    s.lr_sh0 = 0.01;
    s.max_gaussians = 12345;
    const TrainingSettings mcmc = with_setting(s, *find_setting("strategy"), 1);
    EXPECT_EQ(mcmc.lr_sh0, 0.01);
    EXPECT_EQ(mcmc.max_gaussians, 12345);
    EXPECT_EQ(mcmc.noise, 5e5);
    const TrainingSettings back = with_setting(mcmc, *find_setting("strategy"), 0);
    for (const SettingField& f : setting_fields()) EXPECT_EQ(f.of(back), f.of(s)) << f.name;
}

TEST(Strategy, BeamsEndResetsUnlessTheyAreGiven) {
    const auto resets = [](const NamedValues& given) {
        return make_settings(given)->opacity_reset_every;
    };
    EXPECT_EQ(resets({}), 3000);
    EXPECT_EQ(resets({{"lidar_weight", 0}}), 3000);
    EXPECT_EQ(resets({{"lidar_weight", 0.02}, {"steps", 7000}}), 0);
    EXPECT_EQ(resets({{"strategy", 2}, {"lidar_weight", 0.02}}), 0);
    EXPECT_EQ(resets({{"opacity_reset_every", 3000}, {"lidar_weight", 0.02}}), 3000);
    const SettingField& weight = *find_setting("lidar_weight");
    const TrainingSettings photos = scaled_to_steps({}, 7000),
                           beams = with_setting(photos, weight, 0.02);
    EXPECT_EQ(beams.opacity_reset_every, 0);
    EXPECT_EQ(changed_settings(beams), (NamedValues{{"lidar_weight", 0.02}}));
    EXPECT_EQ(with_setting(beams, weight, 0.05).opacity_reset_every, 0);
    const TrainingSettings back = with_setting(beams, weight, 0);
    for (const SettingField& f : setting_fields()) EXPECT_EQ(f.of(back), f.of(photos)) << f.name;
    // As the checkpoint of a run that began with resets has it.
    TrainingSettings old = beams;
    old.opacity_reset_every = 3000;
    EXPECT_EQ(with_setting(old, weight, 0.05).opacity_reset_every, 3000);
    ASSERT_TRUE(change_settings(old, {{"lidar_weight", 0.05}}));
    EXPECT_EQ(old.opacity_reset_every, 3000);
}

TEST(Strategy, CurveBeginsAndEndsWhereItShould) {
    EXPECT_EQ(growth_curve(1000, 5000, 0, 40), 1000u);
    EXPECT_EQ(growth_curve(1000, 5000, 40, 40), 5000u);
    EXPECT_EQ(growth_curve(1000, 5000, 20, 40), 4000u);
    EXPECT_EQ(growth_curve(1000, 500, 20, 40), 500u) << "nothing is added";
    std::size_t last = 0, gain = 1000;
    for (std::size_t round = 1; round <= 40; ++round) {
        const std::size_t now = growth_curve(1000, 5000, round, 40);
        EXPECT_GT(now, last);
        if (round > 1) {
            EXPECT_LE(now - last, gain + 1) << "it ends level";
            gain = now - last;
        }
        last = now;
    }
}

TEST(Relocation, EquationNineAsInNinetyDigits) {
    const char* const file = "reference/train/mcmc_relocation.npz";
    GS_NEED_DATA(file);
    const test::Arrays data = test::load_npz(test::data_path(file));
    const test::Array &opacities = data["opacities"], &scales = data["scales"],
                      &ratios = data["ratios"], &new_opacities = data["new_opacities"],
                      &new_scales = data["new_scales"];
    const double least = data["min_opacity"].scalar();
    ASSERT_EQ(opacities.size(), 64u);
    for (std::size_t i = 0; i < opacities.size(); ++i) {
        const Share share = share_of(opacities[i], static_cast<int>(ratios[i]), least);
        EXPECT_NEAR(share.opacity / new_opacities[i], 1, 1e-12) << i;
        for (std::size_t axis = 0; axis < 3; ++axis)
            EXPECT_NEAR(scales[3 * i + axis] * share.scale / new_scales[3 * i + axis], 1, 1e-6)
                << i << " of " << ratios[i] << ", opacity " << opacities[i];
    }
}

TEST(Relocation, DeadMoveToTheLiving) {
    Line s(40);
    for (std::size_t i = 0; i < 10; ++i) s.model.at(kOpacityLogits, i) = -7;  // 0.0009
    s.model.at(kMeans + 1, 10) = std::nanf("");
    s.identity.tags[3] |= kLockedTag;  // stays although it is faint
    s.identity.tags[20] |= kLockedTag;
    const DensityReport r = s.round();
    EXPECT_EQ(r.dead, 10u);
    EXPECT_EQ(r.relocated, 10u);
    EXPECT_EQ(r.added, 0u);
    ASSERT_EQ(s.model.count, 40u);
    std::map<float, int> at;
    for (std::size_t i = 0; i < 40; ++i) {
        ++at[s.model.at(kMeans, i)];
        EXPECT_FALSE(std::isnan(s.model.at(kMeans + 1, i)));
    }
    EXPECT_EQ(at[3], 1);
    EXPECT_EQ(at[20], 1) << "nobody moves to a locked one";
    for (const float dead : {0.f, 1.f, 2.f, 4.f, 9.f, 10.f}) EXPECT_EQ(at[dead], 0) << dead;
    for (std::size_t i = 0; i < 40; ++i) {
        const int n = at[s.model.at(kMeans, i)];
        if (n == 1) continue;
        EXPECT_NEAR(opacity_at(s.model, i), 1 - std::pow(0.5, 1.0 / n), 1e-6);
        EXPECT_NEAR(std::exp(s.model.at(kLogScales, i)), 0.01 * share_of(0.5, n, 0.005).scale,
                    1e-7);
    }
    EXPECT_TRUE(s.identity.plausible(40, 0));
    EXPECT_EQ(s.identity.book.next, 50u);
}

TEST(Relocation, GrowsByATwentiethToTheLimitExactly) {
    Line s(1000);
    s.settings.max_gaussians = 1100;
    EXPECT_EQ(s.round().added, 50u);
    EXPECT_EQ(s.model.count, 1050u);
    EXPECT_EQ(s.round().added, 50u);
    EXPECT_EQ(s.model.count, 1100u);
    EXPECT_EQ(s.round().added, 0u);
    EXPECT_EQ(s.model.count, 1100u);
    s.settings.max_gaussians = 500;
    (void)s.round();
    EXPECT_EQ(s.model.count, 1100u) << "growth stops, nothing is taken away";
}

TEST(Relocation, PlacesFillUp) {
    // Two alive, nearly opaque: eight Gaussians may share a place, the others wait.
    Line s(40, 0.002f);
    s.model.at(kOpacityLogits, 5) = s.model.at(kOpacityLogits, 6) = 3;  // 0.95
    EXPECT_EQ(s.round().relocated, 14u);
    Line none(20, 0.002f);
    EXPECT_EQ(none.round().relocated, 0u);
    EXPECT_EQ(none.model.count, 20u);
}

TEST(Relocation, NewcomersLieApartWhereTheyAreTold) {
    Line s(2000);
    s.settings.max_gaussians = 4000;
    s.settings.relocate_spread = 0.5;
    for (int axis = 0; axis < 3; ++axis)
        for (std::size_t i = 0; i < 2000; ++i) s.model.at(kLogScales + axis, i) = std::log(0.1f);
    const std::size_t added = s.round().added;
    EXPECT_EQ(added, 100u);
    double square = 0;
    std::size_t apart = 0;
    for (std::size_t i = 0; i < s.model.count; ++i) {
        const bool came = id_of_tag(s.identity.tags[i]) >= 2000;
        const double y = s.model.at(kMeans + 1, i), z = s.model.at(kMeans + 2, i);
        EXPECT_EQ(y != 0, came) << "who was there stays";
        apart += y != 0 ? 1 : 0;
        square += (y * y + z * z) / 2;
    }
    EXPECT_EQ(apart, added);
    EXPECT_NEAR(std::sqrt(square / static_cast<double>(added)), 0.05, 0.01) << "of 200 draws";
}

TEST(Relocation, PlacesAreDrawnByPullWhereThatIsAsked) {
    Line s(1000);
    s.settings.max_gaussians = 1050;
    s.settings.relocate_by_pull = true;
    for (std::size_t i = 0; i < 1000; ++i) {
        s.statistics.views[i] = 10;
        s.statistics.gradient_sum[i] = i < 100 ? 10 * 2e-3f : 10 * 1e-5f;  // a tenth pulls
    }
    EXPECT_EQ(s.round().added, 50u);
    std::map<float, int> at;
    for (std::size_t i = 0; i < s.model.count; ++i) ++at[s.model.at(kMeans, i)];
    int there = 0;
    for (int i = 0; i < 100; ++i) there += at[static_cast<float>(i)] - 1;
    EXPECT_GE(there, 42) << "200 times as hard, nine times as many who do not";
}

TEST(Absgrad, HasAThresholdOfItsOwn) {
    TrainingSettings s;
    EXPECT_EQ(density_rules(s, 1.0, false).densify_gradient, s.densify_gradient);
    s.absgrad = true;
    EXPECT_EQ(density_rules(s, 1.0, false).densify_gradient, s.densify_absgrad);
    const TrainingSettings half = scaled_to_steps(s, 15000);
    EXPECT_DOUBLE_EQ(half.densify_absgrad, 1.5 * s.densify_absgrad);
}

TEST(Nudge, NoiseIsForTheFaint) {
    Line s(400, 0.5f, 0.02f);
    for (std::size_t i = 0; i < 200; ++i) s.model.at(kOpacityLogits, i) = -6;
    s.identity.tags[7] |= kLockedTag;
    const GaussianModel before = s.model;
    NudgePlan plan{.noise = 10};
    s.adam.begin_step(s.model, {1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9}, kShRest);
    s.adam.end_step();
    nudge(s.model, s.adam, s.identity, plan);
    double square = 0;
    for (std::size_t i = 0; i < 400; ++i) {
        const float moved = s.model.at(kMeans + 1, i) - before.at(kMeans + 1, i);
        if (i >= 200 || i == 7) {
            EXPECT_EQ(moved, 0) << i;
        }
        square += static_cast<double>(moved) * static_cast<double>(moved) / 199;
    }
    const double expected =
        10 * static_cast<double>(noise_factor(math::sigmoid(-6.0f))) * 0.02 * 0.02;
    EXPECT_NEAR(std::sqrt(square) / expected, 1, 0.2) << "of 199 draws";
    EXPECT_LT(noise_factor(math::sigmoid(kNoiseEnds)), 1.1e-7f);
}

TEST(Nudge, LimitsSizesAndStretch) {
    Line s(20);
    s.model.at(kLogScales + 1, 4) = std::log(0.5f);  // 50 x the middle one
    for (int axis = 0; axis < 3; ++axis) s.model.at(kLogScales + axis, 9) = std::log(0.3f);
    TrainingSettings settings;
    settings.scale_limit = 0.1;
    settings.stretch_limit = 10;
    for (int step = 0; step < 800; ++step) {
        s.adam.begin_step(s.model, {1e-9, 5e-3, 1e-9, 1e-9, 1e-9, 1e-9}, kShRest);
        s.adam.end_step();
        nudge(s.model, s.adam, s.identity, nudge_plan(settings, 1.0, 0, 20));
    }
    EXPECT_NEAR(std::exp(s.model.at(kLogScales + 1, 4)), 0.1, 1e-5);
    EXPECT_NEAR(std::exp(s.model.at(kLogScales, 9)), 0.1, 1e-5);
    EXPECT_EQ(s.model.at(kLogScales, 0), std::log(0.01f));
}

TEST(Nudge, NobodySeenFadesAtTheRate) {
    // Where nothing but the regulariser pulls, Adam takes whole steps whatever its weight.
    Line s(20);
    TrainingSettings settings;
    settings.opacity_reg = 0.01;
    for (int step = 0; step < 50; ++step) {
        s.adam.begin_step(s.model, {1e-9, 1e-9, 1e-9, 5e-2, 1e-9, 1e-9}, kShRest);
        s.adam.end_step();
        nudge(s.model, s.adam, s.identity, nudge_plan(settings, 1.0, 100000, 20));
    }
    EXPECT_LT(s.model.at(kOpacityLogits, 3), 0);
    EXPECT_GT(s.model.at(kOpacityLogits, 3), -50 * 5e-2 * 1.01);
}

TEST(Revised, TwoCoverAsMuchAsOneDid) {
    for (const float logit : {-6.0f, -1.0f, 0.0f, 2.0f, 12.0f}) {
        const double one = 1 / (1 + std::exp(-static_cast<double>(logit))),
                     each = 1 / (1 + std::exp(-static_cast<double>(revised_logit(logit))));
        EXPECT_NEAR(1 - (1 - each) * (1 - each), one, 1e-7) << logit;
    }
}

TEST(Revised, ClonesAndSplits) {
    Line s(40, 0.8f);
    for (const std::size_t row : {3u, 5u}) {
        s.statistics.gradient_sum[row] = 1e-2f;
        s.statistics.views[row] = 4;
    }
    for (int axis = 0; axis < 3; ++axis) s.model.at(kLogScales + axis, 5) = std::log(0.05f);
    TrainingSettings settings;
    settings.revised_opacity = true;
    const DensityReport r = densify_and_prune(s.run, settings, 1.0, false);
    EXPECT_EQ(r.cloned + r.split, 2u);
    std::size_t revised = 0;
    for (std::size_t i = 0; i < s.model.count; ++i)
        revised += std::abs(opacity_at(s.model, i) - (1 - std::sqrt(0.2f))) < 1e-6f;
    EXPECT_EQ(revised, 4u);
}

TEST(LongAxis, ChildrenAsStored) {
    // Of another program, in double precision.
    constexpr double kMean[2][3] = {{0.2641289250572073, -0.15114112206067895, 1.0913414646689812},
                                    {0.33587107494279267, -0.24885887793932107, 1.108658535331019}},
                     kLogScale[] = {-3.3625189294977753, -2.7931471805599455, -4.162518929497775};
    Line s(3);
    const float row[] = {0.3f, -0.2f, 1.1f, -3.2f, -2.1f, -4.0f, 0.8f, 0.1f, -0.5f, 0.3f};
    for (const std::size_t i : {1u, 2u}) {
        for (int k = 0; k < 10; ++k)
            s.model.at(k < 3 ? k : k < 6 ? kLogScales + k - 3 : kQuats + k - 6, i) = row[k];
        s.model.at(kOpacityLogits, i) = 0.7f;
        s.statistics.gradient_sum[i] = s.statistics.views[i] = 1;
    }
    s.identity.tags[2] |= kLockedTag;
    TrainingSettings settings;
    settings.long_axis = settings.revised_opacity = true;
    const DensityReport r = densify_and_prune(s.run, settings, 1.0, false);
    EXPECT_EQ(r.split, 1u) << "a locked row stays";
    EXPECT_EQ(r.cloned, 0u);
    int found[2] = {};
    for (std::size_t i = 0; i < s.model.count; ++i) {
        if (s.model.at(kOpacityLogits, i) == 0.7f || s.model.mean(i).x == 0) continue;  // no child
        const int child = s.model.mean(i).x < 0.3f ? 0 : 1;
        for (int axis = 0; axis < 3; ++axis) {
            EXPECT_NEAR(s.model.at(kMeans + axis, i), kMean[child][axis], 1e-6);
            EXPECT_NEAR(s.model.at(kLogScales + axis, i), kLogScale[axis], 1e-6);
        }
        EXPECT_NEAR(s.model.at(kOpacityLogits, i), -0.40166378532848623, 1e-6);
        ++found[child];
    }
    EXPECT_EQ(found[0] + found[1], 2);
}

TrainingSettings settings_of(StrategyKind kind) {
    TrainingSettings s = testing::in_30_steps(defaults_of(kind), 5);
    s.max_gaussians = kind == StrategyKind::mcmc ? 340 : 500;
    if (kind == StrategyKind::budget) s.opacity_reset_every = 13;
    return s;
}

GaussianModel trained(const TrainingSettings& settings, const fs::path& through = {}) {
    const auto capture = testing::small_capture();
    auto trainer = std::move(*Trainer::create(capture, settings, make_cpu_training()));
    while (!trainer->finished()) {
        (void)trainer->step();
        if (!through.empty() && trainer->steps_done() == 17) {
            EXPECT_TRUE(trainer->save_checkpoint(through));
            trainer = std::move(*Trainer::resume(through, capture, make_cpu_training()));
        }
    }
    return trainer->model();
}

class StrategyRun : public ::testing::TestWithParam<StrategyKind> {};
INSTANTIATE_TEST_SUITE_P(Of, StrategyRun,
                         ::testing::Values(StrategyKind::mcmc, StrategyKind::budget));

TEST_P(StrategyRun, SameBitsResumedAndOnOtherThreads) {
    const TrainingSettings settings = settings_of(GetParam());
    set_thread_count(1);
    const GaussianModel one = trained(settings);
    set_thread_count(3);
    const GaussianModel three = trained(settings);
    const fs::path file = fs::temp_directory_path() /
                          fmt::format("gausscope_strategy_{}_{}.ckpt", static_cast<int>(GetParam()),
                                      ::testing::UnitTest::GetInstance()->random_seed());
    const GaussianModel resumed = trained(settings, file);
    set_thread_count(0);
    std::error_code ignored;
    fs::remove(file, ignored);
    EXPECT_TRUE(testing::same_bits(three, one));
    EXPECT_TRUE(testing::same_bits(resumed, one));
    TrainingSettings seeded = settings;
    seeded.seed = 7;
    EXPECT_NE(trained(seeded).values[0], one.values[0]);
    EXPECT_EQ(one.count, static_cast<std::size_t>(settings.max_gaussians));
}

TEST(StrategyRun, NoneHasMoreThanItsLimitAtAnyStep) {
    for (const StrategyKind kind : {StrategyKind::adc, StrategyKind::mcmc, StrategyKind::budget}) {
        TrainingSettings settings = settings_of(kind);
        settings.max_gaussians = 120;  // of 300 points
        const auto trainer =
            std::move(*Trainer::create(testing::small_capture(), settings, make_cpu_training()));
        EXPECT_EQ(trainer->gaussian_count(), 120u);
        while (!trainer->finished()) ASSERT_LE(trainer->step().gaussians, 120u);
        EXPECT_GT(trainer->gaussian_count(), 60u);
    }
}

TEST(StrategyRun, BudgetFollowsItsCurve) {
    const TrainingSettings settings = settings_of(StrategyKind::budget);
    const auto trainer =
        std::move(*Trainer::create(testing::small_capture(), settings, make_cpu_training()));
    std::size_t rounds = 0;
    while (!trainer->finished()) {
        const StepReport report = trainer->step();
        if (!report.densified) continue;
        ++rounds;
        EXPECT_EQ(report.gaussians, growth_curve(300, 500, rounds, 5)) << rounds;
        EXPECT_EQ(report.round.target, report.gaussians);
    }
    EXPECT_EQ(rounds, 5u);
}

}  // namespace
}  // namespace gs
