// A PyTorch-like process whose kernels are known, given to a store in any order, and a model of
// what the store must know then.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "profiler/store/store.h"

namespace gs::testing {

constexpr std::uint32_t kPid = 50, kMain = 51, kAutograd = 52;
inline std::size_t at(Stage stage) { return static_cast<std::size_t>(stage); }

struct Numbers {
    explicit Numbers(std::uint64_t seed) : seed_(seed) {}
    std::uint64_t operator()(std::uint64_t below) {
        return random_bits(seed_, 9, count_++) % below;
    }
    template <class T>
    void shuffle(std::vector<T>& items, std::size_t window) {
        for (std::size_t i = 0; i + 1 < items.size(); ++i)
            std::swap(items[i], items[i + (*this)(std::min(window, items.size() - i))]);
    }

  private:
    std::uint64_t seed_, count_ = 0;
};

/// A PyTorch-like process: iterations with a forward range on the main thread, whose kernels are
/// launched there, and a backward range during which another thread, without ranges, launches.
struct Program {
    struct Range {
        std::int64_t begin, end;
        std::uint32_t name;
        int depth;
    };
    struct Launch {
        ApiCallEvent call;
        std::optional<ApiCallEvent> driver;
        std::vector<GpuWorkEvent> works;
    };
    std::vector<NameInfo> names{
        {1, "iteration"},        {2, "forward"},        {3, "backward"},
        {4, "cudaLaunchKernel"}, {5, "renderCUDA"},     {6, "adam_kernel"},
        {7, "cudaGraphLaunch"},  {8, "cuLaunchKernel"}, {9, "unknown_kernel"}};
    std::vector<Range> ranges;
    std::vector<Launch> launches;

    Program(std::uint64_t seed, int iterations) {
        Numbers number(seed);
        std::int64_t t = 1'000'000;
        std::int64_t busy[3] = {t, t, t};  // streams
        std::uint64_t correlation = 100;
        for (int i = 0; i < iterations; ++i) {
            const std::int64_t begin = t;
            for (const std::uint32_t half : {2u, 3u}) {
                const std::int64_t from = t += 50;
                for (std::uint64_t k = 2 + number(6); k-- > 0;) {
                    Launch launch;
                    const std::int64_t call = t += 10 + static_cast<std::int64_t>(number(100));
                    const bool graph = number(8) == 0;
                    t += 20 + static_cast<std::int64_t>(number(30));
                    launch.call = {call, t, ++correlation, half == 2 ? kMain : kAutograd,
                                   graph ? 7u : 4u};
                    if (!graph && number(2) == 0)
                        launch.driver =
                            ApiCallEvent{call + 3, t - 3, correlation, launch.call.tid, 8, 0, true};
                    const auto stream = static_cast<std::uint32_t>(number(3));
                    std::int64_t& free = busy[stream];
                    free = std::max(free, t) + static_cast<std::int64_t>(number(5));
                    const std::int64_t start = free;
                    for (std::uint64_t n = graph ? 3 : 1; n-- > 0;) {
                        GpuWorkEvent w;
                        // The nodes of a graph overlap.
                        w.begin_ns = start + (graph ? static_cast<std::int64_t>(n) * 7 : 0);
                        w.end_ns = w.begin_ns + 10 + static_cast<std::int64_t>(number(400));
                        free = std::max(free, w.end_ns);
                        w.correlation = correlation;
                        w.name = 5 + (number(3) == 0 ? 1u : 0u);
                        if (number(5) == 0) w.name = 9;
                        w.context = 1;
                        w.stream = stream;
                        w.grid[0] = static_cast<std::uint32_t>(correlation * 10 + n);
                        w.block[0] = 128;
                        w.graph = graph ? 5 : 0;
                        launch.works.push_back(w);
                    }
                    launches.push_back(launch);
                }
                t += 30;
                ranges.push_back({from, t, half, 1});
            }
            t += 40;
            ranges.push_back({begin, t, 1, 0});
            t += 5;
        }
    }
    const Range* range_at(std::int64_t time, int depth) const {
        for (const Range& r : ranges)
            if (r.depth == depth && r.begin <= time && time < r.end) return &r;
        return nullptr;
    }
};

inline TraceBatch first_batch(const Program& program) {
    return {.tracks = {{0, kPid, kMain, "main"}, {1, kPid, kAutograd, "autograd"}},
            .names = program.names,
            .source = 1,
            .pid = kPid,
            .process_name = "python",
            .read_ns = 1};
}

/// Hands the program to the store in pieces; ranges in their order, the rest displaced by up to
/// `window`.
inline TraceStore store_of(const Program& program, std::uint64_t seed, std::size_t window,
                           std::size_t pieces, TraceStoreOptions options = {.warm_up = 0}) {
    TraceStore store(options);
    store.ingest(first_batch(program));
    std::vector<GpuWorkEvent> works;
    std::vector<ApiCallEvent> calls;
    for (const Program::Launch& launch : program.launches) {
        works.insert(works.end(), launch.works.begin(), launch.works.end());
        calls.push_back(launch.call);
        if (launch.driver) calls.push_back(*launch.driver);
    }
    Numbers number(seed);
    number.shuffle(works, window);
    number.shuffle(calls, window);
    const auto part = [&](const auto& items, std::size_t piece, auto take) {
        for (std::size_t i = items.size() * piece / pieces; i < items.size() * (piece + 1) / pieces;
             ++i)
            take(items[i]);
    };
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        TraceBatch batch{.source = 1, .pid = kPid, .read_ns = static_cast<std::int64_t>(piece) + 2};
        part(program.ranges, piece, [&](const Program::Range& r) {
            batch.spans.push_back(
                {r.begin, r.end, 0, 0, r.name, static_cast<std::uint8_t>(r.depth), false});
        });
        part(works, piece, [&](const GpuWorkEvent& w) { batch.gpu_work.push_back(w); });
        part(calls, piece, [&](const ApiCallEvent& c) { batch.api_calls.push_back(c); });
        store.ingest(batch);
    }
    return store;
}

inline void expect_rows_in_order(const TraceStore& store) {
    std::uint64_t count = 0;
    for (const TraceTrack& track : store.tracks()) {
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            std::int64_t end = std::numeric_limits<std::int64_t>::min();
            for (const TraceSpan& span : track.rows[r].view()) {
                ASSERT_LE(end, span.begin_ns) << track.name << " " << r;
                ASSERT_LE(span.begin_ns, span.end_ns);
                end = span.end_ns;
                ++count;
            }
            if (track.kind != TrackKind::gpu_stream) continue;
            ASSERT_EQ(track.rows[r].size(), track.launches[r].size());
            ASSERT_EQ(track.rows[r].size(), track.works[r].size());
        }
    }
    EXPECT_EQ(count, store.span_count());
}

template <class F>
inline void each_work(const TraceStore& store, F f) {
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (std::size_t r = 0; r < store.tracks()[t].works.size(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view()) f(t, r, span);
}

inline void expect_as_in(const Program& program, const TraceStore& store) {
    expect_rows_in_order(store);
    EXPECT_EQ(store.timeline().misplaced(), 0u);
    std::map<std::uint32_t, const Program::Launch*> launch_of_grid;
    std::map<std::uint32_t, const GpuWorkEvent*> work_of_grid;
    for (const Program::Launch& launch : program.launches)
        for (const GpuWorkEvent& w : launch.works) {
            launch_of_grid[w.grid[0]] = &launch;
            work_of_grid[w.grid[0]] = &w;
        }
    std::set<std::uint32_t> seen;
    each_work(store, [&](std::size_t t, std::size_t r, const TraceSpan& span) {
        const GpuWork* work = store.tracks()[t].work_of(r, span);
        ASSERT_NE(work, nullptr);
        ASSERT_TRUE(seen.insert(work->grid[0]).second);
        ASSERT_TRUE(work_of_grid.contains(work->grid[0]));
        const GpuWorkEvent& model = *work_of_grid[work->grid[0]];
        const Program::Launch& launch = *launch_of_grid[work->grid[0]];
        EXPECT_EQ(span.begin_ns, model.begin_ns);
        EXPECT_EQ(span.end_ns, model.end_ns);
        EXPECT_EQ(store.tracks()[t].stream, model.stream);
        EXPECT_EQ(store.name(span.name), program.names[model.name - 1].text);
        const auto by = store.timeline().launching_span(t, r, span);
        ASSERT_NE(by.span, nullptr);
        EXPECT_EQ(by.span->begin_ns, launch.call.begin_ns);
        EXPECT_EQ(by.row, 0u);  // the runtime's call, not the driver's inside it
        EXPECT_EQ(store.tracks()[by.track].tid, launch.call.tid);
        EXPECT_EQ(store.tracks()[by.track].kind, TrackKind::api);
        const auto range = range_of(store, t, r, span);
        const Program::Range* const expected = program.range_at(launch.call.begin_ns, 1);
        ASSERT_NE(expected, nullptr);
        ASSERT_NE(range.span, nullptr);
        EXPECT_EQ(range.span->begin_ns, expected->begin);
        EXPECT_EQ(range.inferred, launch.call.tid == kAutograd);
        EXPECT_EQ(range.track, 0u);
    });
    EXPECT_EQ(seen.size(), work_of_grid.size());
}

inline void expect_frames_as_in(const Program& program, const TraceStore& store) {
    const auto frames = store.frames().history(StatScope::iteration);
    std::size_t f = 0;
    for (const Program::Range& range : program.ranges) {
        if (range.depth != 0) continue;
        ASSERT_LT(f, frames.size());
        std::array<double, kStageCount> ns{};
        std::uint32_t calls = 0;
        for (const Program::Launch& launch : program.launches) {
            if (launch.call.begin_ns < range.begin || launch.call.begin_ns > range.end) continue;
            for (const GpuWorkEvent& w : launch.works) {
                const Stage stage = w.name == 5   ? Stage::blend
                                    : w.name == 6 ? Stage::adam
                                                  : Stage::other;
                ns[at(stage)] += static_cast<double>(w.end_ns - w.begin_ns);
                ++calls;
            }
        }
        EXPECT_EQ(frames[f].number, f);
        for (const Stage stage : {Stage::blend, Stage::adam, Stage::other})
            EXPECT_NEAR(static_cast<double>(frames[f].gpu_ms[at(stage)]), ns[at(stage)] * 1e-6,
                        1e-9)
                << f;
        EXPECT_EQ(std::accumulate(frames[f].gpu_calls.begin(), frames[f].gpu_calls.end(), 0u),
                  calls);
        ++f;
    }
    EXPECT_EQ(f, frames.size());
}

}  // namespace gs::testing
