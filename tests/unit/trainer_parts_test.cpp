// The small parts: settings and their table, schedules, view order, Morton order, initial
// Gaussians, density control.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.h"
#include "renderer/scene/covariance.h"
#include "tests/support/numbered_rows.h"
#include "tests/support/required.h"
#include "trainer/density/init.h"
#include "trainer/density/morton.h"
#include "trainer/density/row_arrays.h"
#include "trainer/sampler.h"
#include "trainer/settings/schedule.h"

namespace gs {
namespace {

struct AnyValue {
    template <class T>
    operator T() const;
};
/// The number of members of an aggregate: initializers that it takes.
template <class T, class... Values>
consteval std::size_t members() {
    if constexpr (requires { T{Values{}..., AnyValue{}}; })
        return members<T, Values..., AnyValue>();
    else
        return sizeof...(Values);
}

TEST(Settings, TableNamesEveryFieldOnce) {
    const TrainingSettings usual;
    std::set<std::string> names;
    for (const SettingField& f : setting_fields()) {
        EXPECT_TRUE(names.insert(f.name).second) << f.name;
        EXPECT_LT(f.min, f.max) << f.name;
        EXPECT_TRUE(f.of(usual) >= f.min && f.of(usual) <= f.max) << f.name;
        EXPECT_GT(std::string(f.help).size(), 5u);
        TrainingSettings s;
        f.put(s, f.of(usual) == f.max ? f.min : f.max);
        for (const SettingField& other : setting_fields())
            EXPECT_EQ(other.of(s) == other.of(usual), &other != &f) << f.name << other.name;
    }
    EXPECT_EQ(names.size(), members<TrainingSettings>()) << "a field has no row";
}

TEST(Settings, ChoicesHaveWords) {
    TrainingSettings s;
    const SettingField& strategy = *find_setting("strategy");
    EXPECT_EQ(strategy.kind, SettingKind::choice);
    EXPECT_EQ(strategy.value_of("mcmc"), 1);
    EXPECT_EQ(strategy.value_of("1"), std::nullopt);
    EXPECT_EQ(strategy.text(2), "budget");
    EXPECT_TRUE(set_setting(s, "strategy", 1));
    EXPECT_EQ(s.strategy, StrategyKind::mcmc);
    EXPECT_FALSE(set_setting(s, "strategy", 3));
    for (const SettingField& f : setting_fields()) {
        EXPECT_EQ(f.choices.empty(), f.kind != SettingKind::choice) << f.name;
    }
    EXPECT_EQ(with_setting({}, strategy, 1).noise, defaults_of(StrategyKind::mcmc).noise);
    EXPECT_TRUE(with_setting({}, *find_setting("absgrad"), 1).absgrad);
}

TEST(Settings, SetChecksNameAndRange) {
    TrainingSettings s;
    EXPECT_TRUE(set_setting(s, "lr_sh0", 0.01));
    EXPECT_EQ(s.lr_sh0, 0.01);
    EXPECT_TRUE(set_setting(s, "steps", 700.4));
    EXPECT_EQ(s.steps, 700);
    EXPECT_FALSE(set_setting(s, "lambda_dssim", 1.5));
    EXPECT_FALSE(set_setting(s, "lambda_dssim", std::nan("")));
    EXPECT_FALSE(set_setting(s, "no_such", 1));
    EXPECT_EQ(set_setting(s, "lambda_dssim", -1).error().kind, ErrorKind::usage);
}

TEST(Settings, ShortRunsKeepTheOrderOfPhases) {
    const TrainingSettings full;
    EXPECT_EQ(scaled_to_steps(full, 30000).densify_until, full.densify_until);
    EXPECT_EQ(scaled_to_steps(full, 30000).sh_interval, full.sh_interval);
    for (const double steps : {1.0, 60.0, 300.0, 2400.0, 7000.0, 29000.0}) {
        const TrainingSettings s = scaled_to_steps(full, steps);
        EXPECT_EQ(s.steps, steps);
        EXPECT_LE(s.densify_until, full.densify_until);
        for (const SettingField& f : setting_fields())
            EXPECT_TRUE(f.of(s) >= f.min && f.of(s) <= f.max) << f.name;
        if (steps >= 300) {
            EXPECT_LT(s.densify_from, s.densify_until);
            EXPECT_LE(s.densify_until, steps * 0.75);
            EXPECT_LT(3 * s.sh_interval, steps) << "degree 3 is reached";
            // After the last opacity reset there is time to recover.
            double last_reset = 0;
            for (double t = 1; t < steps; ++t)
                if (opacity_reset_due(s, static_cast<std::uint64_t>(t))) last_reset = t;
            if (last_reset > 0) {
                EXPECT_LE(last_reset, 0.7 * steps);
            }
        }
    }
}

TEST(Schedule, MeansDecayExponentially) {
    TrainingSettings s;
    EXPECT_NEAR(learning_rates(s, 2.0, 0)[kGroupMeans], 3.2e-4, 1e-12);
    EXPECT_NEAR(learning_rates(s, 2.0, 15000)[kGroupMeans], 3.2e-5, 1e-12);
    EXPECT_NEAR(learning_rates(s, 2.0, 30000)[kGroupMeans], 3.2e-6, 1e-12);
    EXPECT_NEAR(learning_rates(s, 2.0, 90000)[kGroupMeans], 3.2e-6, 1e-12);
    EXPECT_EQ(sh_degree_at(s, 0), 0);
    EXPECT_EQ(sh_degree_at(s, 2500), 2);
    EXPECT_EQ(sh_degree_at(s, 25000), 3);
    EXPECT_FALSE(densify_due(s, 500));
    EXPECT_TRUE(densify_due(s, 600));
    EXPECT_TRUE(densify_due(s, 14900));
    EXPECT_FALSE(densify_due(s, 15000));
    EXPECT_TRUE(opacity_reset_due(s, 3000));
    EXPECT_FALSE(opacity_reset_due(s, 15000));
}

TEST(Schedule, PhotosGrowToFullSizeAtRounds) {
    TrainingSettings s;
    s.densify_every = 100;
    EXPECT_EQ(photo_divisor(s, 0, 1000), 1);
    s.coarse_until = 450;
    const auto changes = [&](int side) {
        std::string out;
        for (std::uint64_t step = 0, before = 0; step < 1000; ++step) {
            const auto divisor = static_cast<std::uint64_t>(photo_divisor(s, step, side));
            if (divisor != before) out += fmt::format("{}:{} ", step, divisor);
            before = divisor;
        }
        return out;
    };
    EXPECT_EQ(changes(512), "0:4 300:2 500:1 ");
    EXPECT_EQ(changes(std::numeric_limits<int>::max()), "0:4 300:2 500:1 ");
    EXPECT_EQ(changes(510), "0:4 300:2 500:1 ") << "127.5 pixels are rounded";
    EXPECT_EQ(changes(509), "0:2 500:1 ") << "127 pixels of a quarter are too few";
    EXPECT_EQ(changes(254), "0:1 ");
    s.densify_every = 100000;
    EXPECT_EQ(changes(512), "0:4 225:2 450:1 ") << "no round comes";
    s.densify_every = 100;
    s.steps = 600;
    EXPECT_EQ(changes(512), "0:4 200:2 300:1 ") << "half of the run has full size";
}

TEST(Sampler, EveryEpochShowsEveryView) {
    const std::vector<std::size_t> views{3, 5, 8, 13, 21};
    Sampler sampler(views, 7);
    std::vector<std::size_t> drawn;
    for (int i = 0; i < 50; ++i) drawn.push_back(sampler.next());
    for (std::size_t epoch = 0; epoch < 10; ++epoch) {
        std::vector<std::size_t> seen(drawn.begin() + static_cast<std::ptrdiff_t>(epoch * 5),
                                      drawn.begin() + static_cast<std::ptrdiff_t>(epoch * 5 + 5));
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, views);
    }
    for (std::size_t start = 0; start < 50; ++start) {
        Sampler resumed(views, 7, start);
        for (std::size_t i = start; i < 50; ++i) ASSERT_EQ(resumed.next(), drawn[i]);
    }
    Sampler other(views, 8);
    bool differs = false;
    for (int i = 0; i < 50; ++i) differs |= other.next() != drawn[static_cast<std::size_t>(i)];
    EXPECT_TRUE(differs);
}

TEST(Morton, NeighboursStayTogether) {
    std::vector<Vec3f> points;
    for (std::size_t i = 0; i < 4096; ++i)
        points.push_back(
            {random_uniform(1, 0, i), random_uniform(1, 1, i), random_uniform(1, 2, i)});
    points[7] = {std::nanf(""), 0, 0};
    const auto order = morton_order(points);
    EXPECT_EQ(order.back(), 7u);
    EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), points.size());
    double sorted = 0, unsorted = 0;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
        const Vec3f a = points[order[i]] - points[order[i - 1]], b = points[i] - points[i - 1];
        sorted += std::sqrt(static_cast<double>(dot(a, a)));
        if (i != 7 && i != 8) unsorted += std::sqrt(static_cast<double>(dot(b, b)));
    }
    EXPECT_LT(sorted, 0.3 * unsorted);
    EXPECT_EQ(morton_order(std::vector<Vec3f>{{1, 1, 1}, {1, 1, 1}}),
              (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(morton_order({}).empty());
}

constexpr auto kAll = std::numeric_limits<std::size_t>::max();

TEST(Init, OfTooManyPointsEvenlySpacedOnesAreKept) {
    Capture capture;
    for (int i = 0; i < 1000; ++i)
        capture.points.push_back({{static_cast<float>(i * 37 % 1000), 0, 0}, {1, 2, 3}});
    const auto model = required(gaussians_from_points(capture, 0, 100));
    ASSERT_EQ(model.count, 100u);
    std::vector<float> places(model.plane(kMeans), model.plane(kMeans) + 100);
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < 100; ++i) EXPECT_NEAR(places[i] - places[i - 1], 10, 1);
    for (std::size_t i = 0; i < 100; ++i)
        EXPECT_NEAR(model.at(kLogScales, i), std::log(14.0f), 0.5) << "by what was kept";
}

TEST(Init, ScalesAreNeighbourDistances) {
    Capture capture;
    // A unit grid: three nearest neighbours at distance 1 for every corner-most and inner point
    // alike.
    for (int i = 0; i < 27; ++i) {
        SparsePoint p{.position = {static_cast<float>(i % 3), static_cast<float>(i / 3 % 3),
                                   static_cast<float>(i / 9)}};
        p.rgb[0] = 255;
        capture.points.push_back(p);
    }
    capture.points.push_back({{std::nanf(""), 0, 0}, {0, 0, 0}});
    const auto model = required(gaussians_from_points(capture, 3, kAll));
    EXPECT_EQ(model.count, 27u);
    EXPECT_EQ(model.capacity / kBlock % 2, 1u);
    for (std::size_t i = 0; i < model.count; ++i) {
        EXPECT_NEAR(model.at(kLogScales, i), 0.0, 1e-6);
        EXPECT_EQ(model.at(kQuats, i), 1.0f);
        EXPECT_NEAR(1 / (1 + std::exp(-model.at(kOpacityLogits, i))), 0.1, 1e-6);
        EXPECT_NEAR(0.5 + 0.28209479177387814 * static_cast<double>(model.at(kSh0, i)), 1.0, 1e-6);
    }
}

// A slanted wall whose points are a centimetre off it here and there, and a pole beside it.
TEST(Init, WhatWasMeasuredOnSurfacesLiesInThem) {
    const Vec3d normal{0.6, 0, -0.8}, across{0.8, 0, 0.6};
    Capture capture;
    for (int i = 0; i < 400; ++i) {
        const double off = i % 2 == 0 ? 0.01 : -0.01;
        const Vec3d p = 0.2 * (i % 20) * across + Vec3d{0, 0.2 * (i / 20), 0} + off * normal;
        capture.points.push_back(
            {{static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)},
             {9, 9, 9}});
    }
    for (int i = 0; i < 30; ++i)
        capture.points.push_back({{-9, 0.2f * static_cast<float>(i), -9}, {9, 9, 9}});
    const auto balls = gaussians_from_points(capture, 0, kAll),
               discs = gaussians_from_points(capture, 0, kAll, {0.1f, 1, true});
    ASSERT_TRUE(balls && discs);
    double furthest = 0;
    for (std::size_t i = 0; i < discs->count; ++i) {
        EXPECT_NEAR(1 / (1 + std::exp(-discs->at(kOpacityLogits, i))), kSurfaceOpacity, 1e-6);
        const float within = balls->at(kLogScales, i) + std::log(kSurfaceScale);
        EXPECT_NEAR(discs->at(kLogScales, i), within, 1e-5);
        if (balls->at(kMeans, i) < -8) {  // the pole: no surface
            EXPECT_NEAR(discs->at(kLogScales + 2, i), within, 1e-5);
            EXPECT_EQ(discs->at(kMeans, i), balls->at(kMeans, i));
            continue;
        }
        EXPECT_NEAR(discs->at(kLogScales + 2, i), within + std::log(kSurfaceFlatness), 1e-5);
        const Mat3d turn = rotation_from_quat(quat_of(*discs, i));
        EXPECT_GT(std::abs(dot(normal, turn * Vec3d{0, 0, 1})), 0.998);
        const Vec3d p{discs->at(kMeans, i), discs->at(kMeans + 1, i), discs->at(kMeans + 2, i)};
        furthest = std::max(furthest, std::abs(dot(normal, p)));
    }
    EXPECT_LT(furthest, 0.008);  // of 0.01
}

TEST(Init, DuplicatesGetASize) {
    Capture capture;
    for (int i = 0; i < 40; ++i)
        capture.points.push_back({{static_cast<float>(i / 8), 0, 0}, {1, 2, 3}});
    const auto model = required(gaussians_from_points(capture, 0, kAll));
    for (std::size_t i = 0; i < model.count; ++i)
        EXPECT_TRUE(std::isfinite(model.at(kLogScales, i)));
    Capture one_place;
    for (int i = 0; i < 9; ++i) one_place.points.push_back({{5, 5, 5}, {1, 2, 3}});
    const auto lump = required(gaussians_from_points(one_place, 0, kAll));
    EXPECT_TRUE(std::isfinite(lump.at(kLogScales, 0)));
}

struct Scene {
    RunArrays run = new_run({40, 1, padded_capacity(40)});
    GaussianModel& model = run.model;
    DensityStatistics& statistics = run.statistics;
    TrainingSettings settings;
    Scene() {
        for (std::size_t i = 0; i < model.count; ++i) {
            model.at(kMeans, i) = static_cast<float>(i);
            for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, i) = std::log(0.005f);
            model.at(kOpacityLogits, i) = 2.0f;
            model.at(kSh0, i) = static_cast<float>(100 + i);
        }
        settings.prune_opacity = 0.005;
    }
    void pull(std::size_t row, float gradient) {
        statistics.gradient_sum[row] = gradient * 4;
        statistics.views[row] = 4;
    }
    std::size_t rows_of(float sh) const {
        return static_cast<std::size_t>(
            std::count(model.plane(kSh0), model.plane(kSh0) + model.count, sh));
    }
};

TEST(Density, ClonesSplitsAndPrunes) {
    Scene s;
    s.pull(3, 1e-3f);  // small: cloned
    s.pull(5, 1e-3f);  // large: split
    for (int axis = 0; axis < 3; ++axis) s.model.at(kLogScales + axis, 5) = std::log(0.05f);
    s.model.at(kOpacityLogits, 7) = -8.0f;        // faint
    s.model.at(kMeans, 9) = std::nanf("");        // broken
    s.model.at(kLogScales, 11) = std::log(0.5f);  // oversized
    const DensityReport r = densify_and_prune(s.run, s.settings, 1.0, true);
    EXPECT_EQ(r.cloned, 1u);
    EXPECT_EQ(r.split, 1u);
    EXPECT_EQ(r.pruned, 3u);
    EXPECT_EQ(s.model.count, 40u + 2 - 3);
    EXPECT_EQ(s.rows_of(103), 2u);
    EXPECT_EQ(s.rows_of(105), 2u);
    EXPECT_EQ(s.rows_of(107), 0u);
    EXPECT_EQ(s.rows_of(104), 1u);
    for (std::size_t i = 0; i < s.model.count; ++i)
        if (s.model.at(kSh0, i) == 105.0f) {
            EXPECT_NEAR(std::exp(s.model.at(kLogScales, i)), 0.05 / 1.6, 1e-6);
            EXPECT_NEAR(s.model.at(kMeans, i), 5.0, 0.3);
            EXPECT_NE(s.model.at(kMeans, i), 5.0f);
        }
    for (std::size_t i = s.model.count; i < s.model.capacity; ++i)
        EXPECT_EQ(s.model.at(kOpacityLogits, i), -100.0f);
    for (const float g : s.statistics.gradient_sum) EXPECT_EQ(g, 0.0f);
}

TEST(Density, LimitKeepsTheHardestPulled) {
    Scene s;
    for (std::size_t i = 0; i < 40; ++i) s.pull(i, 1e-3f + 1e-5f * static_cast<float>(i));
    s.settings.max_gaussians = 45;
    const DensityReport r = densify_and_prune(s.run, s.settings, 1.0, false);
    EXPECT_EQ(r.wanted, 40u);
    EXPECT_EQ(s.model.count, 45u);
    for (int i = 0; i < 40; ++i)
        EXPECT_EQ(s.rows_of(static_cast<float>(100 + i)), i >= 35 ? 2u : 1u);
}

// In every array: rows stay together, new ones begin as the list says, and those that went leave
// nothing for the next Gaussians in their place.
TEST(Density, EveryArrayFollowsItsRows) {
    for (const bool grows : {true, false}) {
        Scene s;
        test::number_rows(s.run, [](const RowArray& array) {
            return array.section != kModelSection && array.round != RowArray::cleared;
        });
        for (std::size_t row = 0; row < 40; ++row) {
            s.model.at(kShRest, row) = static_cast<float>(200 + row);
            if (row % 8 == 3) s.model.at(kOpacityLogits, row) = -9.0f;  // goes
            if (grows && row % 2 == 0) s.pull(row, 1e-3f);
            for (int p = kLogScales; p < kQuats && row % 4 == 0; ++p)
                s.model.at(p, row) = std::log(0.05f);  // is split, not cloned
        }
        const RunArrays before = s.run;
        densify_and_prune(s.run, s.settings, 1.0, false);
        ASSERT_EQ(s.model.count, grows ? 55u : 35u);
        const auto expect = [&](const RowArray& array, std::size_t c, const auto& now,
                                const auto& was) {
            // Children lie elsewhere and are smaller.
            if (array.round == RowArray::unmoved || (array.section == kModelSection && c < kQuats))
                return;
            for (std::size_t row = 0; row < s.model.capacity; ++row) {
                auto expected = now.unused;
                const bool born = s.run.identity.tags[row] >= 40;
                if (array.round == RowArray::tags && born)
                    expected = now[row];
                else if (row < s.model.count && array.round != RowArray::cleared &&
                         !(array.round == RowArray::fresh && born))
                    expected = was[static_cast<std::size_t>(s.model.at(kSh0, row)) - 100];
                ASSERT_EQ(now[row], expected) << row;
            }
        };
        test::each_column(expect, s.run, before);
    }
}

TEST(Density, NeverLeavesAnEmptyModel) {
    Scene s;
    for (std::size_t i = 0; i < 40; ++i) s.model.at(kOpacityLogits, i) = -50.0f;
    densify_and_prune(s.run, s.settings, 1.0, false);
    EXPECT_EQ(s.model.count, 40u);
}

TEST(Density, ResetLowersOpacities) {
    Scene s;
    s.model.at(kOpacityLogits, 1) = -7.0f;
    reset_opacity(s.run);
    EXPECT_NEAR(1 / (1 + std::exp(-s.model.at(kOpacityLogits, 0))), 0.01, 1e-6);
    EXPECT_EQ(s.model.at(kOpacityLogits, 1), -7.0f);
}

}  // namespace
}  // namespace gs
