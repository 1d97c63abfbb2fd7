// CUPTI's records in CUPTI's order, which is none: the store against a simple slow model. Every
// piece of work must be there once, with its details, under the call that launched it, the range
// that call was in, and the iteration that range was in, in any order of arrival.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "profiler/store/iteration_name.h"
#include "profiler/store/store.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/gpu_program.h"

namespace gs {
namespace {

using namespace testing;

TEST(GpuStore, AgreesWithTheModelInAnyOrder) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Program program(seed, 60);
        for (const std::size_t window :
             {std::size_t{1}, std::size_t{10}, std::size_t{200}, std::size_t{100'000}}) {
            const TraceStore store = store_of(program, seed, window, 1 + seed * 7);
            expect_as_in(program, store);
            expect_frames_as_in(program, store);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(GpuStore, ForgettingKeepsDetailsWithTheirSpans) {
    const Program program(3, 2000);
    std::map<std::int64_t, std::set<std::uint64_t>> correlations;  // by begin
    std::map<std::uint64_t, std::int64_t> call_of;
    for (const Program::Launch& launch : program.launches) {
        call_of[launch.call.correlation] = launch.call.begin_ns;
        for (const GpuWorkEvent& w : launch.works) correlations[w.begin_ns].insert(w.correlation);
    }
    const TraceStore store = store_of(program, 3, 50, 200, {.max_spans = 5000, .warm_up = 0});
    EXPECT_LE(store.span_count(), 5000u);
    EXPECT_GT(store.timeline().forgotten(), 10'000u);
    expect_rows_in_order(store);
    std::size_t works = 0, tied = 0;
    each_work(store, [&](std::size_t t, std::size_t r, const TraceSpan& span) {
        const GpuWork* work = store.tracks()[t].work_of(r, span);
        ASSERT_TRUE(correlations[span.begin_ns].contains(work->correlation));
        const auto by = store.timeline().launching_span(t, r, span);
        ++works;
        if (by.span == nullptr) return;  // forgotten, being older
        EXPECT_EQ(by.span->begin_ns, call_of[work->correlation]);
        ++tied;
    });
    EXPECT_GT(works, 500u);
    EXPECT_GT(tied * 10, works * 9);
}

TEST(GpuStore, ProgramsWithoutCallsOrRangesStillShowTheirKernels) {
    TraceStore store;
    TraceBatch batch{.pid = 5, .read_ns = 1};
    batch.gpu_work.push_back({.begin_ns = 10,
                              .end_ns = 20,
                              .correlation = 4,
                              .bytes = 4096,
                              .device = 1,
                              .stream = 7,
                              .kind = GpuWorkKind::copy,
                              .source = MemoryType::pageable,
                              .target = MemoryType::device});
    store.ingest(batch);
    ASSERT_EQ(store.tracks().size(), 1u);
    const TraceSpan& span = store.tracks()[0].rows[0].view()[0];
    EXPECT_EQ(store.name(span.name), "copy pageable to device");
    EXPECT_EQ(store.tracks()[0].name, "GPU 1 stream 7");
    EXPECT_EQ(store.tracks()[0].work_of(0, span)->bytes, 4096u);
    EXPECT_EQ(store.timeline().launching_span(0, 0, span).span, nullptr);
    EXPECT_EQ(range_of(store, 0, 0, span).span, nullptr);
}

TEST(GpuStore, TwoRingsOfOneProcessAreOneProcess) {
    TraceStore store({.warm_up = 0});
    TraceBatch own, nvtx;
    own.read_ns = nvtx.read_ns = 1;
    own.pid = nvtx.pid = kPid;
    own.process_start = nvtx.process_start = 777;
    own.source = 1;
    nvtx.source = 2;
    own.names = {{1, "iteration"}};
    own.tracks = {{0, kPid, kMain, "engine"}};
    own.spans = {{0, 1000, 3, 0, 1, 0, true}};
    own.written = 10;
    own.loss.lapped = 1;
    nvtx.names = {{1, "library range"}, {2, "cudaLaunchKernel"}, {3, "renderCUDA"}};
    nvtx.tracks = {{0, kPid, kMain, "engine"}};
    nvtx.spans = {{100, 200, 0, 0, 1, 0, false}};
    nvtx.written = 20;
    nvtx.loss.dropped = 2;
    const auto launch = [&](std::int64_t t, std::uint64_t correlation) {
        nvtx.api_calls.push_back({t, t + 10, correlation, kMain, 2});
        GpuWorkEvent w{
            .begin_ns = 2000 + t, .end_ns = 2050 + t, .correlation = correlation, .name = 3};
        nvtx.gpu_work.push_back(w);
    };
    launch(150, 1);
    launch(300, 2);
    store.ingest(nvtx);
    store.ingest(own);
    ASSERT_EQ(store.processes().size(), 1u);
    EXPECT_EQ(store.processes()[0].written, 30u);
    EXPECT_EQ(store.processes()[0].loss.total(), 3u);
    EXPECT_EQ(store.sources().loss().total(), 3u);
    std::vector<std::string> names;
    each_work(store, [&](std::size_t t, std::size_t r, const TraceSpan& span) {
        const auto range = range_of(store, t, r, span);
        names.emplace_back(range.span == nullptr ? "none" : store.name(range.span->name));
        EXPECT_FALSE(range.inferred);
    });
    EXPECT_EQ(names, (std::vector<std::string>{"library range", "iteration"}));
    ASSERT_EQ(store.frames().history(StatScope::iteration).size(), 1u);
    EXPECT_EQ(store.frames().history(StatScope::iteration)[0].gpu_calls[at(Stage::blend)], 2u);
    // The same number at another time is another process, on another machine too.
    TraceBatch later = own;
    later.source = 3;
    later.process_start = 778;
    store.ingest(later);
    TraceBatch elsewhere = own;
    elsewhere.source = 1ull << 32 | 1;
    store.ingest(elsewhere);
    EXPECT_EQ(store.processes().size(), 3u);
}

TEST(GpuStore, AStageTimersOwnTimesAreNotCountedTwice) {
    TraceStore store({.warm_up = 0});
    TraceBatch batch{.tracks = {{0, kPid, kMain, "engine"},
                                {1, kPid, 0, "CUDA stream", false, TrackKind::gpu_stream}},
                     .names = {{1, "iteration"}, {2, "blend"}, {3, "cudaLaunchKernel"}},
                     .spans = {{0, 1'000'000, 0, 0, 1, 0, false}},
                     .api_calls = {{100, 200, 9, kMain, 3}},
                     .pid = kPid,
                     .read_ns = 1};
    GpuWorkEvent kernel{.begin_ns = 500'100, .end_ns = 1'499'000, .correlation = 9, .name = 2};
    batch.gpu_work = {kernel, stage_work({500'000, 1'500'000, 0, 1, 2, 0, false}, {0, 0, 0}, 1)};
    store.ingest(batch);
    EXPECT_NEAR(static_cast<double>(
                    store.frames().history(StatScope::iteration)[0].gpu_ms[at(Stage::blend)]),
                1.0, 1e-6);
    EXPECT_EQ(store.frames().gpu_statistics(StatScope::call)[0].calls, 1u);
}

TEST(GpuStore, OverlappingRangesSpreadOverRows) {
    TraceStore store;
    TraceBatch batch{.tracks = {{0, kPid, kMain, "main"}},
                     .names = {{1, "load"}, {2, "copy"}},
                     .pid = kPid,
                     .read_ns = 1};
    const auto add = [&](std::int64_t begin, std::int64_t end) {
        batch.async_spans.push_back({begin, end, 0, 0, 1, false});
    };
    add(10, 20);
    add(5, 30);
    add(22, 40);
    add(30, 35);
    store.ingest(batch);
    store.ingest({.async_spans = {{0, 100, 0, 0, 2, false}, {0, 4, 0, 0, 2, false}},
                  .pid = kPid,
                  .read_ns = 2});
    expect_rows_in_order(store);
    const auto track = std::ranges::find(store.tracks(), TrackKind::overlapping, &TraceTrack::kind);
    ASSERT_NE(track, store.tracks().end());
    std::vector<std::size_t> sizes;
    for (const auto& row : track->rows) sizes.push_back(row.size());
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 6u);
    EXPECT_LE(sizes.size(), 4u);
    EXPECT_EQ(store.timeline().misplaced(), 0u);
}

TEST(GpuStore, CountersAndStatisticsAreOfTheirProcess) {
    TraceStore store({.warm_up = 1});
    for (const std::uint32_t pid : {1u, 2u}) {
        TraceBatch batch{.tracks = {{0, pid, pid, "main"}},
                         .names = {{1, "iteration"}, {2, "loss"}},
                         .source = pid,
                         .pid = pid,
                         .read_ns = 1};
        for (std::int64_t i = 0; i < 3; ++i)
            batch.spans.push_back(
                {i * 100'000'000, i * 100'000'000 + pid * 1'000'000, 0, 0, 1, 0, false});
        batch.counters = {{1, pid * 0.5, 0, 2}};
        store.ingest(batch);
    }
    ASSERT_EQ(store.counters().size(), 2u);
    EXPECT_EQ(store.counters()[1].process, 1u);
    EXPECT_EQ(store.counters()[1].points.back().value, 1.0);
    EXPECT_NEAR(store.frames().statistics(StatScope::iteration, 100, 0)[0].mean_ms, 1, 1e-6);
    EXPECT_NEAR(store.frames().statistics(StatScope::iteration, 100, 1)[0].mean_ms, 2, 1e-6);
    EXPECT_EQ(store.frames().statistics(StatScope::iteration, 100)[0].samples,
              4u);  // each warms up by itself
    EXPECT_NEAR(store.frames().statistics(StatScope::call, 100, 1)[0].mean_ms, 2, 1e-6);
}

TEST(GpuStore, NamesOfDomainsAreTheirOwn) {
    TraceStore store;
    TraceBatch batch{
        .tracks = {{0, 1, 2, "main"}},
        .names = {{1, "render"},
                  {2, "render", "gsplat", 0x1FF0000},
                  {3, "slow", "gsplat", 0, 4},
                  {4, "blend", "mine"}},
        .spans = {{0, 1, 0, 0, 1, 0, false}, {1, 2, 0, 0, 2, 0, false}, {2, 3, 0, 0, 4, 0, false}},
        .pid = 1,
        .read_ns = 1};
    batch.spans[1].category = 4;
    batch.spans[1].payload = static_cast<std::uint64_t>(-3);
    batch.spans[1].has_payload = true;
    batch.spans[1].payload_kind = PayloadKind::signed_whole;
    store.ingest(batch);
    const auto row = store.tracks()[0].rows[0].view();
    EXPECT_EQ(store.name(row[0].name), "render");
    EXPECT_EQ(store.name(row[1].name), "render");
    EXPECT_NE(row[0].name, row[1].name);
    EXPECT_EQ(store.names().domain(row[1].name), "gsplat");
    EXPECT_EQ(store.names().color(row[1].name), 0x1FF0000u);
    EXPECT_EQ(store.names().category(row[1].name, row[1].category), "slow");
    EXPECT_EQ(store.names().category(row[0].name, row[0].category), "");
    EXPECT_EQ(payload_text(row[1]), "-3");
    EXPECT_EQ(store.names().stage(row[2].name), Stage::blend);
}

TEST(GpuStore, TheStageMapIsAskedOnceAndCanChange) {
    TraceStore store;
    TraceBatch batch{.names = {{1, "my_kernel"}}, .pid = 1, .read_ns = 1};
    GpuWorkEvent w{.begin_ns = 5, .end_ns = 5, .name = 1};
    batch.gpu_work = {w};
    store.ingest(batch);
    const std::uint32_t name = store.tracks()[0].rows[0].view()[0].name;
    EXPECT_EQ(store.names().gpu_stage(name), Stage::other);
    const test::TemporaryFolder folder;
    const fs::path file = folder / "stages.txt";
    ASSERT_TRUE(write_text_file(file, "my_ = blend\n"));
    StageMap map;
    ASSERT_TRUE(map.add_file(file));
    store.set_stage_map(std::move(map));
    EXPECT_EQ(store.names().gpu_stage(name), Stage::blend);
}

TEST(IterationName, KnowsWhatProgramsSay) {
    EXPECT_EQ(iteration_name("iteration").rank, kBestIterationRank);
    EXPECT_EQ(iteration_name("iteration[40,44)").number, 40u);
    EXPECT_EQ(iteration_name("ProfilerStep#12").number, 12u);
    EXPECT_GT(iteration_name("Training Step 5").rank, iteration_name("step_7").rank);
    EXPECT_FALSE(iteration_name("train_step").number);
    for (const char* other :
         {"", "forward", "stepper", "iterations of everything", "12", "optimizer step"})
        EXPECT_EQ(iteration_name(other).rank, 0) << other;
}

TEST(ApiKind, FromTheCallsName) {
    EXPECT_EQ(api_kind_of("cudaLaunchKernel_ptsz"), ApiKind::launch);
    EXPECT_EQ(api_kind_of("cuLaunchKernelEx"), ApiKind::launch);
    EXPECT_EQ(api_kind_of("cudaGraphLaunch"), ApiKind::graph_launch);
    EXPECT_EQ(api_kind_of("cuMemcpyHtoDAsync_v2"), ApiKind::copy);
    EXPECT_EQ(api_kind_of("cudaMemsetAsync"), ApiKind::fill);
    EXPECT_EQ(api_kind_of("cudaStreamSynchronize"), ApiKind::synchronize);
    EXPECT_EQ(api_kind_of("cudaMallocAsync"), ApiKind::allocate);
    EXPECT_EQ(api_kind_of("cuMemFree_v2"), ApiKind::release);
    EXPECT_EQ(api_kind_of("cudaFreeHost"), ApiKind::release);
    EXPECT_EQ(api_kind_of("cudaStreamWaitEvent"), ApiKind::other);
    EXPECT_EQ(api_kind_of("malloc"), ApiKind::other);
}

/// `count` ranges of one thread that are all open at the same time, begun one after the other.
TraceBatch ranges_at_once(std::int64_t count) {
    TraceBatch batch{.tracks = {{0, 1, 5, "server"}},
                     .names = {{1, "request"}},
                     .source = 1,
                     .pid = 1,
                     .read_ns = 1};
    for (std::int64_t i = 0; i < count; ++i)
        batch.async_spans.push_back({i, 20'000 + i, 0, 0, 1, false});
    return batch;
}

TEST(GpuStore, AsManyOverlappingRangesAsMayBeOpenAreKept) {
    TraceStore store;
    store.ingest(ranges_at_once(4000));
    EXPECT_EQ(store.span_count(), 4000u);
    EXPECT_EQ(store.timeline().misplaced(), 0u);
    // The next time they take the same rows, all of them.
    TraceBatch next = ranges_at_once(4000);
    for (AsyncSpanEvent& e : next.async_spans) e.begin_ns += 100'000, e.end_ns += 100'000;
    next.names.clear();
    store.ingest(next);
    std::size_t rows = 0;
    for (const TraceTrack& track : store.tracks()) rows = std::max(rows, track.rows.size());
    EXPECT_EQ(rows, 4000u);
    EXPECT_EQ(store.span_count(), 8000u);
    TraceStore full;
    full.ingest(ranges_at_once(5000));
    EXPECT_EQ(full.span_count(), 4096u);
    EXPECT_EQ(full.timeline().misplaced(), 904u);
}

}  // namespace
}  // namespace gs
