// Lanes of GPU streams, written by hand as stage_timer.cpp writes them: what goes in comes out
// under the stream's name, tied to the span that launched it, and counts for the frame that
// launched it and for nothing else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/record/device_lane.h"
#include "base/record/scope.h"
#include "profiler/collect/reader.h"
#include "profiler/store/store.h"
#include "tests/support/own_ring.h"

namespace gs {
namespace {

std::size_t slot(Stage stage) { return static_cast<std::size_t>(stage); }

DeviceSpan work(Stage stage, std::uint64_t begin, std::uint64_t end,
                const LaunchPoint& launch = {}) {
    return {.begin = begin, .end = end, .name = string_of(stage), .launch = launch};
}

DeviceSpan work_now(Stage stage, const LaunchPoint& launch = {}) {
    const std::uint64_t now = read_ticks();
    return work(stage, now, now + 1, launch);
}

TEST(DeviceLane, SpansComeOutUnderTheStreamTiedToTheirLaunch) {
    TraceReader reader = own_reader();
    DeviceLane lane("CUDA stream one");
    std::uint64_t launched_at = 0;
    {
        const Span iteration(Stage::iteration, 5);
        const Span blend(Stage::blend);
        const LaunchPoint launch = launch_point();
        launched_at = launch.begin;
        EXPECT_EQ(launch.depth, 1u);
        DeviceSpan span = work_now(Stage::blend, launch);
        span.payload = 17;
        span.has_payload = true;
        span.correlation = 1;
        lane.write(span);
    }
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.gpu_work.size(), 1u);
    const GpuWorkEvent& event = batch.gpu_work[0];
    EXPECT_EQ(event.name, string_of(Stage::blend));
    EXPECT_EQ(event.payload, 17u);
    EXPECT_TRUE(event.has_payload);
    EXPECT_EQ(event.correlation, 1u);
    EXPECT_EQ(event.launch.row, 1u);
    ASSERT_EQ(batch.spans.size(), 2u);  // and the GPU's is not among them
    EXPECT_EQ(event.launch.track, batch.spans[0].track);
    EXPECT_EQ(event.launch.time_ns, batch.spans[0].begin_ns);
    EXPECT_NE(launched_at, 0u);
    const auto track = std::ranges::find(batch.tracks, event.track, &TrackInfo::track);
    ASSERT_NE(track, batch.tracks.end());
    EXPECT_EQ(track->name, "CUDA stream one");
    EXPECT_EQ(track->kind, TrackKind::gpu_stream);
    EXPECT_EQ(batch.loss.total(), 0u);
}

TEST(DeviceLane, LaunchOutsideOfAnyRangeIsNotTied) {
    TraceReader reader = own_reader();
    EXPECT_EQ(launch_point().begin, 0u);
    DeviceLane lane("CUDA stream untied");
    lane.write(work_now(Stage::sort, launch_point()));
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.gpu_work.size(), 1u);
    EXPECT_EQ(batch.gpu_work[0].launch.track, kNoTrack);
}

TEST(DeviceLane, UntimedWorkIsCountedAsLost) {
    TraceReader reader = own_reader();
    const std::uint64_t before = drain(reader).loss.untimed;
    {
        DeviceLane lane("CUDA stream busy");
        lane.count_untimed(2);  // before it has a lane
        lane.write(work_now(Stage::sort));
        lane.count_untimed(3);
        const TraceBatch batch = drain(reader);
        EXPECT_EQ(batch.loss.untimed, before + 5);
        EXPECT_GE(batch.loss.total(), 5u);
        TraceStore store;
        store.ingest(batch);
        EXPECT_EQ(store.sources().loss().untimed, before + 5);
    }
    EXPECT_EQ(drain(reader).loss.untimed, before + 5);  // also when nobody writes there any more
}

TEST(DeviceLane, LappedRecordsAreCountedAndTheRestIsWhole) {
    TraceReader reader = own_reader();
    DeviceLane lane("CUDA stream fast");
    constexpr std::uint64_t kSpans = 100'000;
    for (std::uint64_t i = 0; i < kSpans; ++i) {
        DeviceSpan span = work_now(Stage::sort);
        span.payload = i;
        lane.write(span);
    }
    const TraceBatch batch = drain(reader);
    EXPECT_EQ(batch.gpu_work.size() + batch.loss.lapped,
              kSpans + 1);  // the begin was also lapped
    ASSERT_GT(batch.gpu_work.size(), 1000u);
    for (std::size_t i = 0; i < batch.gpu_work.size(); ++i)
        EXPECT_EQ(batch.gpu_work[i].payload, kSpans - batch.gpu_work.size() + i);
}

TEST(DeviceLane, ConcurrentReaderSeesWholeRecordsOnly) {
    TraceReader reader = own_reader();
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        DeviceLane lane("CUDA stream racing");
        for (std::uint64_t i = 1; !stop; ++i) {
            DeviceSpan span = work_now(Stage::sort);
            span.payload = i * 3;
            span.correlation = i;
            lane.write(span);
        }
    });
    std::uint64_t seen = 0, last = 0;
    while (seen < 20'000) {
        const TraceBatch batch = drain(reader);
        for (const GpuWorkEvent& e : batch.gpu_work) {
            ASSERT_EQ(e.payload, e.correlation * 3);
            ASSERT_GT(e.correlation, last);
            last = e.correlation;
            ++seen;
        }
    }
    stop = true;
    writer.join();
}

TEST(DeviceLane, LanesAreGivenBackAndThreadsDoNotGetThem) {
    TraceReader reader = own_reader();
    for (int i = 0; i < 300; ++i) {
        DeviceLane lane("CUDA stream short");
        lane.write(work_now(Stage::sort));
        std::thread([] { const Span span(Stage::load); }).join();
    }
    const TraceBatch batch = drain(reader);
    EXPECT_EQ(batch.loss.dropped, 0u);
    EXPECT_EQ(batch.loss.malformed, 0u);
    EXPECT_EQ(batch.spans.size() + batch.gpu_work.size() + batch.loss.lapped, 600u);
}

TEST(DeviceLane, NothingIsWrittenWhileRecordingIsOffNorInAForkedChild) {
    TraceReader reader = own_reader();
    DeviceLane lane("CUDA stream off");
    lane.write(work_now(Stage::sort));
    EXPECT_EQ(drain(reader).gpu_work.size(), 1u);
    set_recording(false);
    lane.write(work_now(Stage::sort));
    set_recording(true);
    const pid_t pid = ::fork();
    if (pid == 0) {
        lane.write(work(Stage::sort, 1, 2));
        lane.count_untimed(7);
        if (!start_recording()) ::_exit(1);
        lane.write(work_now(Stage::sort));  // into the child's own ring
        auto own = TraceReader::attach_own();
        TraceBatch batch;
        own->drain(batch);
        ::_exit(batch.gpu_work.size() == 1 && batch.loss.untimed == 7 ? 0 : 2);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(drain(reader).gpu_work.empty());
    lane.write(work_now(Stage::sort));
    EXPECT_EQ(drain(reader).gpu_work.size(), 1u);
}

TEST(DeviceLane, RecordsSurviveKill) {
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
        start_recording();
        DeviceLane lane("CUDA stream doomed");
        const Span open(Stage::iteration, 9);
        for (std::uint64_t i = 0; i < 500; ++i) lane.write(work_now(Stage::blend, launch_point()));
        const int fd = ring_fd();
        if (::write(channel[1], &fd, sizeof fd) != sizeof fd) ::_exit(1);
        for (;;) ::pause();
    }
    int child_fd = -1;
    ASSERT_EQ(::read(channel[0], &child_fd, sizeof child_fd),
              static_cast<ssize_t>(sizeof child_fd));
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(child_fd);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    auto reader = TraceReader::attach(fd);
    ::close(fd);
    ::close(channel[0]);
    ::close(channel[1]);
    ASSERT_TRUE(reader) << reader.error().text();
    TraceBatch batch;
    reader->drain(batch);
    EXPECT_EQ(batch.gpu_work.size(), 500u);
    // The launching range never ended, so what is known of it comes from the open ranges.
    ASSERT_EQ(batch.open.size(), 1u);
    for (const GpuWorkEvent& e : batch.gpu_work) {
        EXPECT_EQ(e.launch.track, batch.open[0].track);
        EXPECT_EQ(e.launch.time_ns, batch.open[0].begin_ns);
    }
}

// ---- the store, with numbers worked out by hand ----

constexpr std::int64_t kMilli = 1'000'000;

/// Track 0 is the engine, track 1 a stream.
struct Frames {
    TraceStore store;
    std::int64_t read = 1;
    TraceBatch next() {
        TraceBatch batch{.pid = 7, .read_ns = read++};
        if (batch.read_ns == 1) {
            for (std::size_t i = 0; i < kStageCount; ++i)
                batch.names.push_back({static_cast<std::uint32_t>(i + 1), kStageNames[i]});
            batch.tracks.push_back({0, 7, 70, "engine", false});
            batch.tracks.push_back({1, 7, 0, "CUDA stream training", false, TrackKind::gpu_stream});
        }
        return batch;
    }
    explicit Frames(std::size_t warm_up = 0) : store({.warm_up = warm_up}) {}
};
void cpu(TraceBatch& batch, Stage stage, std::int64_t begin_ms, std::int64_t end_ms, int depth) {
    batch.spans.push_back({begin_ms * kMilli, end_ms * kMilli, 0, 0, string_of(stage),
                           static_cast<std::uint8_t>(depth), false});
}
void gpu(TraceBatch& batch, Stage stage, std::int64_t begin_ms, std::int64_t end_ms,
         std::int64_t launch_ms, int depth = 0) {
    batch.gpu_work.push_back(stage_work({begin_ms * kMilli, end_ms * kMilli, 0, 1, string_of(stage),
                                         static_cast<std::uint8_t>(depth), false},
                                        {launch_ms * kMilli, 0, 1}));
}

TEST(DeviceStore, GpuTimeCountsForTheFrameThatLaunchedItHoweverLate) {
    Frames f;
    TraceBatch first = f.next();
    // Frames of 10 ms on the CPU; the GPU works through them from 25 ms on, 4 ms blend and 2 ms
    // adam each.
    for (int i = 0; i < 3; ++i) {
        cpu(first, Stage::blend, 10 * i + 1, 10 * i + 2, 1);
        cpu(first, Stage::adam, 10 * i + 3, 10 * i + 4, 1);
        cpu(first, Stage::iteration, 10 * i, 10 * i + 9, 0);
    }
    f.store.ingest(first);
    TraceBatch second = f.next();
    for (int i = 0; i < 3; ++i) {
        gpu(second, Stage::blend, 25 + 6 * i, 29 + 6 * i, 10 * i + 1);
        gpu(second, Stage::adam, 29 + 6 * i, 31 + 6 * i, 10 * i + 3);
    }
    f.store.ingest(second);

    const auto history = f.store.frames().history(StatScope::iteration);
    ASSERT_EQ(history.size(), 3u);  // the GPU's spans made no frames
    for (const FrameSample& frame : history) {
        EXPECT_FLOAT_EQ(frame.gpu_ms[slot(Stage::blend)], 4);
        EXPECT_FLOAT_EQ(frame.gpu_busy_ms, 6);
        EXPECT_FLOAT_EQ(frame.total_ms[slot(Stage::blend)], 1);
        EXPECT_EQ(frame.calls[slot(Stage::blend)], 1u);
    }
    EXPECT_TRUE(history[0].gpu_complete);
    EXPECT_TRUE(history[1].gpu_complete);
    EXPECT_FALSE(history[2].gpu_complete);  // nothing launched after it has been seen
    const auto rows = f.store.frames().gpu_statistics(StatScope::iteration);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].stage, Stage::blend);
    EXPECT_EQ(rows[0].samples, 2u);
    EXPECT_NEAR(rows[0].p50_ms, 4, 1e-6);
    EXPECT_NEAR(rows[0].share, 8.0 / 18.0, 1e-6);
    EXPECT_TRUE(std::isnan(rows[0].self_mean_ms));
    EXPECT_NEAR(f.store.frames().statistics(StatScope::iteration)[1].p50_ms, 1, 1e-6);
    EXPECT_EQ(f.store.frames().statistics(StatScope::call)[1].calls, 3u);
    EXPECT_EQ(f.store.frames().gpu_statistics(StatScope::call)[0].calls, 3u);
}

TEST(DeviceStore, GpuTimeThatComesBeforeItsFrameWaitsForIt) {
    Frames f;
    TraceBatch first = f.next();
    gpu(first, Stage::sort, 2, 5, 1);
    gpu(first, Stage::iteration, 1, 6, 0);  // a stage named like a frame makes none
    f.store.ingest(first);
    EXPECT_TRUE(f.store.frames().history(StatScope::iteration).empty());
    TraceBatch second = f.next();
    cpu(second, Stage::iteration, 0, 9, 0);
    f.store.ingest(second);
    ASSERT_EQ(f.store.frames().history(StatScope::iteration).size(), 1u);
    EXPECT_FLOAT_EQ(f.store.frames().history(StatScope::iteration)[0].gpu_ms[slot(Stage::sort)], 3);
    EXPECT_TRUE(f.store.frames().history(StatScope::view_frame).empty());
}

TEST(DeviceStore, LaunchIsFoundAgainForTheArrow) {
    Frames f;
    TraceBatch batch = f.next();
    cpu(batch, Stage::blend, 1, 2, 1);
    cpu(batch, Stage::blend, 4, 5, 1);
    cpu(batch, Stage::iteration, 0, 9, 0);
    gpu(batch, Stage::blend, 2, 3, 1);
    gpu(batch, Stage::blend, 6, 8, 4);
    gpu(batch, Stage::sort, 8, 9, 3);  // launched by a span that was lost
    f.store.ingest(batch);
    const auto spans = f.store.tracks()[1].rows[0].view();
    ASSERT_EQ(spans.size(), 3u);
    const auto second = f.store.timeline().launching_span(1, 0, spans[1]);
    ASSERT_NE(second.span, nullptr);
    EXPECT_EQ(second.span->begin_ns, 4 * kMilli);
    EXPECT_EQ(second.track, 0u);
    EXPECT_EQ(second.row, 1u);
    EXPECT_EQ(f.store.timeline().launching_span(1, 0, spans[2]).span, nullptr);
    EXPECT_EQ(f.store.timeline().launching_span(0, 0, f.store.tracks()[0].rows[0].view()[0]).span,
              nullptr);
}

TEST(DeviceStore, ArrowsStayRightWhenOldSpansGo) {
    TraceStore store({.max_spans = 1000, .warm_up = 0});
    for (int b = 0; b < 40; ++b) {
        TraceBatch batch{.pid = 7, .read_ns = b + 1};
        batch.tracks.push_back({0, 7, 70, "engine", false});
        batch.tracks.push_back({1, 7, 0, "s", false, TrackKind::gpu_stream});
        for (int i = 0; i < 50; ++i) {
            const std::int64_t t = (b * 50 + i) * 10;
            cpu(batch, Stage::iteration, t, t + 5, 0);
            gpu(batch, Stage::blend, t + 6, t + 8, t, 0);
            batch.gpu_work.back().launch.row = 0;
        }
        store.ingest(batch);
    }
    const TraceTrack& stream = store.tracks()[1];
    ASSERT_EQ(stream.rows[0].size(), stream.launches[0].size());
    std::size_t found = 0;
    for (const TraceSpan& span : stream.rows[0].view())
        if (const auto by = store.timeline().launching_span(1, 0, span); by.span != nullptr) {
            EXPECT_EQ(by.span->begin_ns, span.begin_ns - 6 * kMilli);
            ++found;
        }
    EXPECT_GE(found + 1, stream.rows[0].size());
}

TEST(DeviceStore, CsvHasGpuColumns) {
    StageStats cpu_row, gpu_row, only_gpu;
    cpu_row.stage = gpu_row.stage = Stage::blend;
    cpu_row.mean_ms = 2;
    gpu_row.mean_ms = 3;
    only_gpu.stage = Stage::sort;
    only_gpu.mean_ms = 4;
    const std::string csv = stage_table_csv(std::array{cpu_row}, std::array{only_gpu, gpu_row});
    EXPECT_NE(csv.find(",gpu_samples,gpu_mean_ms,"), std::string::npos);
    EXPECT_NE(csv.find("\nsort,,,,,,,,,,,,0,4,"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\nblend,0,0,2,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace gs
