// What a store forgets, so that a daemon can run for months: within a budget of bytes the oldest of
// everything, and processes, tracks, series and names that have ended when nothing of them is left.
// Whatever stays is the same under its new numbers.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "churn_process.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

using test::ChurnProcess;
using test::kSecondNs;

constexpr std::size_t kMiB = 1 << 20;

std::set<std::uint32_t> pids_of(const TraceStore& store) {
    std::set<std::uint32_t> out;
    for (const TraceProcess& process : store.processes()) out.insert(process.pid);
    return out;
}

/// A store that has seen `count` processes of two seconds each, one after the other, beside one
/// that lives on; `each` is called when one has ended.
template <class Each>
void churn(TraceStore& store, std::uint32_t count, const Each& each) {
    ChurnProcess lives(100'000);
    for (std::uint32_t n = 1; n <= count; ++n) {
        ChurnProcess process(n);
        const std::int64_t at = std::int64_t{2 * n} * kSecondNs;
        store.ingest(process.second(at));
        store.ingest(lives.second(at));
        store.ingest(process.second(at + kSecondNs, true));
        store.ingest(lives.second(at + kSecondNs));
        store.retire(at + 2 * kSecondNs);
        each(n);
    }
}

TEST(Retire, MemoryIsFlatWhileProcessesComeAndGo) {
    TraceStore store({.max_spans = 1'000'000'000, .max_bytes = 8 * kMiB});
    std::size_t early = 0, late = 0;
    std::size_t most_processes = 0;
    churn(store, 400, [&](std::uint32_t n) {
        if (n > 100 && n <= 200) early = std::max(early, store.bytes());
        if (n > 300) late = std::max(late, store.bytes());
        if (n > 100) most_processes = std::max(most_processes, store.processes().size());
    });
    EXPECT_LE(static_cast<double>(late), 1.05 * static_cast<double>(early));
    EXPECT_LE(late, 2 * 8 * kMiB + 24 * kMiB);  // frames and single calls have limits of their own
    EXPECT_LT(most_processes, 60u);
    EXPECT_LT(store.tracks().size(), 10 * most_processes);
    EXPECT_LT(store.counters().size(), 14 * most_processes);
    EXPECT_TRUE(pids_of(store).count(ChurnProcess(100'000).pid()));
    EXPECT_GT(store.span_count(), 20'000u);
}

TEST(Retire, SpansThatStayKeepTheirNamesTracksAndLaunches) {
    TraceStore store({.max_spans = 1'000'000'000, .max_bytes = 4 * kMiB});
    bool renumbered = false;
    churn(store, 80,
          [&](std::uint32_t n) { renumbered |= n > 40 && store.processes()[0].pid > 10'010; });
    EXPECT_TRUE(renumbered);
    std::map<std::uint32_t, std::string> epoch_of_pid;
    std::size_t launched = 0, works = 0;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        ASSERT_LT(track.process, store.processes().size());
        const std::uint32_t pid = store.processes()[track.process].pid;
        EXPECT_EQ(track.pid, pid);
        if (track.kind == TrackKind::thread && track.tid != 100) {
            EXPECT_EQ(store.timeline().threads().find(track.process, track.tid, track.kind), t);
            for (const auto& row : track.rows)
                for (const TraceSpan& span : row.view())
                    ASSERT_EQ(store.name(span.name), "epoch of " + std::to_string(pid - 10'000));
        }
        if (track.kind != TrackKind::gpu_stream) continue;
        for (const TraceSpan& span : track.rows[0].view()) {
            const FoundSpan call = store.timeline().launching_span(t, 0, span);
            ++works;
            if (call.span == nullptr) continue;  // forgotten, as it began before what is kept
            ++launched;
            ASSERT_EQ(store.tracks()[call.track].pid, pid);
            ASSERT_EQ(store.name(call.span->name), "cudaLaunchKernel");
            ASSERT_EQ(call.span->begin_ns + 2, span.begin_ns);
        }
    }
    EXPECT_GT(works, 1000u);
    EXPECT_GT(launched, works * 9 / 10);
    for (const FrameSample& frame : store.frames().history(StatScope::iteration)) {
        ASSERT_LT(frame.track, store.tracks().size());
        EXPECT_EQ(store.tracks()[frame.track].process, frame.process);
    }
    for (const CounterSeries& series : store.counters()) {
        EXPECT_LT(series.process, store.processes().size());
        EXPECT_TRUE(store.name(series.name).starts_with("counter "));
    }
}

TEST(Retire, AProcessStaysUntilItHasEndedAndItsSpansAreGone) {
    TraceStore store({.max_spans = 1'000'000'000, .max_bytes = 64 * kMiB});
    ChurnProcess process(1);
    store.ingest(process.second(kSecondNs));
    EXPECT_FALSE(store.retire(1000 * kSecondNs));  // nobody said that it has ended
    store.ingest(process.second(2 * kSecondNs, true));
    EXPECT_TRUE(store.processes()[0].ended);
    EXPECT_FALSE(store.retire(1000 * kSecondNs));  // its spans are here
    EXPECT_EQ(store.processes().size(), 1u);

    TraceStore silent;
    TraceBatch nothing{.tracks = {{0, 5, 5, "main"}},
                       .names = {{1, "outer"}},
                       .open = {{1, 0, 0, 1, 0}},
                       .source = 5,
                       .pid = 5,
                       .read_ns = kSecondNs,
                       .ended = true};
    silent.ingest(nothing);
    EXPECT_FALSE(silent.retire(5 * kSecondNs));  // the daemon has not seen yet how it ended
    ASSERT_EQ(silent.sources().open_spans().size(), 1u);
    EXPECT_EQ(silent.tracks()[silent.sources().open_spans()[0].track].name, "main");
    EXPECT_TRUE(silent.retire(60 * kSecondNs));
    EXPECT_TRUE(silent.processes().empty());
    EXPECT_TRUE(silent.tracks().empty());
    EXPECT_TRUE(silent.sources().open_spans().empty());
}

TEST(Retire, OneProcessWithTwoRingsEndsWithBoth) {
    TraceStore store;
    TraceBatch batch{.source = 1, .pid = 5, .read_ns = kSecondNs};
    store.ingest(batch);
    batch.source = 2;
    batch.ended = true;
    store.ingest(batch);
    ASSERT_EQ(store.processes().size(), 1u);
    EXPECT_FALSE(store.processes()[0].ended);
    EXPECT_FALSE(store.retire(100 * kSecondNs));
    batch.source = 1;
    store.ingest(batch);
    EXPECT_TRUE(store.retire(100 * kSecondNs));
}

TEST(Retire, LaunchesOfAProcessThatHasEndedTakeNoMemory) {
    TraceStore store;
    ChurnProcess process(1);
    store.ingest(process.second(kSecondNs));
    const std::size_t before = store.bytes();
    TraceBatch end = process.second(2 * kSecondNs, true);
    end.gpu_work.clear(), end.api_calls.clear();
    store.ingest(end);
    EXPECT_LT(store.bytes() + 65536 * 24, before);
}

TEST(Retire, WhatWasLostOfThemStillCounts) {
    TraceStore store;
    TraceBatch batch{.source = 5, .pid = 5, .read_ns = kSecondNs};
    batch.loss.dropped = 3;
    batch.written = 10;
    store.ingest(batch);
    batch.loss.dropped = 4;
    batch.written = 20;
    batch.ended = true;
    store.ingest(batch);
    EXPECT_EQ(store.processes()[0].loss.dropped, 4u);
    ASSERT_TRUE(store.retire(100 * kSecondNs));
    batch.pid = batch.source = 6;
    batch.loss.dropped = 1;
    batch.written = 1;
    store.ingest(batch);
    EXPECT_EQ(store.processes()[0].loss.dropped, 1u);
    EXPECT_EQ(store.sources().loss().dropped, 5u);
    EXPECT_EQ(store.sources().records_written(), 21u);
}

TEST(Retire, CountersAreWithinTheBudgetAndOfWhoLives) {
    TraceStore store({.max_spans = 1'000'000'000, .max_bytes = kMiB});
    // Eight ranks that sample eight GPUs, twice; then a third job.
    for (std::uint32_t job = 0; job < 3; ++job)
        for (std::int64_t second = 1; second < 40; ++second)
            for (std::uint32_t rank = 0; rank < 8; ++rank) {
                ChurnProcess process(100 * job + rank + 1, 1, 107);
                const std::int64_t at = (100 * job + second) * kSecondNs;
                store.ingest(process.second(at, second == 39));
                store.retire(at);
            }
    std::set<std::uint64_t> series_of_last;
    std::size_t points = 0;
    for (const CounterSeries& series : store.counters()) {
        points += series.points.size();
        if (store.processes()[series.process].pid > 10'200 && !series.points.empty())
            series_of_last.insert(std::uint64_t{series.process} << 32 | series.name);
    }
    EXPECT_EQ(series_of_last.size(), 8u * 107);
    EXPECT_LE(points * sizeof(CounterPoint), kMiB);
}

TEST(Retire, ThreadsComeAndGoForEver) {
    TraceStore store({.max_spans = 1000});
    TraceBatch first{
        .tracks = {{0, 5, 5, "main"}}, .names = {{1, "work"}}, .source = 5, .pid = 5, .read_ns = 1};
    store.ingest(first);
    for (std::uint32_t n = 1; n <= 70'000; ++n) {
        TraceBatch batch{.tracks = {{n, 5, 1000 + n, ""}, {n, 5, 1000 + n, "", true}},
                         .spans = {{n * 100, n * 100 + 50, 0, n, 1, 0, false}},
                         .source = 5,
                         .pid = 5,
                         .read_ns = n * 1000};
        store.ingest(batch);
        if (n % 100 == 0) store.retire(n * 1000);
    }
    EXPECT_EQ(store.timeline().misplaced(), 0u);
    EXPECT_LT(store.tracks().size(), 1200u);
    EXPECT_EQ(store.tracks().back().rows[0].back().end_ns, 70'000 * 100 + 50);
    TraceBatch main{
        .spans = {{8'000'000, 8'000'001, 0, 0, 1, 0, false}}, .source = 5, .pid = 5, .read_ns = 1};
    store.ingest(main);  // a thread that lives keeps its track, used or not
    EXPECT_EQ(store.tracks()[0].name, "main");
    ASSERT_EQ(store.tracks()[0].rows.size(), 1u);
    EXPECT_EQ(store.tracks()[0].rows[0].back().begin_ns, 8'000'000);
}

TEST(Retire, TooManyTracksThatHoldSpansGoOldestFirst) {
    TraceStore store;
    for (std::uint32_t n = 0; n < 80'000; ++n) {
        TraceBatch batch{.source = 5, .pid = 5, .read_ns = 1 + n};
        if (n == 0) batch.names = {{1, "work"}};
        batch.tracks = {{n, 5, 1000 + n, "", true}};
        batch.spans = {{n * 100, n * 100 + 50, 0, n, 1, 0, false}};
        store.ingest(batch);
        if (n % 1000 == 999) store.retire(n);
    }
    EXPECT_LE(store.tracks().size(), 49'152u);
    EXPECT_EQ(store.span_count(), store.tracks().size());
    EXPECT_EQ(store.span_count() + store.timeline().forgotten(), 80'000u);
    EXPECT_EQ(store.tracks().back().tid, 1000u + 79'999);
}

TEST(Retire, EndedProcessesAreCountedToo) {
    TraceStore store;
    for (std::uint32_t n = 1; n <= 1500; ++n) {
        TraceBatch batch{.source = n, .pid = 10'000 + n, .read_ns = n * kSecondNs, .ended = true};
        if (n == 1) batch.names = {{1, "work"}};
        batch.tracks = {{0, n, n, ""}};
        batch.spans = {{n * kSecondNs, n * kSecondNs + 1, 0, 0, 1, 0, false}};
        store.ingest(batch);
    }
    EXPECT_TRUE(store.retire(1500 * kSecondNs));
    EXPECT_EQ(store.processes().size(), 1024u);
    EXPECT_EQ(store.processes().front().pid, 10'000u + 477);
}

TEST(Retire, NamesThatNothingBearsGo) {
    TraceStore store({.max_spans = 100});
    for (std::uint32_t n = 1; n <= 300; ++n) {
        TraceBatch batch{.tracks = {{0, n, n, ""}},
                         .source = n,
                         .pid = n,
                         .read_ns = n * kSecondNs,
                         .ended = true};
        for (std::uint32_t k = 1; k <= 100; ++k)
            batch.names.push_back({k, std::to_string(n) + "." + std::to_string(k)});
        batch.spans = {{n * kSecondNs, n * kSecondNs + 1, 0, 0, 7, 0, false}};
        store.ingest(batch);
        store.retire(n * kSecondNs);
    }
    EXPECT_LT(store.names().size(), 10'000u);
    EXPECT_EQ(store.name(store.tracks().back().rows[0].back().name), "300.7");
    EXPECT_EQ(store.names().text(0), kStageNames[0]);
    EXPECT_EQ(store.names().text(store.names().unknown()), "?");
}

}  // namespace
}  // namespace gs
