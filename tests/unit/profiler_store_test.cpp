// TraceStore against numbers worked out by hand: nesting, statistics, shares, percentiles, level of
// detail, bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "profiler/collect/batch_queue.h"
#include "profiler/collect/clock_map.h"
#include "profiler/store/node_gpus.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

constexpr std::int64_t kMs = 1'000'000;
std::uint32_t id(Stage stage) { return static_cast<std::uint32_t>(stage) + 1; }
std::size_t at(Stage stage) { return static_cast<std::size_t>(stage); }

TraceBatch first_batch() {
    TraceBatch batch{.pid = 77, .process_name = "test", .read_ns = 1};
    for (std::size_t i = 0; i < kStageCount; ++i)
        batch.names.push_back({static_cast<std::uint32_t>(i + 1), kStageNames[i]});
    batch.tracks.push_back({0, 77, 1001, "engine", false});
    batch.tracks.push_back({1, 77, 1002, "", false});
    return batch;
}

void add(TraceBatch& batch, Stage stage, std::int64_t begin_ms, std::int64_t end_ms, int depth,
         std::uint64_t payload = 0, std::uint32_t track = 0) {
    batch.spans.push_back({begin_ms * kMs, end_ms * kMs, payload, track, id(stage),
                           static_cast<std::uint8_t>(depth), true});
}

/// One iteration of 10 ms from `t`: blend 4 ms, of which sort 1 ms; adam 2 ms.
void add_iteration(TraceBatch& batch, std::int64_t t, std::uint64_t step) {
    add(batch, Stage::sort, t + 2, t + 3, 2);
    add(batch, Stage::blend, t + 1, t + 5, 1);
    add(batch, Stage::adam, t + 6, t + 8, 1);
    add(batch, Stage::iteration, t, t + 10, 0, step);
}

TEST(Percentile, AgainstHandComputedValues) {
    const double values[] = {1, 2, 3, 4};
    EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
    EXPECT_DOUBLE_EQ(percentile(values, 50), 2.5);
    EXPECT_DOUBLE_EQ(percentile(values, 95), 3.85);
    EXPECT_DOUBLE_EQ(percentile(values, 99), 3.97);
    EXPECT_DOUBLE_EQ(percentile(values, 100), 4);
    const double one[] = {7};
    EXPECT_DOUBLE_EQ(percentile(one, 95), 7);
    EXPECT_TRUE(std::isnan(percentile({}, 50)));
}

TEST(Store, FrameHoldsTotalAndSelfTimesOfItsStages) {
    TraceStore store;
    TraceBatch batch = first_batch();
    add_iteration(batch, 100, 7);
    add(batch, Stage::blend, 100, 150, 0, 0, 1);  // another thread: not part of the iteration
    store.ingest(batch);
    const auto history = store.frames().history(StatScope::iteration);
    ASSERT_EQ(history.size(), 1u);
    const FrameSample& s = history[0];
    EXPECT_EQ(s.number, 7u);
    EXPECT_TRUE(s.warm_up);
    EXPECT_FLOAT_EQ(s.total_ms[at(Stage::iteration)], 10);
    EXPECT_FLOAT_EQ(s.self_ms[at(Stage::iteration)], 4);
    EXPECT_FLOAT_EQ(s.total_ms[at(Stage::blend)], 4);
    EXPECT_FLOAT_EQ(s.self_ms[at(Stage::blend)], 3);
    EXPECT_FLOAT_EQ(s.total_ms[at(Stage::sort)], 1);
    EXPECT_FLOAT_EQ(s.self_ms[at(Stage::adam)], 2);
    float sum = 0;
    for (const float ms : s.self_ms) sum += ms;
    EXPECT_FLOAT_EQ(sum, 10);
}

TEST(Store, StatisticsOverTheLastFramesWithoutWarmUp) {
    TraceStore store({.warm_up = 2});
    TraceBatch batch = first_batch();
    // blend lasts 1000 (warm-up), 1000 (warm-up), 1, 2, 3, 4 ms in frames twice as long.
    std::int64_t t = 0;
    for (const std::int64_t ms : {1000, 1000, 1, 2, 3, 4}) {
        add(batch, Stage::blend, t, t + ms, 1);
        add(batch, Stage::iteration, t, t + 2 * ms, 0);
        t += 2 * ms + 1;
    }
    store.ingest(batch);
    const auto rows = store.frames().statistics(StatScope::iteration, 100);
    ASSERT_EQ(rows.size(), 2u);
    const StageStats& blend = rows[1];
    EXPECT_EQ(blend.stage, Stage::blend);
    EXPECT_EQ(blend.samples, 4u);
    EXPECT_EQ(blend.calls, 4u);
    EXPECT_NEAR(blend.mean_ms, 2.5, 1e-9);
    EXPECT_NEAR(blend.p50_ms, 2.5, 1e-9);
    EXPECT_NEAR(blend.p95_ms, 3.85, 1e-6);
    EXPECT_NEAR(blend.p99_ms, 3.97, 1e-6);
    EXPECT_NEAR(blend.min_ms, 1, 1e-9);
    EXPECT_NEAR(blend.max_ms, 4, 1e-9);
    EXPECT_NEAR(blend.total_ms, 10, 1e-9);
    EXPECT_NEAR(blend.share, 0.5, 1e-9);
    EXPECT_NEAR(rows[0].share, 1.0, 1e-9);
    EXPECT_NEAR(rows[0].self_mean_ms, 2.5, 1e-6);
    EXPECT_NEAR(blend.age_s(blend.newest_ns + 2'000'000'000), 2, 1e-9);

    const auto last_two = store.frames().statistics(StatScope::iteration, 2);
    EXPECT_NEAR(last_two[1].mean_ms, 3.5, 1e-9);
}

TEST(Store, RareStageIsAveragedWhereItHappensAndSharedOverAll) {
    TraceStore store({.warm_up = 0});
    TraceBatch batch = first_batch();
    for (int i = 0; i < 10; ++i) {
        if (i == 3) add(batch, Stage::density, 100 * i, 100 * i + 40, 1);
        add(batch, Stage::iteration, 100 * i, 100 * i + 80, 0);
    }
    store.ingest(batch);
    const auto rows = store.frames().statistics(StatScope::iteration);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].samples, 1u);
    EXPECT_NEAR(rows[1].mean_ms, 40, 1e-6);
    EXPECT_NEAR(rows[1].share, 0.05, 1e-9);
}

TEST(Store, FramesAcrossBatchesAndScopesAreSeparate) {
    TraceStore store({.warm_up = 0});
    TraceBatch first = first_batch();
    add(first, Stage::blend, 1, 2, 1);
    store.ingest(first);
    TraceBatch second{.pid = 77, .read_ns = 2};
    add(second, Stage::blend, 3, 4, 1);
    add(second, Stage::view_frame, 0, 5, 0, 12);
    store.ingest(second);
    EXPECT_TRUE(store.frames().history(StatScope::iteration).empty());
    ASSERT_EQ(store.frames().history(StatScope::view_frame).size(), 1u);
    EXPECT_EQ(store.frames().history(StatScope::view_frame)[0].calls[at(Stage::blend)], 2u);
    EXPECT_EQ(store.frames().history(StatScope::view_frame)[0].number, 12u);
}

TEST(Store, FramesAroundLostRecordsAreNotCounted) {
    TraceStore store({.warm_up = 0});
    TraceBatch batch = first_batch();
    add_iteration(batch, 0, 1);
    batch.loss.lapped = 5;
    store.ingest(batch);
    EXPECT_TRUE(store.frames().history(StatScope::iteration)[0].incomplete);
    EXPECT_TRUE(store.frames().statistics(StatScope::iteration).empty());
    TraceBatch next{.pid = 77, .read_ns = 2};
    next.loss.lapped = 5;
    add_iteration(next, 20, 2);
    store.ingest(next);
    EXPECT_FALSE(store.frames().history(StatScope::iteration)[1].incomplete);
    EXPECT_EQ(store.sources().loss().lapped, 5u);
}

TEST(Store, CallsCountEverySpanAnywhere) {
    TraceStore store;
    TraceBatch batch = first_batch();
    add(batch, Stage::load, 0, 30, 0);
    add(batch, Stage::load, 40, 50, 0, 0, 1);
    store.ingest(batch);
    const auto rows = store.frames().statistics(StatScope::call);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].stage, Stage::load);
    EXPECT_NEAR(rows[0].mean_ms, 20, 1e-9);
    EXPECT_TRUE(std::isnan(rows[0].share));
}

TEST(Store, ThreadsHaveNames) {
    TraceStore store;
    store.ingest(first_batch());
    ASSERT_EQ(store.tracks().size(), 2u);
    EXPECT_EQ(store.tracks()[0].name, "engine");
    EXPECT_EQ(store.tracks()[1].name, "thread 1002");
    EXPECT_EQ(store.name(static_cast<std::uint32_t>(at(Stage::adam))), "adam");
}

TEST(Store, FindsTheSpanOfARowAtATime) {
    TraceStore store;
    TraceBatch batch = first_batch();
    for (int i = 0; i < 1000; ++i)
        add(batch, Stage::blend, 2 * i, 2 * i + 1, 0, static_cast<std::uint64_t>(i));
    store.ingest(batch);
    const TraceTrack& track = store.tracks()[0];
    ASSERT_NE(track.span_at(0, 10 * kMs), nullptr);
    EXPECT_EQ(track.span_at(0, 10 * kMs)->payload, 5u);
    EXPECT_EQ(track.span_at(0, 11 * kMs + 1), nullptr);
    EXPECT_EQ(track.span_at(9, 10 * kMs), nullptr);
}

TEST(Store, TheClockCountsFromTheFirstBeginWhateverIsDropped) {
    TraceStore store({.max_spans = 800});
    TraceBatch batch = first_batch();
    batch.open = {{7 * kMs, 0, 0, id(Stage::load), 0}};
    EXPECT_EQ(store.origin_ns(), 0);
    for (int i = 5; i < 5000; ++i) {
        add(batch, Stage::blend, 2 * i, 2 * i + 1, 0);
        if (i % 500 != 499) continue;
        store.ingest(batch);
        batch.spans.clear();
        EXPECT_EQ(store.origin_ns(), 7 * kMs);
    }
    EXPECT_GT(store.begin_ns(), 8000 * kMs);
    EXPECT_EQ(store.excerpt(9000 * kMs, 9100 * kMs).origin_ns(), 7 * kMs);
}

TEST(Store, MemoryIsBoundedAndTheNewestStay) {
    TraceStore store({.max_spans = 1000, .max_frames = 16});
    TraceBatch names = first_batch();
    store.ingest(names);
    for (int b = 0; b < 50; ++b) {
        TraceBatch batch{.pid = 77, .read_ns = b + 2};
        for (int i = 0; i < 25; ++i)
            add_iteration(batch, (b * 25 + i) * 20, static_cast<std::uint64_t>(b * 25 + i));
        store.ingest(batch);
    }
    EXPECT_LE(store.span_count(), 1000u);
    EXPECT_GT(store.span_count(), 800u);
    EXPECT_EQ(store.span_count() + store.timeline().forgotten(), 50u * 25 * 4);
    EXPECT_EQ(store.frames().history(StatScope::iteration).size(), 16u);
    EXPECT_EQ(store.frames().history(StatScope::iteration).back().number, 1249u);
    EXPECT_EQ(store.end_ns(), (1249 * 20 + 10) * kMs);
}

TEST(Store, OverlapsAreNotStored) {
    TraceStore store;
    TraceBatch batch = first_batch();
    add(batch, Stage::blend, 10, 20, 0);
    add(batch, Stage::blend, 5, 15, 0);
    add(batch, Stage::blend, 18, 30, 0);
    add(batch, Stage::blend, 40, 50, 200);
    store.ingest(batch);
    EXPECT_EQ(store.timeline().misplaced(), 2u);
    const auto row = store.tracks()[0].rows[0].view();
    ASSERT_EQ(row.size(), 2u);
    EXPECT_EQ(row[1].begin_ns, 20 * kMs);
}

TEST(Store, TwoProcessesKeepTheirNumbersApart) {
    TraceStore store;
    store.ingest(first_batch());
    TraceBatch other{.pid = 88, .read_ns = 5};
    other.names.push_back({1, "their range"});
    other.tracks.push_back({0, 88, 5, "main", false});
    other.spans.push_back({1, 2, 0, 0, 1, 0, false});
    store.ingest(other);
    ASSERT_EQ(store.tracks().size(), 3u);
    EXPECT_EQ(store.name(store.tracks()[2].rows[0].view()[0].name), "their range");
    EXPECT_EQ(store.names().stage(store.tracks()[2].rows[0].view()[0].name), Stage::other);
}

TEST(StageTable, CsvHasAHeaderAndEmptyFieldsForTheUnavailable) {
    TraceStore store;
    TraceBatch batch = first_batch();
    add(batch, Stage::load, 0, 30, 0);
    store.ingest(batch);
    EXPECT_EQ(stage_table_csv(store.frames().statistics(StatScope::call)),
              "stage,samples,calls,mean_ms,p50_ms,p95_ms,p99_ms,min_ms,max_ms,total_ms,self_mean_"
              "ms,share_percent\n"
              "load,1,1,30,30,30,30,30,30,30,,\n");
}

/// Of a 2 GHz counter: half a nanosecond a tick.
abi::ClockSnapshot snapshot(std::uint64_t ns, std::uint64_t error) {
    return {ns * 2, ns + error, ns, 0, 10};
}

TEST(ClockMap, IsContinuousMonotoneAndMeetsTheMeasuredClock) {
    ClockMap map(abi::TickClock::counter);
    EXPECT_FALSE(map.ready());
    // The second snapshot is 500 ns off.
    map.add(snapshot(1'000'000'000, 0));
    map.add(snapshot(1'001'000'000, 500));
    ASSERT_TRUE(map.ready());
    std::vector<std::int64_t> promised;
    for (std::uint64_t t = 1; t <= 50; ++t) {
        const std::uint64_t ns = 1'001'000'000 + t * 100'000'000;
        promised.push_back(map.ns_from_ticks(ns * 2));
        map.add(snapshot(ns, 0));
        EXPECT_EQ(map.ns_from_ticks(ns * 2), promised.back());  // the past does not change
    }
    EXPECT_NEAR(static_cast<double>(promised.back()), 6'001'000'000.0, 2000.0);
    std::int64_t previous = 0;
    for (std::uint64_t ns = 1'000'000'000; ns < 6'100'000'000; ns += 7'777'777) {
        const std::int64_t now = map.ns_from_ticks(ns * 2);
        EXPECT_GT(now, previous);
        previous = now;
    }
    map.add(snapshot(5, 0));  // back in time: ignored
    map.add({~0ull, 7'000'000'000, 0, 0, 0});
    EXPECT_GE(map.ns_from_ticks(~0ull), previous);
}

TEST(TraceStore, OfTwoProcessesWithOneNumberTheLivingIsMeant) {
    TraceStore store;
    const auto tell = [&](std::uint64_t start, bool ended) {
        TraceBatch batch = first_batch();
        batch.source = start;
        batch.process_start = start;
        batch.ended = ended;
        store.ingest(batch);
    };
    EXPECT_EQ(process_of_pid(store.processes(), 77), std::nullopt);
    tell(1, true);
    EXPECT_EQ(process_of_pid(store.processes(), 77), 0u);
    tell(2, false);
    EXPECT_EQ(process_of_pid(store.processes(), 77), 1u);
    tell(3, true);
    ASSERT_EQ(store.processes().size(), 3u);
    EXPECT_EQ(process_of_pid(store.processes(), 77), 1u);
    tell(2, true);
    EXPECT_EQ(process_of_pid(store.processes(), 77), 2u);
    EXPECT_EQ(process_of_pid(store.processes(), 78), std::nullopt);
}

TEST(BatchQueue, WhatNobodyTakesIsBounded) {
    BatchQueue nobody_takes(0);
    auto batch = std::make_shared<TraceBatch>();
    batch->read_ns = 1;
    batch->pauses.resize(600'000);
    batch->values.resize(600'000);
    EXPECT_EQ(nobody_takes.hand_over(batch), 700'000u);
    EXPECT_EQ(batch->pauses.size(), 250'000u);
    EXPECT_EQ(batch->values.size(), 250'000u);
}

// The store's thread must come back, however fast more is handed over.
TEST(BatchQueue, OneTakeEndsWhileMoreArrives) {
    BatchQueue queue(4);
    int left = 100;
    std::function<void()> arrive = [&] {  // the next one comes as soon as this one is in the store
        if (left-- == 0) return;
        std::shared_ptr<TraceBatch> batch(new TraceBatch(first_batch()), [&](TraceBatch* taken) {
            delete taken;
            arrive();
        });
        queue.hand_over(batch);
    };
    arrive();
    TraceStore store;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.take_into(store), 1u);
    EXPECT_EQ(queue.take_into(store), 0u);
}

// While a machine is suspended, its counter runs and its clock does not.
TEST(ClockMap, LengthsAreRightAfterTheMachineSlept) {
    ClockMap map(abi::TickClock::counter);
    std::uint64_t asleep = 0, ns = 1'000'000'000;
    std::int64_t previous = 0;
    const auto pass = [&](int tenths) {
        for (int i = 0; i < tenths; ++i) {
            ns += 100'000'000;
            map.add({(ns + asleep) * 2, ns, ns, 0, 10});
            const std::int64_t now = map.ns_from_ticks((ns + asleep) * 2 + 1'000'000);
            EXPECT_GE(now, previous);
            previous = now;
        }
    };
    pass(20);
    asleep += 3'600'000'000'000;
    pass(3);
    const std::uint64_t now = (ns + asleep) * 2;
    EXPECT_NEAR(static_cast<double>(map.ns_from_ticks(now)), static_cast<double>(ns), 2e6);
    EXPECT_NEAR(static_cast<double>(map.ns_from_ticks(now + 20'000'000) - map.ns_from_ticks(now)),
                1e7, 1e5);
    EXPECT_NEAR(static_cast<double>(map.length_ns(2000)), 1000, 10);
}

// A clock that is steered (NTP) has another rate than when the process began.
TEST(ClockMap, TheRateIsOfTheLastMinute) {
    ClockMap map(abi::TickClock::counter);
    std::uint64_t ticks = 2'000'000'000, ns = 1'000'000'000;
    for (int s = 0; s < 1300; ++s) {
        ticks += 2'000'000'000;
        ns += s < 1000 ? 1'000'000'000 : 1'000'500'000;
        map.add({ticks, ns, ns, 0, 10});
        map.ns_from_ticks(ticks);
    }
    EXPECT_NEAR(static_cast<double>(map.length_ns(2'000'000'000)), 1'000'500'000, 20'000);
}

// A correction ends when the measured clock is met, however late the next snapshot comes.
TEST(ClockMap, DoesNotGoPastTheMeasuredClock) {
    ClockMap map(abi::TickClock::counter, 0.5);
    map.add(snapshot(1'000'000'000, 0));
    map.add(snapshot(1'000'300'000, 200));  // read by a thread that had to wait
    map.ns_from_ticks(2 * 1'001'000'000ull);
    map.add(snapshot(1'003'000'000, 300));
    std::int64_t previous = 0;
    for (std::uint64_t ns = 1'003'000'000; ns < 1'300'000'000; ns += 1'000'000) {
        const std::int64_t now = map.ns_from_ticks(2 * ns);
        EXPECT_NEAR(static_cast<double>(now), static_cast<double>(ns), 500);
        EXPECT_GT(now, previous);
        previous = now;
    }
}

// Between its reading and its publication a newer tick may have been converted.
TEST(ClockMap, ALateSnapshotChangesNothingThatWasTold) {
    ClockMap map(abi::TickClock::counter);
    map.add(snapshot(1'000'000'000, 0));
    map.add(snapshot(1'010'000'000, 0));
    const std::int64_t told = map.ns_from_ticks(2 * 1'105'000'000ull);
    map.add(snapshot(1'100'000'000, 20'000));
    EXPECT_EQ(map.ns_from_ticks(2 * 1'105'000'000ull), told);
    EXPECT_GE(map.ns_from_ticks(2 * 1'105'000'001ull), told);
}

// The first two snapshots of a ring are a third of a millisecond apart: their rate alone would be
// off by more than a kernel takes before the next one is read.
TEST(ClockMap, IsAsMeasuredWhereNothingWasToldYet) {
    ClockMap map(abi::TickClock::counter);
    map.add(snapshot(1'000'000'000, 0));
    map.add(snapshot(1'000'300'000, 200));
    map.add(snapshot(1'040'000'000, 0));
    for (std::uint64_t ns = 1'000'300'000; ns <= 1'080'000'000; ns += 1'000'000)
        EXPECT_NEAR(static_cast<double>(map.ns_from_ticks(ns * 2)), static_cast<double>(ns), 201.0);
}

}  // namespace
}  // namespace gs
