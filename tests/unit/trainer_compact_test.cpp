// Moments in 16 bits (--compact-moments): what codes hold, that rounding adds nothing on average,
// the vector code against the scalar one, runs that resume and do not depend on threads or ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "base/parallel.h"
#include "base/rng.h"
#include "renderer/math/adam_code.h"
#include "small_run.h"
#include "tests/support/thread_exchange.h"
#include "tests/unit/io_files.h"
#include "trainer/density/row_arrays.h"
#include "trainer/density/run_edit.h"
#include "trainer/ranks/rank_training.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using gs::testing::busy_settings;
using gs::testing::small_capture;
using math::AdamMoments;
using math::decode_moments;
using math::encode_moments;
using math::RatioCode;
using math::SquareCode;

double ratio_of(AdamMoments x) {
    return static_cast<double>(x.m) / std::sqrt(static_cast<double>(x.v));
}

TEST(AdamCode, EveryValueIsItsOwnCodeHoweverItIsRounded) {
    float before = -1;
    for (std::uint32_t code = 0; code <= SquareCode::kMost; ++code) {
        const float x = SquareCode::value(code);
        EXPECT_GT(x, before);
        before = x;
        for (const std::uint32_t random : {0u, 0x12345678u, ~0u})
            EXPECT_EQ(SquareCode::code(x, random), code);
    }
    for (std::uint32_t code = 0; code <= RatioCode::kMost; ++code)
        for (const std::uint32_t random : {0u, ~0u})
            EXPECT_EQ(RatioCode::code(RatioCode::value(code), random), code);
    EXPECT_EQ(SquareCode::value(0), 0.0f);
    EXPECT_LT(SquareCode::value(1), 1e-21f);
    EXPECT_GT(SquareCode::value(SquareCode::kMost), 0.05f);
    EXPECT_GT(RatioCode::value(RatioCode::kMost), 7.28f) << "the largest ratio there is";
}

TEST(AdamCode, ZeroIsZeroAndExtremesAreHeld) {
    for (const std::uint32_t random : {0u, 0x9abcdef0u, ~0u}) {
        EXPECT_EQ(encode_moments({0, 0}, random), 0u);
        EXPECT_EQ(encode_moments({-0.0f, 0}, random), 0u);
        const AdamMoments most = decode_moments(encode_moments({-1e14f, 1e30f}, random));
        EXPECT_EQ(most.v, SquareCode::value(SquareCode::kMost));
        EXPECT_FLOAT_EQ(most.m, -RatioCode::value(RatioCode::kMost) * std::sqrt(most.v));
        // What v is too small for has no first moment, which sleepers would divide by it.
        const AdamMoments least = decode_moments(encode_moments({1e-18f, 1e-36f}, random));
        EXPECT_TRUE(least.v == 0 ? least.m == 0 : least.v == SquareCode::value(1));
    }
    EXPECT_EQ(decode_moments(0).m, 0.0f);
    EXPECT_EQ(decode_moments(0).v, 0.0f);
}

TEST(AdamCode, IsRightOnAverage) {
    constexpr std::uint32_t kDraws = 40'000;
    for (const double v : {2e-20, 1.1e-17, 2.7e-9, 1e-4, 0.03})
        for (const double ratio : {-6.9, -0.37, 0.001, 0.09, 1.3}) {
            const AdamMoments given{static_cast<float>(ratio * std::sqrt(v)),
                                    static_cast<float>(v)};
            double m = 0, square = 0;
            std::set<std::uint32_t> seen;
            for (std::uint32_t i = 0; i < kDraws; ++i) {
                const std::uint32_t code = encode_moments(given, math::hash32(i));
                const AdamMoments got = decode_moments(code);
                m += static_cast<double>(got.m) / kDraws;
                square += static_cast<double>(got.v) / kDraws;
                seen.insert(code & SquareCode::kMost);
                ASSERT_NEAR(static_cast<double>(got.v), v, 0.15 * v);
                ASSERT_NEAR(ratio_of(got), ratio, 1.0 / 250 + 0.15 * std::abs(ratio));
            }
            EXPECT_LE(seen.size(), 2u);
            // Of a uniform choice between neighbours the mean is this far off in one of 10,000.
            EXPECT_NEAR(square, v, 4 * 0.5 * 0.15 * v / std::sqrt(double{kDraws}));
            EXPECT_NEAR(m, static_cast<double>(given.m),
                        4 * 0.5 * (1.0 / 256 + 0.25 * std::abs(ratio)) * std::sqrt(v) /
                            std::sqrt(double{kDraws}));
        }
}

/// Two blocks, the last not full.
struct Small {
    GaussianModel model{25, 3};
    AdamState state;
    RowIdentity identity{25, model.capacity};

    explicit Small(bool compact, std::uint64_t seed = 7)
        : state(initial_adam_state(model, 1, compact)) {
        state.seed = seed;
        for (int p = 0; p < model.planes(); ++p)
            for (std::size_t i = 0; i < model.count; ++i)
                model.at(p, i) = random_uniform(1, static_cast<std::uint64_t>(p), i);
    }
    LazyAdam adam() { return {model, state, std::as_const(identity.tags).span()}; }
};
constexpr LearningRates kRates{1e-2, 5e-3, 1e-3, 2.5e-2, 2.5e-3, 1.25e-4};
float gradient(int step, int plane, std::size_t row) {
    const auto stream = static_cast<std::uint64_t>(64 * step + plane);
    return std::pow(10.0f, -6.0f * random_uniform(3, static_cast<std::uint64_t>(plane), row)) *
           (random_uniform(2, stream, row) - 0.4f);
}
/// A step that shows one row in `every`.
void step(Small& run, LazyAdam& adam, int number, std::uint32_t every) {
    adam.begin_step(run.model, kRates, run.model.planes());
    for (std::size_t block = 0; block < run.model.blocks(); ++block) {
        BlockGradients g{};
        g.block = block;
        for (std::size_t row = block * kBlock;
             row < std::min<std::size_t>(25, (block + 1) * kBlock); ++row) {
            if (random_bits(9, static_cast<std::uint64_t>(number), row) % every != 0) continue;
            g.mask |= 1u << row % kBlock;
            for (int p = 0; p < run.model.planes(); ++p)
                g.planes[p][row % kBlock] = gradient(number, p, row);
        }
        if (g.mask == 0) continue;
        EXPECT_EQ(adam.apply(run.model, g), 0u);
    }
    adam.end_step();
}

TEST(CompactMoments, VectorsDoWhatTheScalarsSay) {
    Small run(true);
    LazyAdam adam = run.adam();
    std::size_t other = 0, all = 0;
    for (int number = 0; number < 40; ++number) {
        const Buffer<std::uint16_t> before = run.state.codes;
        step(run, adam, number, 1);
        const float* rate = adam.rates();
        for (std::size_t row = 0; row < run.model.count; ++row)
            for (int p = 0; p < run.model.planes(); ++p) {
                const std::size_t at =
                    (row / kBlock * static_cast<std::size_t>(run.model.planes()) +
                     static_cast<std::size_t>(p)) *
                        kBlock +
                    row % kBlock;
                const auto [m, v] = decode_moments(before[at]);
                const auto next = math::adam_step<float>({0, m, v}, gradient(number, p, row),
                                                         rate[adam::group_of_plane(p)], 0.0f);
                const std::uint32_t bits = math::plane_rounding(
                    math::row_rounding(7, static_cast<std::uint32_t>(number) + 1,
                                       run.identity.tags[row]),
                    p);
                const std::uint32_t expected = encode_moments({next.m, next.v}, bits);
                // Where a sum rounds the other way, a draw at the edge may fall on either side.
                ++all;
                other += run.state.codes[at] == expected ? 0 : 1;
            }
    }
    EXPECT_LT(other, all / 2000) << "of " << all;
}

TEST(CompactMoments, RowsThatAreNotSeenAreNotRounded) {
    Small run(true);
    LazyAdam adam = run.adam();
    step(run, adam, 0, 1);
    std::size_t slept = 0;
    for (int number = 1; number < 8; ++number) {
        const Buffer<std::uint16_t> before = run.state.codes;
        step(run, adam, number, 3);
        for (std::size_t row = 0; row < run.model.count; ++row) {
            if (run.state.last_step[row] == run.state.steps) continue;
            ++slept;
            const std::size_t planes = static_cast<std::size_t>(run.model.planes());
            for (std::size_t p = 0; p < planes; ++p) {
                const std::size_t at = (row / kBlock * planes + p) * kBlock + row % kBlock;
                ASSERT_EQ(run.state.codes[at], before[at]) << "row " << row << ", plane " << p;
            }
        }
    }
    EXPECT_GT(slept, 80u);
    EXPECT_LT(slept, 7 * 25u);
}

TEST(CompactMoments, MovesAsFloatsDoOnAverage) {
    // Rows that are seen now and then, over a flush and the sleep after it: the mean over seeds is
    // where floats lead, within what 1 / sqrt(v) of a rounded v adds (the second order of an eighth
    // by its variance) and the spread of the seeds.
    constexpr int kSteps = 120, kSeeds = 64;
    const auto moved = [&](Small& run) {
        const GaussianModel start = run.model;
        LazyAdam adam = run.adam();
        for (int number = 0; number < kSteps; ++number) {
            step(run, adam, number, 4);
            if (number == 60) adam.flush(run.model);
        }
        adam.flush(run.model);
        std::vector<double> out;
        for (int p = 0; p < run.model.planes(); ++p)
            for (std::size_t row = 0; row < run.model.count; ++row)
                out.push_back(static_cast<double>(run.model.at(p, row)) -
                              static_cast<double>(start.at(p, row)));
        return out;
    };
    Small floats(false);
    const std::vector<double> truth = moved(floats);
    std::vector<double> mean(truth.size());
    for (int seed = 0; seed < kSeeds; ++seed) {
        Small run(true, static_cast<std::uint64_t>(seed));
        const std::vector<double> once = moved(run);
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += once[i] / kSeeds;
    }
    double way = 0, off = 0, along = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        way += truth[i] * truth[i];
        along += mean[i] * truth[i];
        off += (mean[i] - truth[i]) * (mean[i] - truth[i]);
    }
    EXPECT_NEAR(along / way, 1, 0.02);
    EXPECT_LT(std::sqrt(off / way), 0.05);
}

TEST(CompactMoments, ARowOfDegreeThreeTakes374Bytes) {
    TrainingSettings settings;
    const auto bytes = [&] {
        GaussianModel model(160, 3);
        const RunArrays run = new_run(std::move(model), settings);
        EXPECT_TRUE(consistent(run));
        return static_cast<double>(row_bytes(run)) / static_cast<double>(run.model.capacity);
    };
    EXPECT_EQ(bytes(), 728);
    settings.compact_moments = true;
    EXPECT_EQ(bytes(), 374);
}

TEST(CompactMoments, EditsClearAndMoveCodes) {
    TrainingSettings settings;
    settings.compact_moments = true;
    RunArrays run = new_run(GaussianModel(40, 1), settings);
    for (std::size_t i = 0; i < run.adam.codes.size(); ++i)
        run.adam.codes[i] = static_cast<std::uint16_t>(1 + i % 60000);
    const auto code = [&](std::size_t row, int plane) {
        return run.adam.codes[(row / kBlock * static_cast<std::size_t>(run.model.planes()) +
                               static_cast<std::size_t>(plane)) *
                                  kBlock +
                              row % kBlock];
    };
    const std::uint16_t other = code(20, kQuats);
    reset_opacity(run);
    EXPECT_EQ(code(20, kOpacityLogits), 0);
    EXPECT_EQ(code(20, kQuats), other);
    const std::uint32_t rows[] = {3, 20};
    lock_rows(run, rows, true);
    for (int p = 0; p < run.model.planes(); ++p) EXPECT_EQ(code(20, p), 0);
    EXPECT_NE(code(21, kQuats), 0);
    const std::uint16_t moves = code(30, kQuats);
    remove_rows(run, rows);
    EXPECT_EQ(code(28, kQuats), moves);
    const std::size_t capacity = run.model.capacity;
    grow_rows(run, 2 * capacity);
    EXPECT_EQ(code(28, kQuats), moves);
    EXPECT_EQ(code(capacity + 3, kQuats), 0);
}

std::string checkpoint_of(Trainer& trainer) {
    const TempFolder folder;
    EXPECT_TRUE(trainer.save_checkpoint(folder / "run.gsc"));
    std::ifstream in(folder / "run.gsc", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
TrainingSettings compact(StrategyKind kind = StrategyKind::adc) {
    TrainingSettings settings =
        with_setting(busy_settings(), *find_setting("strategy"), static_cast<double>(kind));
    settings.max_gaussians = 400;
    settings.compact_moments = true;
    return settings;
}
std::string straight(const TrainingSettings& settings, int steps) {
    auto trainer = Trainer::create(small_capture(), settings, make_cpu_training());
    EXPECT_TRUE(trainer);
    for (int i = 0; i < steps; ++i) (*trainer)->step();
    return checkpoint_of(**trainer);
}

TEST(CompactMoments, TheSameBitsOnAnyNumberOfThreadsAndResumed) {
    for (const StrategyKind kind : {StrategyKind::adc, StrategyKind::mcmc, StrategyKind::budget}) {
        SCOPED_TRACE(static_cast<int>(kind));
        set_thread_count(1);
        const std::string one = straight(compact(kind), 30);
        set_thread_count(3);
        EXPECT_TRUE(straight(compact(kind), 30) == one);
        set_thread_count(0);
        const TempFolder folder;
        auto half = Trainer::create(small_capture(), compact(kind), make_cpu_training());
        ASSERT_TRUE(half);
        for (int i = 0; i < 13; ++i) (*half)->step();
        ASSERT_TRUE((*half)->save_checkpoint(folder / "half.gsc"));
        auto rest = Trainer::resume(folder / "half.gsc", small_capture(), make_cpu_training());
        ASSERT_TRUE(rest) << rest.error().text();
        for (int i = 13; i < 30; ++i) (*rest)->step();
        EXPECT_TRUE(checkpoint_of(**rest) == one);
    }
}

TEST(CompactMoments, TheSameBitsOnAnyNumberOfRanks) {
    TrainingSettings settings = compact();
    settings.batch = 2;
    const std::string one = straight(settings, 24);
    for (const int ranks : {2, 3}) {
        gs::testing::ThreadHub hub(ranks);
        gs::testing::with_ranks(
            hub,
            [&](Exchange& own) {
                auto trainer = Trainer::create(small_capture(), settings, make_rank_training(own));
                ASSERT_TRUE(trainer) << trainer.error().text();
                for (int i = 0; i < 24; ++i) (*trainer)->step();
                EXPECT_TRUE(checkpoint_of(**trainer) == one) << ranks;
                dismiss_ranks(own);
            },
            [](Exchange& own) { serve_rank(own); });
    }
}

TEST(CompactMoments, CannotChangeInAResumedRun) {
    TrainingSettings settings = compact();
    EXPECT_FALSE(change_settings(settings, {{"compact_moments", 0}}));
}

}  // namespace
}  // namespace gs::test
