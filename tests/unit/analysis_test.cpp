// Intervals, iterations under the names that trainers give them, breakdowns against numbers worked
// out by hand, and the occupancy of kernels against CUDA's published calculator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "profiler/analysis/breakdown.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/occupancy.h"
#include "profiler/analysis/pauses.h"
#include "profiler/analysis/span_summary.h"
#include "tests/unit/trace_maker.h"

namespace gs {
namespace {

using namespace test;

TEST(Intervals, OperationsAgreeWithCountingMoments) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        constexpr int kEnd = 120;
        std::vector<Intervals> sets(5);
        std::vector<std::vector<bool>> bits(5, std::vector<bool>(kEnd));
        for (std::size_t s = 0; s < sets.size(); ++s)
            for (int t = 0; t < kEnd; t += static_cast<int>(random() % 9)) {
                const int length = static_cast<int>(random() % 7);
                append(sets[s], {t, std::min(kEnd, t + length)});
                for (int i = t; i < std::min(kEnd, t + length); ++i)
                    bits[s][static_cast<std::size_t>(i)] = true;
                t += length;
            }
        const auto count = [&](auto&& holds) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < kEnd; ++i) sum += holds(i);
            return sum;
        };
        const Intervals both = union_of(sets[0], sets[1]), all = union_of(sets);
        EXPECT_EQ(length_of(both), count([&](std::size_t i) { return bits[0][i] || bits[1][i]; }));
        EXPECT_EQ(length_of(all), count([&](std::size_t i) {
                      return bits[0][i] || bits[1][i] || bits[2][i] || bits[3][i] || bits[4][i];
                  }));
        EXPECT_EQ(length_of(intersection_of(sets[0], sets[1])),
                  count([&](std::size_t i) { return bits[0][i] && bits[1][i]; }));
        EXPECT_EQ(length_of(gaps_of(sets[2], {10, 90})),
                  count([&](std::size_t i) { return i >= 10 && i < 90 && !bits[2][i]; }));
        EXPECT_EQ(length_within(sets[2], {10, 90}), length_of(clipped(sets[2], {10, 90})));
        EXPECT_EQ(length_within(sets[2], {10, 90}) + length_of(gaps_of(sets[2], {10, 90})), 80);
        for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].end, all[i].begin);
    }
}

TEST(Totals, SpansWhoseParentWasLostOrIsStillOpenCountToo) {
    TraceMaker maker;
    maker.range(1, "forward", 0, 10, 1);  // its iteration was lost
    maker.range(1, "blend", 22, 24, 2);
    maker.range(1, "forward", 20, 30, 1);
    maker.range(1, "iteration", 15, 40);
    maker.range(1, "forward", 50, 60, 1);  // its iteration is still open
    maker.call(1, "cuLaunchKernel", 51, 53, 1);
    maker.batch.api_calls.back().driver = true;  // with no call of the runtime around it
    maker.copy(60, 70, 4096, MemoryType::pinned, MemoryType::device, 1);
    TraceStore store = maker.store();
    std::map<std::string_view, NameFigures> by_name;
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const NameFigures& f : totals_by_name(store)) {
        EXPECT_TRUE(by_name.emplace(store.name(f.name), f).second);
        EXPECT_LE(f.total_ns, before);
        before = f.total_ns;
    }
    ASSERT_EQ(by_name.size(), 5u);
    EXPECT_EQ(by_name["forward"].count, 3u);
    EXPECT_EQ(by_name["forward"].total_ns, 30'000);
    EXPECT_EQ(by_name["forward"].self_ns, 28'000);
    EXPECT_EQ(by_name["iteration"].self_ns, 15'000);
    EXPECT_EQ(by_name["cuLaunchKernel"].total_ns, 2'000);
    const NameFigures& copy = by_name["copy host to device"];
    EXPECT_EQ(copy.work, GpuWorkKind::copy);
    EXPECT_EQ(copy.bytes, 4096u);
}

Iterations named(const std::vector<std::string>& names, bool payload = false) {
    TraceMaker maker;
    for (std::size_t i = 0; i < names.size(); ++i)
        maker.range(1, names[i], 1000.0 * static_cast<double>(i),
                    1000.0 * static_cast<double>(i) + 900, 0,
                    payload ? static_cast<long>(100 + i) : -1);
    TraceStore store = maker.store();
    return find_iterations(store, 0);
}

TEST(Totals, SpansOfOneMomentAllCount) {
    // A counter of 25 MHz gives many short ranges the same time, and a walk rests every 4,096.
    constexpr std::int64_t kCount = 20'000, kAtOneTime = 7;
    TraceMaker maker;
    for (std::int64_t i = 0; i < kCount; ++i) {
        const std::int64_t at = i / kAtOneTime;
        maker.range(1, "short", static_cast<double>(at), static_cast<double>(at));
    }
    TraceStore store = maker.store();
    const auto totals = totals_by_name(store);
    ASSERT_EQ(totals.size(), 1u);
    EXPECT_EQ(totals[0].count, static_cast<std::uint64_t>(kCount));
}

TEST(Iterations, NamesThatTrainersUse) {
    const Iterations grendel = named({"iteration[4,8)", "iteration[8,12)", "iteration[12,16)"});
    ASSERT_EQ(grendel.items.size(), 3u);
    EXPECT_EQ(grendel.items[0].number, 4u);
    EXPECT_EQ(grendel.items[2].number, 12u);
    EXPECT_EQ(grendel.how, "ranges called 'iteration'");
    EXPECT_FALSE(grendel.inferred);
    const Iterations torch = named({"ProfilerStep#7", "ProfilerStep#8"});
    ASSERT_EQ(torch.items.size(), 2u);
    EXPECT_EQ(torch.items[1].number, 8u);
    EXPECT_EQ(torch.name, "ProfilerStep");
    const Iterations gsplat =
        named({"iteration", "iteration", "iteration"}, true);  // python's nvtx, payload: index
    ASSERT_EQ(gsplat.items.size(), 3u);
    EXPECT_EQ(gsplat.items[2].number, 102u);
    EXPECT_EQ(named({"train_step", "train_step"}).items.size(), 2u);
    EXPECT_EQ(named({"Training Step 5", "Training Step 6"}).items[1].number, 6u);
    // An optimizer's step is no iteration.
    EXPECT_TRUE(named({"Optimizer.step#Adam.step", "Optimizer.step#Adam.step"}).items.empty());
}

TEST(Iterations, OfSeveralNamesTheLoopsOwn) {
    TraceMaker maker;
    for (int i = 0; i < 6; ++i) {
        const double t = 1000 * i;
        for (int k = 0; k < 4; ++k)
            maker.range(1, "step", t + 200 * k, t + 200 * k + 150, 2);  // accumulation
        maker.range(1, "iteration", t, t + 950, 1, i);
        maker.range(2, "iteration", t, t + 30, 0, i);  // another thread's, short
    }
    maker.range(1, "iteration", 0, 6000, 0);  // around the whole loop, under the same name
    TraceStore store = maker.store();
    const Iterations found = find_iterations(store, 0);
    ASSERT_EQ(found.items.size(), 6u);
    EXPECT_EQ(found.items[3].number, 3u);
    EXPECT_NEAR(found.items[3].milliseconds(), 0.95, 1e-9);
}

// What the store takes for a frame when it ends is what is found when all has been seen.
TEST(Iterations, FramesOfTheStoreAreTheSame) {
    TraceMaker maker;
    for (int i = 0; i < 6; ++i) {
        const double t = 1000 * i;
        maker.range(1, "step", t, t + 900, 1, 7 + i);
        maker.batch.spans.back().payload_kind = PayloadKind::signed_whole;
        maker.range(1, "step", t + 910, t + 990, 2);  // deeper, in what is no step
        maker.range(1, "save", t + 905, t + 995, 1);
    }
    maker.range(1, "iteration", 0, 6000, 0);  // around the whole loop, under a better name
    TraceStore store = maker.store();
    const Iterations found = find_iterations(store, 0);
    const auto frames = store.frames().history(StatScope::iteration);
    ASSERT_EQ(found.items.size(), 6u);
    ASSERT_EQ(frames.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(frames[i].begin_ns, found.items[i].begin_ns);
        EXPECT_EQ(frames[i].number, 7 + i);
        EXPECT_EQ(found.items[i].number, 7 + i);
    }
    EXPECT_EQ(store.frames().iterations_on(0), found.track);
    // A part of the trace knows the rows, too; what recurs is asked of what it holds.
    const TraceStore part = store.excerpt(frames[2].begin_ns, frames[4].end_ns);
    EXPECT_EQ(find_iterations(part, 0).items.size(), 3u);
}

TEST(Iterations, FramesOfThreadsThatDoTheSameAllCount) {
    TraceMaker maker;
    for (int i = 0; i < 6; ++i)  // a thread for each two
        maker.range(static_cast<std::uint32_t>(1 + i / 2), "iteration", 1000 * i, 1000 * i + 900);
    TraceStore store = maker.store();
    EXPECT_EQ(store.frames().history(StatScope::iteration).size(), 6u);
}

TEST(Iterations, RangesOnAGpuStreamAreNone) {
    TraceMaker maker;
    for (int i = 0; i < 6; ++i) maker.range(1, "iteration", 1000 * i, 1000 * i + 900);
    maker.batch.tracks[0].kind = TrackKind::gpu_stream;
    TraceStore store = maker.store();
    EXPECT_TRUE(store.frames().history(StatScope::iteration).empty());
    EXPECT_TRUE(store.frames().iteration_rows(0).empty());
}

TEST(Iterations, OfEachProcessItsOwn) {
    TraceStore store;
    for (std::uint32_t p = 0; p < 3; ++p) {
        TraceMaker maker(100 + p);
        for (int i = 0; i < static_cast<int>(5 + p); ++i)
            maker.range(1, "iteration", 100 * i, 100 * i + 90, 0, i);
        maker.into(store);
    }
    for (std::uint32_t p = 0; p < 3; ++p) {
        const Iterations found = find_iterations(store, p);
        EXPECT_EQ(found.process, p);
        EXPECT_EQ(found.items.size(), 5u + p);
    }
    EXPECT_TRUE(find_iterations(store, 3).items.empty());
}

TEST(Iterations, StartEndRangesThatOverlap) {
    TraceMaker maker;
    for (int i = 0; i < 5; ++i) {
        maker.batch.async_spans.push_back(
            {.begin_ns = TraceMaker::ns(1000 * i),
             .end_ns = TraceMaker::ns(1000 * i + (i == 2 ? 1500 : 900)),
             .track = maker.thread(1),
             .name = maker.name("iteration")});
    }
    TraceStore store = maker.store();
    const Iterations found = find_iterations(store, 0);
    ASSERT_EQ(found.items.size(), 4u);  // the fourth begins inside the third
    for (std::size_t i = 1; i < found.items.size(); ++i)
        EXPECT_GE(found.items[i].begin_ns, found.items[i - 1].end_ns);
}

TEST(Iterations, InferredFromWhatRecursOnAThread) {
    TraceMaker maker;
    double t = 0;
    for (int i = 0; i < 12; ++i) {
        maker.range(1, "forward", t, t + 300, 1);
        maker.range(1, "backward", t + 310, t + 800, 1);
        maker.range(1, "optimizer", t + 810, t + 900, 1);
        if (i == 7) maker.range(1, "save", t + 910, t + 960, 1);
        t += 1000;
    }
    maker.range(1, "main", 0, t, 0);
    TraceStore store = maker.store();
    const Iterations found = find_iterations(store, 0);
    ASSERT_EQ(found.items.size(), 12u);  // all that a turn consists of came after the last begin
    EXPECT_NEAR(found.items.back().milliseconds(), 0.9, 1e-9);
    EXPECT_TRUE(found.inferred);
    EXPECT_EQ(found.name, "forward");
    EXPECT_NEAR(found.items[0].milliseconds(), 1.0, 1e-9);  // from one forward pass to the next
    EXPECT_EQ(found.track, 0u);
}

TEST(Iterations, InferredFromKernels) {
    Loop loop;
    TraceMaker maker = make_loop(loop);
    maker.batch.spans.clear();
    maker.kernel("evaluate", 50'000, 50'100);
    TraceStore store = maker.store();
    const Iterations found = find_iterations(store, 0);
    EXPECT_TRUE(found.inferred);
    EXPECT_EQ(found.track, kNoTrack);
    EXPECT_EQ(found.items.size(), 19u);
    EXPECT_EQ(found.name, "identifyTileRanges");  // the only one that comes once an iteration
    EXPECT_NEAR(found.items[4].milliseconds(), 10.0, 1e-6);
    // Nothing recurs in noise.
    TraceMaker noise;
    std::mt19937 random(5);
    double t = 0;
    for (int i = 0; i < 50; ++i) {
        t += std::pow(1.5, random() % 30);
        noise.kernel("k" + std::to_string(random() % 3), t, t + 1);
        t += 1;
    }
    TraceStore noisy = noise.store();
    EXPECT_TRUE(find_iterations(noisy, 0).items.empty());
}

TEST(Breakdown, APauseOfTheRecordingIsNeitherBusyNorIdle) {
    TraceMaker maker;
    maker.range(1, "iteration", 0, 1000, 0, 1);
    maker.range(1, "iteration", 1000, 1500, 0, 2);
    maker.kernel("renderCUDA", 100, 500);  // recorded to its end, though the pause began earlier
    maker.kernel("renderCUDA", 850, 900);
    maker.batch.pauses = {{TraceMaker::ns(400), TraceMaker::ns(600), true, true},
                          {TraceMaker::ns(600), TraceMaker::ns(800), true, true},
                          {TraceMaker::ns(800), TraceMaker::ns(825), true, false}};
    TraceStore store = maker.store();
    EXPECT_EQ(store.processes()[0].pauses.size(), 2u);
    const Breakdown b = break_down(store, 0, TraceMaker::ns(0), TraceMaker::ns(1000), 0);
    EXPECT_NEAR(b.wall_ms, 1.0, 1e-9);
    EXPECT_NEAR(b.watched_ms, 0.6, 1e-9);
    EXPECT_NEAR(b.busy_ms, 0.35, 1e-9);
    EXPECT_NEAR(b.idle_ms, 0.25, 1e-9);
    EXPECT_TRUE(
        std::isnan(break_down(store, 0, TraceMaker::ns(500), TraceMaker::ns(700), 0).idle_ms));
    Iterations found = find_iterations(store, 0);
    EXPECT_EQ(found.items.size(), 2u);  // each was recorded whole
    keep_whole(store, found);           // but not the GPU's work in the first
    ASSERT_EQ(found.items.size(), 1u);
    EXPECT_EQ(found.items[0].number, 2u);
}

TEST(Iterations, AreNotJoinedAcrossAPause) {
    TraceMaker maker;
    double t = 0;
    for (int part = 0; part < 5; ++part) {
        for (int i = 0; i < 3; ++i, t += 1000) maker.range(1, "forward", t, t + 300);
        maker.batch.pauses.push_back(
            {TraceMaker::ns(t + 10), TraceMaker::ns(t + 40'000), true, part % 2 == 0});
        t += 40'500;
    }
    TraceStore store = maker.store();
    const Iterations found = find_iterations(store, 0);
    ASSERT_EQ(found.items.size(), 10u);
    for (const Iteration& i : found.items) EXPECT_NEAR(i.milliseconds(), 1.0, 1e-9);
}

TEST(Breakdown, AgainstNumbersWorkedOutByHand) {
    TraceMaker maker;
    maker.range(1, "sort", 200, 300, 2);
    maker.range(1, "blend", 100, 500, 1);
    maker.range(1, "iteration", 0, 1000, 0, 1);
    maker.call(1, "cudaLaunchKernel", 100, 110, 1);
    maker.call(1, "cudaStreamSynchronize", 600, 800, 2);
    maker.call(2, "cudaDeviceSynchronize", 700, 900, 3);
    maker.kernel("renderCUDA", 150, 450, 1);
    maker.kernel("DeviceRadixSort", 400, 500).stream = 8;  // beside it, on another stream
    maker.kernel("renderCUDA", 900, 1100).stream = 8;      // half of it is the next one's
    maker.copy(480, 580, 1 << 20, MemoryType::pinned, MemoryType::device);
    TraceStore store = maker.store();
    const Breakdown b = break_down(store, 0, TraceMaker::ns(0), TraceMaker::ns(1000), 0);
    const auto at = [](Stage s) { return static_cast<std::size_t>(s); };
    EXPECT_NEAR(b.wall_ms, 1.0, 1e-9);
    EXPECT_NEAR(b.gpu_ms[at(Stage::blend)], 0.4, 1e-9);
    EXPECT_NEAR(b.gpu_ms[at(Stage::sort)], 0.1, 1e-9);
    EXPECT_EQ(b.gpu_calls[at(Stage::blend)], 2u);
    EXPECT_NEAR(b.kernel_ms, 0.35 + 0.1, 1e-9);
    EXPECT_NEAR(b.copy_ms, 0.1, 1e-9);
    EXPECT_NEAR(b.copy_alone_ms, 0.08, 1e-9);
    EXPECT_NEAR(b.busy_ms, 0.53, 1e-9);
    EXPECT_NEAR(b.idle_ms, 0.47, 1e-9);
    EXPECT_NEAR(b.sync_ms, 0.3, 1e-9);
    EXPECT_NEAR(b.api_ms, 0.31, 1e-9);
    EXPECT_EQ(b.kernels, 3u);
    EXPECT_EQ(b.launches, 1u);
    EXPECT_NEAR(b.cpu_self_ms[at(Stage::sort)], 0.1, 1e-9);
    EXPECT_NEAR(b.cpu_self_ms[at(Stage::blend)], 0.3, 1e-9);
    EXPECT_NEAR(b.cpu_self_ms[at(Stage::iteration)], 0.6, 1e-9);
    const Breakdown none = break_down(store, 5, 0, 1000);
    EXPECT_FALSE(none.has_gpu);
    EXPECT_TRUE(std::isnan(none.idle_ms));
}

TEST(Breakdown, OfIterationsAddsUpToThatOfTheWhole) {
    Loop loop;
    loop.iterations = 9;
    const TraceStore store = store_of(loop);
    Iterations iterations = find_iterations(store, 0);
    for (std::size_t i = 0; i + 1 < iterations.items.size(); ++i)
        iterations.items[i].end_ns += 1000;  // no gap between
    const auto parts = break_down(store, iterations);
    const Breakdown whole =
        break_down(store, 0, iterations.items.front().begin_ns, iterations.items.back().end_ns, 0);
    const auto sum = [&](auto&& of) {
        return std::accumulate(parts.begin(), parts.end(), 0.0,
                               [&](double s, const Breakdown& b) { return s + of(b); });
    };
    EXPECT_NEAR(sum([](const Breakdown& b) { return b.busy_ms; }), whole.busy_ms, 1e-6);
    EXPECT_NEAR(sum([](const Breakdown& b) { return b.idle_ms; }), whole.idle_ms, 1e-6);
    EXPECT_NEAR(sum([](const Breakdown& b) { return b.api_ms; }), whole.api_ms, 1e-6);
    EXPECT_EQ(sum([](const Breakdown& b) { return b.kernels; }), whole.kernels);
    EXPECT_EQ(sum([](const Breakdown& b) { return b.launches; }), whole.launches);
    for (std::size_t s = 0; s < kStageCount; ++s)
        EXPECT_NEAR(sum([&](const Breakdown& b) { return b.gpu_ms[s]; }), whole.gpu_ms[s], 1e-6)
            << kStageNames[s];
}

GpuDeviceEvent device(int major, int minor, std::uint32_t sms, std::uint32_t warps,
                      std::uint32_t blocks, std::uint32_t shared) {
    return {.compute_major = major,
            .compute_minor = minor,
            .multiprocessors = static_cast<int>(sms),
            .warps_per_multiprocessor = warps,
            .blocks_per_multiprocessor = blocks,
            .registers_per_multiprocessor = 65536,
            .shared_per_multiprocessor = shared};
}

// Blocks per multiprocessor as CUDA 13.0's occupancy calculator (cuda_occupancy.h) gives them.
TEST(Occupancy, AgainstTheVendorsCalculator) {
    const GpuDeviceEvent v100 = device(7, 0, 80, 64, 32, 98304),
                         t4 = device(7, 5, 40, 32, 16, 65536),
                         a100 = device(8, 0, 108, 64, 32, 167936),
                         rtx3090 = device(8, 6, 82, 48, 16, 102400),
                         h100 = device(9, 0, 132, 64, 32, 233472),
                         rtx5090 = device(12, 0, 170, 48, 24, 102400);
    struct Case {
        const GpuDeviceEvent& device;
        KernelShape shape;
        std::uint32_t blocks;
        OccupancyLimit limit;
    };
    const Case cases[] = {
        {v100, {1000, 256, 32, 0}, 8, OccupancyLimit::warps},
        {v100, {1000, 256, 255, 0}, 1, OccupancyLimit::registers},
        {v100, {1000, 512, 40, 0}, 3, OccupancyLimit::registers},
        {v100, {1000, 128, 48, 16384}, 6, OccupancyLimit::shared_memory},
        {v100, {1000, 1024, 64, 0}, 1, OccupancyLimit::registers},
        {t4, {1000, 256, 32, 0}, 4, OccupancyLimit::warps},
        {t4, {1000, 256, 255, 0}, 1, OccupancyLimit::registers},
        {t4, {1000, 512, 40, 0}, 2, OccupancyLimit::warps},
        {t4, {1000, 128, 48, 16384}, 4, OccupancyLimit::shared_memory},
        {t4, {1000, 1024, 64, 0}, 1, OccupancyLimit::warps},
        {a100, {1000, 256, 32, 0}, 8, OccupancyLimit::warps},
        {a100, {1000, 256, 255, 0}, 1, OccupancyLimit::registers},
        {a100, {1000, 512, 40, 0}, 3, OccupancyLimit::registers},
        {a100, {1000, 128, 48, 16384}, 9, OccupancyLimit::shared_memory},
        {a100, {1000, 1024, 64, 0}, 1, OccupancyLimit::registers},
        {rtx3090, {1000, 256, 32, 0}, 6, OccupancyLimit::warps},
        {rtx3090, {1000, 256, 255, 0}, 1, OccupancyLimit::registers},
        {rtx3090, {1000, 512, 40, 0}, 3, OccupancyLimit::warps},
        {rtx3090, {1000, 128, 48, 16384}, 5, OccupancyLimit::shared_memory},
        {rtx3090, {1000, 1024, 64, 0}, 1, OccupancyLimit::warps},
        {h100, {1000, 256, 32, 0}, 8, OccupancyLimit::warps},
        {h100, {1000, 256, 255, 0}, 1, OccupancyLimit::registers},
        {h100, {1000, 512, 40, 0}, 3, OccupancyLimit::registers},
        {h100, {1000, 128, 48, 16384}, 10, OccupancyLimit::registers},
        {h100, {1000, 1024, 64, 0}, 1, OccupancyLimit::registers},
        {rtx5090, {1000, 256, 32, 0}, 6, OccupancyLimit::warps},
        {rtx5090, {1000, 256, 255, 0}, 1, OccupancyLimit::registers},
        {rtx5090, {1000, 512, 40, 0}, 3, OccupancyLimit::warps},
        {rtx5090, {1000, 128, 48, 16384}, 5, OccupancyLimit::shared_memory},
        {rtx5090, {1000, 1024, 64, 0}, 1, OccupancyLimit::warps},
    };
    for (const Case& c : cases) {
        const Occupancy o = occupancy_of(c.shape, c.device);
        EXPECT_EQ(o.blocks_per_multiprocessor, c.blocks)
            << c.device.compute_major << "." << c.device.compute_minor << " "
            << c.shape.threads_per_block << " threads";
        EXPECT_EQ(name_of(o.limit), std::string(name_of(c.limit)))
            << c.device.compute_major << "." << c.device.compute_minor << " "
            << c.shape.threads_per_block << " threads";
    }
}

TEST(Occupancy, WavesAndWhatIsNotKnown) {
    const GpuDeviceEvent h100 = device(9, 0, 132, 64, 32, 233472);
    const Occupancy full = occupancy_of({132 * 8 * 3, 256, 32, 0}, h100);
    EXPECT_DOUBLE_EQ(full.share, 1.0);
    EXPECT_DOUBLE_EQ(full.waves, 3.0);
    EXPECT_DOUBLE_EQ(full.used_share, 1.0);
    const Occupancy small = occupancy_of({33, 256, 32, 0}, h100);
    EXPECT_DOUBLE_EQ(small.used_share, 0.25);
    EXPECT_EQ(occupancy_of({0, 256, 32, 0}, h100).share, 0);
    EXPECT_EQ(occupancy_of({10, 256, 32, 0}, {}).share, 0);
    EXPECT_EQ(occupancy_of({10, 1024, 255, 0}, h100).share,
              0);  // cannot run: too many registers for a block
}

}  // namespace
}  // namespace gs
