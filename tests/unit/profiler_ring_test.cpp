// The ring inside one process: what is recorded comes out whole, in order and under the right
// thread, whatever the threads do.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <map>
#include <thread>

#include "base/record/scope.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/collect/reader.h"
#include "profiler/store/overhead.h"
#include "tests/support/own_ring.h"
#include "tests/support/required.h"

namespace gs {
namespace {

std::vector<SpanEvent> spans_with_name(const TraceBatch& batch, StringId name) {
    std::vector<SpanEvent> out;
    for (const SpanEvent& span : batch.spans)
        if (span.name == name) out.push_back(span);
    return out;
}

TEST(Ring, SpanHasNamePayloadDepthAndTime) {
    TraceReader reader = own_reader();
    const auto before = now_ns();
    {
        const Span outer(Stage::iteration, 42);
        const Span inner(Stage::blend);
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    const auto after = now_ns();
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.spans.size(), 2u);
    const SpanEvent &inner = batch.spans[0], &outer = batch.spans[1];
    EXPECT_EQ(inner.name, string_of(Stage::blend));
    EXPECT_FALSE(inner.has_payload);
    EXPECT_EQ(inner.depth, 1);
    EXPECT_EQ(outer.name, string_of(Stage::iteration));
    EXPECT_TRUE(outer.has_payload);
    EXPECT_EQ(outer.payload, 42u);
    EXPECT_EQ(outer.depth, 0);
    EXPECT_LE(outer.begin_ns, inner.begin_ns);
    EXPECT_LE(inner.end_ns, outer.end_ns);
    EXPECT_GE(inner.end_ns - inner.begin_ns, 3'000'000);
    // The clocks were set against each other a moment ago: a microsecond is generous.
    EXPECT_GE(outer.begin_ns, before - 50'000);
    EXPECT_LE(outer.end_ns, after + 50'000);
    EXPECT_EQ(batch.loss.total(), 0u);
}

TEST(Ring, StagesAreTheFirstStrings) {
    auto reader = required(TraceReader::attach_own());
    TraceBatch batch;
    reader.drain(batch);
    ASSERT_GE(batch.names.size(), kStageCount);
    for (std::size_t i = 0; i < kStageCount; ++i) {
        EXPECT_EQ(batch.names[i].name, i + 1);
        EXPECT_EQ(batch.names[i].text, kStageNames[i]);
    }
}

TEST(Ring, StringsAreRegisteredOnceAndCutWhole) {
    TraceReader reader = own_reader();
    const StringId a = register_string("a name"), b = register_string("another name");
    EXPECT_NE(a, b);
    EXPECT_EQ(a, register_string("a name"));
    std::string text(abi::kMaxStringBytes - 1, 'x');
    text += "\xC3\xA4 and more";  // the two bytes of one character straddle the limit
    const StringId cut = register_string(text.c_str());
    const TraceBatch batch = drain(reader);
    ASSERT_FALSE(batch.names.empty());
    EXPECT_EQ(batch.names.back().name, cut);
    EXPECT_EQ(batch.names.back().text, std::string(abi::kMaxStringBytes - 1, 'x'));
    EXPECT_EQ(batch.loss.truncated_strings, 1u);
}

TEST(Ring, CountersInstantsAndOpenSpans) {
    TraceReader reader = own_reader();
    const StringId name = register_string("Gaussians");
    const Span open(Stage::evaluation, 7);
    record_counter(name, 123.5);
    record_instant(name, 9);
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.counters.size(), 1u);
    EXPECT_EQ(batch.counters[0].value, 123.5);
    EXPECT_EQ(batch.counters[0].name, name);
    ASSERT_EQ(batch.instants.size(), 1u);
    EXPECT_EQ(batch.instants[0].payload, 9u);
    ASSERT_EQ(batch.open.size(), 1u);
    EXPECT_EQ(batch.open[0].name, string_of(Stage::evaluation));
    EXPECT_EQ(batch.open[0].payload, 7u);
}

TEST(Ring, DeeperThanTheStackStillRecords) {
    TraceReader reader = own_reader();
    const auto nest = [](auto&& self, int levels) -> void {
        const Span span(Stage::sort, static_cast<std::uint64_t>(levels));
        if (levels > 1) self(self, levels - 1);
    };
    nest(nest, 100);
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.spans.size(), 100u);
    EXPECT_EQ(batch.spans.front().depth, 99);
    EXPECT_EQ(batch.spans.back().depth, 0);
    EXPECT_TRUE(batch.open.empty());
}

TEST(Ring, ManyThreadsKeepTheirOwnRecords) {
    TraceReader reader = own_reader();
    constexpr int kThreads = 64, kSpans = 50;
    std::latch all_have_lanes(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            name_this_thread(("worker " + std::to_string(t)).c_str());
            for (int i = 0; i < kSpans; ++i) {
                const Span span(Stage::decode_photo, static_cast<std::uint64_t>(t * 1000 + i));
                if (i == 0) all_have_lanes.arrive_and_wait();
            }
        });
    for (std::thread& thread : threads) thread.join();
    const TraceBatch batch = drain(reader);
    std::map<std::uint32_t, std::string> names;
    for (const TrackInfo& track : batch.tracks)
        if (!track.name.empty()) names[track.track] = track.name;
    std::map<std::uint32_t, std::vector<std::uint64_t>> payloads;
    for (const SpanEvent& span : spans_with_name(batch, string_of(Stage::decode_photo)))
        payloads[span.track].push_back(span.payload);
    ASSERT_EQ(payloads.size(), static_cast<std::size_t>(kThreads));
    for (const auto& [track, values] : payloads) {
        ASSERT_EQ(values.size(), static_cast<std::size_t>(kSpans));
        EXPECT_EQ(names[track], "worker " + std::to_string(values[0] / 1000));
        for (int i = 0; i < kSpans; ++i)
            EXPECT_EQ(values[static_cast<std::size_t>(i)],
                      values[0] + static_cast<std::uint64_t>(i));
    }
    EXPECT_EQ(batch.loss.total(), 0u);
}

TEST(Ring, LanesAreReusedAndEveryOwnerIsItsOwnTrack) {
    TraceReader reader = own_reader();
    // One after the other: far more threads than lanes.
    constexpr std::uint64_t kThreads = 300;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        std::thread([t] { const Span span(Stage::load, t); }).join();
    }
    const TraceBatch batch = drain(reader);
    std::map<std::uint32_t, std::uint64_t> payload_of_track;
    for (const SpanEvent& span : spans_with_name(batch, string_of(Stage::load))) {
        EXPECT_EQ(payload_of_track.count(span.track), 0u);
        payload_of_track[span.track] = span.payload;
    }
    EXPECT_EQ(payload_of_track.size(), kThreads);
    EXPECT_EQ(batch.loss.total(), 0u);
    std::size_t ended = 0;
    for (const TrackInfo& track : batch.tracks) ended += track.ended;
    EXPECT_GE(ended, kThreads);
}

TEST(Ring, ThreadsWithoutALaneAreCountedNotBlocked) {
    TraceReader reader = own_reader();
    constexpr int kThreads = abi::kLaneCount + 20;
    std::latch started(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            const Span span(Stage::load);
            started.arrive_and_wait();
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(drain(reader).loss.dropped, 20u);
}

TEST(Ring, SlowReaderCountsWhatItMissedAndGetsTheRestWhole) {
    TraceReader reader = own_reader();
    constexpr std::uint64_t kSpans = 100'000;
    std::uint64_t read = 0, lapped = 0;
    std::thread([&] {
        for (std::uint64_t i = 0; i < kSpans; ++i) const Span span(Stage::cull, i);
    }).join();
    const TraceBatch batch = drain(reader);
    std::uint64_t expected = kSpans - 1;
    const auto spans = spans_with_name(batch, string_of(Stage::cull));
    for (std::size_t i = spans.size(); i-- > 0;) ASSERT_EQ(spans[i].payload, expected--);
    read = spans.size();
    lapped = batch.loss.lapped;
    EXPECT_GT(read, 0u);
    // Besides the spans, only the thread's begin can have been lost.
    EXPECT_GE(read + lapped, kSpans);
    EXPECT_LE(read + lapped, kSpans + 1);
}

TEST(Ring, ReaderBesideARunningWriterNeverSeesATornRecord) {
    TraceReader reader = own_reader();
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> written{0};
    std::thread writer([&] {
        const StringId name = register_string("torn?");
        std::uint64_t i = 0;
        while (!stop) {
            const Span span(name, i * 0x9E3779B97F4A7C15ull);
            written = ++i;
        }
    });
    std::uint64_t read = 0, lapped_before = 0, previous = 0;
    bool any = false;
    const StringId name = register_string("torn?");
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < until) {
        const TraceBatch batch = drain(reader);
        for (const SpanEvent& span : spans_with_name(batch, name)) {
            // The payload is an index times an odd number; its inverse brings the index back.
            const std::uint64_t index = span.payload * 0xF1DE83E19937733Dull;
            ASSERT_LT(index, std::uint64_t{1} << 40);
            ASSERT_TRUE(!any || index > previous);
            if (batch.loss.lapped == lapped_before && any) {
                ASSERT_EQ(index, previous + 1);
            }
            ASSERT_LE(span.begin_ns, span.end_ns);
            previous = index;
            any = true;
            ++read;
            lapped_before = batch.loss.lapped;
        }
        ASSERT_EQ(batch.loss.malformed, 0u);
    }
    stop = true;
    writer.join();
    EXPECT_GT(read, 1000u);
}

TEST(Ring, StaysWithinItsBudget) {
    ASSERT_TRUE(start_recording());
    struct stat status {};
    ASSERT_EQ(::fstat(ring_fd(), &status), 0);
    EXPECT_LE(static_cast<std::uint64_t>(status.st_size), abi::kHardCap);
    EXPECT_NE(::ftruncate(ring_fd(), status.st_size * 2), 0);  // sealed
    EXPECT_NE(::ftruncate(ring_fd(), 4096), 0);
}

TEST(Ring, SwitchedOffNothingIsRecorded) {
    TraceReader reader = own_reader();
    EXPECT_TRUE(set_recording(false));
    { const Span span(Stage::adam, 1); }
    {
        const Span half(Stage::adam, 2);
        set_recording(true);
    }
    { const Span span(Stage::adam, 3); }
    const auto spans = spans_with_name(drain(reader), string_of(Stage::adam));
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].payload, 3u);
}

TEST(Ring, ManyReadersReadTheSame) {
    TraceReader first = own_reader(), second = own_reader();
    for (std::uint64_t i = 0; i < 100; ++i) const Span span(Stage::project, i);
    EXPECT_EQ(spans_with_name(drain(first), string_of(Stage::project)).size(), 100u);
    EXPECT_EQ(spans_with_name(drain(second), string_of(Stage::project)).size(), 100u);
}

TEST(Collector, HandsOverEverythingInOrder) {
    const auto collector = service::MultiCollector::of_own_ring();
    ASSERT_TRUE(collector->has_own_ring());
    TraceStore store;
    constexpr std::uint64_t kSteps = 2000;
    std::thread([&] {
        name_this_thread("engine");
        for (std::uint64_t step = 0; step < kSteps; ++step) {
            const Span iteration(Stage::iteration, step);
            const Span blend(Stage::blend);
        }
    }).join();
    collector->drain_into(store);
    collector->finish(store);
    const auto history = store.frames().history(StatScope::iteration);
    ASSERT_GE(history.size(), kSteps);
    for (std::size_t i = 0; i < kSteps; ++i) {
        const FrameSample& sample = history[history.size() - kSteps + i];
        ASSERT_EQ(sample.number, i);
        ASSERT_EQ(sample.calls[static_cast<std::size_t>(Stage::blend)], 1u);
    }
    EXPECT_EQ(store.tracks()[history.back().track].name, "engine");
    EXPECT_GT(store.sources().collector_cpu_ns(), 0);
}

TEST(Collector, MayLeaveOutThePast) {
    { const Span before(Stage::cull, 1); }
    const auto collector = service::MultiCollector::of_own_ring(false);
    TraceStore store;
    name_this_thread("main");
    { const Span after(Stage::cull, 2); }
    collector->finish(store);
    ASSERT_EQ(store.span_count(), 1u);
    const auto stats = store.frames().statistics(StatScope::call);
    ASSERT_EQ(stats.size(), 1u);
    EXPECT_EQ(stats[0].stage, Stage::cull);
    EXPECT_EQ(store.sources().loss().lapped, 0u);
}

TEST(Overhead, IsMeasuredWithoutTouchingTheTrace) {
    TraceReader reader = own_reader();
    const SpanOverhead cost = measure_span_overhead(1000);
    EXPECT_TRUE(cost.recorded);
    EXPECT_GT(cost.span_ns, 0);
    EXPECT_GT(cost.timer_pair_ns, 0);
    EXPECT_TRUE(is_recording());
    EXPECT_TRUE(drain(reader).spans.empty());
}

}  // namespace
}  // namespace gs
