// Lazy Adam against dense Adam in double: the same parameters whatever each step shows, with
// changing learning rates.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "trainer/adam/lazy_adam.h"

namespace gs {
namespace {

constexpr std::size_t kRows = 70;  // the last block is not full

GaussianModel random_model() {
    GaussianModel model(kRows, 3);
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < model.count; ++i)
            model.at(p, i) = 1.0f + random_uniform(1, static_cast<std::uint64_t>(p), i);
    return model;
}

int group_of(int plane) {
    if (plane < kLogScales) return kGroupMeans;
    if (plane < kQuats) return kGroupScales;
    if (plane < kOpacityLogits) return kGroupQuats;
    if (plane < kSh0) return kGroupOpacity;
    return plane < kShRest ? kGroupSh0 : kGroupShRest;
}

/// Falls, is raised by hand at step 150, and one group stops for a while.
LearningRates rates_at(int step) {
    const double fall = std::exp(-step / 100.0) * (step >= 150 ? 3.0 : 1.0);
    return {1e-2 * fall, 5e-3, 1e-3, 2.5e-2, step > 50 && step < 60 ? 0.0 : 2.5e-3, 1.25e-4};
}

bool visible(int step, std::size_t row) {
    // Some rows nearly always, some hardly ever.
    return random_uniform(5, static_cast<std::uint64_t>(step), row) < (row % 7 == 0   ? 0.01f
                                                                       : row % 3 == 0 ? 0.9f
                                                                                      : 0.2f);
}
float gradient(int step, int plane, std::size_t row) {
    const std::uint64_t stream =
        static_cast<std::uint64_t>(step) * 64 + static_cast<std::uint64_t>(plane);
    const float size =
        std::pow(10.0f, -8.0f * random_uniform(3, static_cast<std::uint64_t>(plane), row));
    return size * (random_uniform(2, stream, row) - 0.3f);
}

struct Dense {
    std::vector<double> p, m, v;
    explicit Dense(const GaussianModel& model) {
        for (int plane = 0; plane < model.planes(); ++plane)
            for (std::size_t i = 0; i < model.count; ++i)
                p.push_back(static_cast<double>(model.at(plane, i)));
        m.assign(p.size(), 0.0);
        v.assign(p.size(), 0.0);
    }
    void step(int t, int plane, std::size_t row, double g, double lr) {
        const std::size_t i = static_cast<std::size_t>(plane) * kRows + row;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double c1 = 1 - std::pow(0.9, t), c2 = 1 - std::pow(0.999, t);
        p[i] -= lr / c1 * m[i] / (std::sqrt(v[i] / c2) + 1e-15);
    }
};

/// One lazy step with the gradients of `step`; `dense` (may be null) does the same.
void run_step(GaussianModel& model, LazyAdam& adam, int step, Dense* dense) {
    adam.begin_step(model, rates_at(step), model.planes());
    for (std::size_t block = 0; block < model.blocks(); ++block) {
        BlockGradients g{};
        g.block = block;
        for (std::size_t lane = 0; lane < kBlock; ++lane) {
            const std::size_t row = block * kBlock + lane;
            if (row >= model.count || !visible(step, row)) continue;
            g.mask |= 1u << lane;
            for (int p = 0; p < model.planes(); ++p) g.planes[p][lane] = gradient(step, p, row);
        }
        if (g.mask == 0) continue;
        EXPECT_EQ(adam.apply(model, g), 0u);
    }
    adam.end_step();
    if (dense == nullptr) return;
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t row = 0; row < kRows; ++row) {
            const double g = visible(step, row) ? static_cast<double>(gradient(step, p, row)) : 0.0;
            dense->step(step + 1, p, row, g, rates_at(step)[static_cast<std::size_t>(group_of(p))]);
        }
}

double worst_error(const GaussianModel& model, const LazyAdam& adam, const Dense& dense) {
    double worst = 0;
    for (std::size_t block = 0; block < model.blocks(); ++block) {
        alignas(64) float now[kMaxPlanes * kBlock];
        adam.read(model, block, 0, model.planes(), now);
        for (int p = 0; p < model.planes(); ++p)
            for (std::size_t lane = 0; lane < kBlock && block * kBlock + lane < kRows; ++lane) {
                const double expected =
                    dense.p[static_cast<std::size_t>(p) * kRows + block * kBlock + lane];
                const double got =
                    static_cast<double>(now[static_cast<std::size_t>(p) * kBlock + lane]);
                worst =
                    std::max(worst, std::abs(got - expected) / std::max(1.0, std::abs(expected)));
            }
    }
    return worst;
}

TEST(LazyAdam, EqualsDenseAdam) {
    GaussianModel model = random_model();
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    Dense dense(model);
    for (int step = 0; step < 400; ++step) {
        run_step(model, adam, step, &dense);
        if (step % 50 == 49 || step < 3) {
            EXPECT_LT(worst_error(model, adam, dense), 1e-5) << "after step " << step + 1;
        }
        if (step == 220) adam.flush(model);
    }
    adam.flush(model);
    EXPECT_LT(worst_error(model, adam, dense), 1e-5);
}

TEST(LazyAdam, LongSleep) {
    // Longer than the tables live: rows wake up where dense Adam has them.
    GaussianModel model = random_model();
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    Dense dense(model);
    for (int step = 0; step < 3; ++step) run_step(model, adam, step, &dense);
    for (int step = 3; step < 1500; ++step) {
        adam.begin_step(model, rates_at(step), model.planes());
        adam.end_step();
        for (int p = 0; p < model.planes(); ++p)
            for (std::size_t row = 0; row < kRows; ++row)
                dense.step(step + 1, p, row, 0.0,
                           rates_at(step)[static_cast<std::size_t>(group_of(p))]);
    }
    run_step(model, adam, 1500, &dense);
    EXPECT_LT(worst_error(model, adam, dense), 1e-5);
}

TEST(LazyAdam, ReadingChangesNothing) {
    GaussianModel model = random_model();
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    for (int step = 0; step < 20; ++step) run_step(model, adam, step, nullptr);
    const GaussianModel before = model;
    const std::vector<float> moments(adam.state().moments.begin(), adam.state().moments.end());
    LazySource source(model, adam, 3);
    alignas(64) float scratch[48 * kBlock];
    for (std::size_t block = 0; block < model.blocks(); ++block) {
        source.geometry(block, scratch);
        source.sh(block, scratch);
    }
    EXPECT_EQ(0, std::memcmp(before.values.data(), model.values.data(),
                             model.values.size() * sizeof(float)));
    EXPECT_EQ(0, std::memcmp(moments.data(), adam.state().moments.data(),
                             moments.size() * sizeof(float)));
}

TEST(LazyAdam, SourceReadsWhatFlushStores) {
    GaussianModel model = random_model();
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    for (int step = 0; step < 33; ++step) run_step(model, adam, step, nullptr);
    LazySource source(model, adam, 3);
    std::vector<float> seen;
    alignas(64) float scratch[48 * kBlock];
    for (std::size_t block = 0; block < model.blocks(); ++block) {
        const BlockView geometry = source.geometry(block, scratch);
        for (std::size_t p = 0; p < kGeometryPlanes; ++p)
            seen.insert(seen.end(), geometry.planes + p * geometry.stride,
                        geometry.planes + p * geometry.stride + kBlock);
        const BlockView sh = source.sh(block, scratch);
        for (std::size_t p = 0; p < 48; ++p)
            seen.insert(seen.end(), sh.planes + p * sh.stride, sh.planes + p * sh.stride + kBlock);
    }
    adam.flush(model);
    std::size_t at = 0;
    for (std::size_t block = 0; block < model.blocks(); ++block)
        for (int p = 0; p < model.planes(); ++p)
            for (std::size_t lane = 0; lane < kBlock; ++lane)
                ASSERT_EQ(seen[at++], model.at(p, block * kBlock + lane));
}

TEST(LazyAdam, PoisonGradientsAreLeftOut) {
    GaussianModel model = random_model();
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    adam.begin_step(model, rates_at(0), model.planes());
    BlockGradients g{};
    g.mask = 0xff;
    for (auto& plane : g.planes) std::fill(std::begin(plane), std::end(plane), 1.0f);
    g.planes[20][2] = std::nanf("");
    g.planes[0][3] = -INFINITY;
    g.planes[58][7] = 1e30f;
    const GaussianModel before = model;
    EXPECT_EQ(adam.apply(model, g), (1u << 2) | (1u << 3) | (1u << 7));
    adam.end_step();
    for (const std::size_t lane : {2u, 3u, 7u, 9u})
        for (int p = 0; p < model.planes(); ++p) EXPECT_EQ(model.at(p, lane), before.at(p, lane));
    for (int p = 0; p < model.planes(); ++p) EXPECT_NE(model.at(p, 1), before.at(p, 1));
}

TEST(LazyAdam, ASteppedBlockIsCurrentButForItsLockedLanes) {
    GaussianModel model = random_model();
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    for (int step = 0; step < 5; ++step) run_step(model, adam, step, nullptr);
    BlockGradients g{};
    g.mask = 0x0f;
    for (auto& plane : g.planes) std::fill(std::begin(plane), std::end(plane), 0.5f);
    const auto step_with = [&](std::uint32_t locked) {
        adam.begin_step(model, rates_at(5), model.planes());
        EXPECT_EQ(adam.apply(model, g, locked), 0u);
        adam.end_step();
    };
    step_with(0);
    EXPECT_TRUE(adam.current(0)) << "lanes that were not seen also took the step";
    const float before = model.at(0, 1);
    step_with(2);
    EXPECT_FALSE(adam.current(0));
    EXPECT_EQ(model.at(0, 1), before);
}

TEST(LazyAdam, BoundsHoldSleepers) {
    GaussianModel model = random_model();
    for (int axis = 0; axis < 3; ++axis)
        for (std::size_t i = 0; i < model.count; ++i) model.at(kLogScales + axis, i) -= 4.0f;
    AdamState state = initial_adam_state(model);
    LazyAdam adam(model, state);
    for (int step = 0; step < 300; ++step) {
        run_step(model, adam, step, nullptr);
        adam.begin_step(model, rates_at(step + 1), model.planes());
        ASSERT_EQ(adam.bounds().size(), model.blocks());
        for (std::size_t row = 0; row < model.count; ++row) {
            const BlockBounds b = adam.bounds()[row / kBlock];
            alignas(64) float now[kGeometryPlanes * kBlock];
            adam.read(model, row / kBlock, 0, kGeometryPlanes, now);
            const auto at = [&](int p) {
                return static_cast<double>(
                    now[static_cast<std::size_t>(p) * kBlock + row % kBlock]);
            };
            const double sigma =
                std::exp(std::max({at(kLogScales), at(kLogScales + 1), at(kLogScales + 2)}));
            const double distance =
                std::hypot(at(0) - static_cast<double>(b.x), at(1) - static_cast<double>(b.y),
                           at(2) - static_cast<double>(b.z));
            ASSERT_LE(distance + 3.4 * sigma, static_cast<double>(b.radius))
                << "row " << row << " step " << step;
        }
    }
}

}  // namespace
}  // namespace gs
