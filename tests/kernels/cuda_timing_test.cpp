// StageTimers on the emulated runtime: what a stream did appears in the trace, within the span that
// launched it or after it, in order; nobody waits, nothing is allocated; what cannot be timed is
// counted.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/record/scope.h"
#include "profiler/collect/reader.h"
#include "profiler/store/store.h"
#include "renderer/device/cuda/ceilings.h"
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/device/cuda/stage_timer.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/own_ring.h"
#include "tests/support/required.h"

namespace gs::cuda {
namespace {

using Clock = std::chrono::steady_clock;

struct SpinParams {
    double milliseconds;
};
void GS_KERNEL(32, 1) spin(SpinParams p) {
    if (lane_id() != 0) return;
    const auto until = Clock::now() + std::chrono::duration<double, std::milli>(p.milliseconds);
    while (Clock::now() < until) {
    }
}
void work(const Stream& stream, double milliseconds) {
    launch(stream, "spin", {1, 32}, spin, SpinParams{milliseconds});
}

class StageTimersTest : public testing::Test {
  protected:
    void SetUp() override {
        emulator::set_execution(emulator::Execution::eager);
        emulator::set_event_lag(0);
        auto reader = required(TraceReader::attach_own());
        reader_ = std::make_unique<TraceReader>(std::move(reader));
        drain();
    }
    void TearDown() override {
        emulator::set_execution(emulator::Execution::eager);
        emulator::set_event_lag(0);
    }
    TraceBatch drain() {
        publish_clock_snapshot();
        TraceBatch batch;
        reader_->drain(batch);
        return batch;
    }
    std::unique_ptr<TraceReader> reader_;
};

TEST_F(StageTimersTest, StagesAppearWithTheirTimesAndTheSpanThatLaunchedThem) {
    const Stream stream("test");
    StageTimers timers(stream);
    EXPECT_TRUE(std::isnan(timers.newest_ms(Stage::blend)));
    for (std::uint64_t step = 1; step <= 5; ++step) {
        const Span iteration(Stage::iteration, step);
        {
            const Span span(Stage::sort);
            const StageTimer timer(timers, Stage::sort);
            work(stream, 1);
        }
        {
            const Span span(Stage::blend);
            const int handle = timers.begin(Stage::blend, step, true);
            work(stream, 3);
            timers.end(handle);
        }
        timers.poll();
    }
    const TraceBatch batch = drain();
    ASSERT_EQ(batch.gpu_work.size(), 10u);
    std::int64_t last_end = 0;
    for (std::size_t i = 0; i < 10; ++i) {
        const GpuWorkEvent& e = batch.gpu_work[i];
        const bool blend = i % 2 == 1;
        EXPECT_EQ(e.name, string_of(blend ? Stage::blend : Stage::sort));
        EXPECT_EQ(e.has_payload, blend);
        EXPECT_EQ(e.correlation, i + 1);
        const double ms = static_cast<double>(e.end_ns - e.begin_ns) * 1e-6;
        EXPECT_GE(ms, blend ? 2.99 : 0.99);
        EXPECT_GE(e.begin_ns, last_end);
        EXPECT_GE(e.begin_ns, e.launch.time_ns);
        EXPECT_LE(e.end_ns, batch.read_ns);
        last_end = e.end_ns;
        // The launching span is in the same batch, with the same begin.
        const auto launched = [&](const SpanEvent& s) {
            return s.track == e.launch.track && s.depth == e.launch.row &&
                   s.begin_ns == e.launch.time_ns;
        };
        const auto cpu = std::find_if(batch.spans.begin(), batch.spans.end(), launched);
        ASSERT_NE(cpu, batch.spans.end());
        EXPECT_EQ(cpu->name, e.name);
        // The emulator works while launching, so the two are the same time by two clocks.
        EXPECT_NEAR(static_cast<double>(e.begin_ns - cpu->begin_ns), 0, 1e6);
        EXPECT_NEAR(static_cast<double>(e.end_ns - cpu->end_ns), 0, 1e6);
    }
    EXPECT_GE(timers.newest_ms(Stage::blend), 2.99);
    EXPECT_EQ(timers.missed(), 0u);
    TraceStore store({.warm_up = 0});
    auto fresh = TraceReader::attach_own();
    drain_ring(*fresh, store);
    const auto rows = store.frames().gpu_statistics(StatScope::iteration);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_GE(rows[1].p50_ms, 2.99);
}

TEST_F(StageTimersTest, NestedStagesStayInside) {
    const Stream stream("nested");
    StageTimers timers(stream);
    {
        const StageTimer outer(timers, Stage::iteration);
        for (int i = 0; i < 3; ++i) {
            const StageTimer inner(timers, Stage::blend);
            work(stream, 0.2);
        }
    }
    timers.poll();
    const TraceBatch batch = drain();
    ASSERT_EQ(batch.gpu_work.size(), 4u);
    const GpuWorkEvent& outer = batch.gpu_work[3];
    EXPECT_EQ(outer.depth, 0);
    for (std::size_t i = 0; i < 3; ++i) {
        const GpuWorkEvent& inner = batch.gpu_work[i];
        EXPECT_EQ(inner.depth, 1);
        EXPECT_GE(inner.begin_ns, outer.begin_ns);
        EXPECT_LE(inner.end_ns, outer.end_ns);
    }
}

TEST_F(StageTimersTest, NobodyWaitsAndNothingIsAllocated) {
    const Stream stream("steady");
    StageTimers timers(stream);
    emulator::set_execution(emulator::Execution::deferred);
    emulator::set_event_lag(3);
    const auto step = [&] {
        const Span span(Stage::blend);
        const StageTimer timer(timers, Stage::blend);
        work(stream, 0);
    };
    for (int i = 0; i < 10; ++i) step(), timers.poll();
    const auto before = emulator::calls();
    for (int i = 0; i < 50; ++i) step(), timers.poll();
    const auto made = emulator::difference(before, emulator::calls());
    EXPECT_EQ(emulator::allocations(made), 0u);
    EXPECT_EQ(emulator::synchronizations(made), 0u);
    EXPECT_EQ(made.count("cudaEventCreateWithFlags"), 0u);
    EXPECT_EQ(timers.missed(), 0u);
    EXPECT_GT(drain().gpu_work.size(), 5u);
}

TEST_F(StageTimersTest, AnExhaustedPoolCountsWhatItMisses) {
    const Stream stream("behind");
    StageTimers timers(stream);
    emulator::set_event_lag(1u << 30);  // the GPU never gets there
    for (int i = 0; i < 400; ++i) {
        const StageTimer timer(timers, Stage::sort);
        timers.poll();
    }
    EXPECT_GT(timers.missed(), 0u);
    EXPECT_LT(timers.missed(), 400u);
    emulator::set_event_lag(0);
}

TEST_F(StageTimersTest, MissedStagesAreLossesOfTheTrace) {
    const Stream stream("lossy");
    StageTimers timers(stream);
    { const StageTimer timer(timers, Stage::sort); }
    timers.poll();
    const std::uint64_t before = drain().loss.untimed;
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    {
        const StageTimer timer(timers, Stage::sort);  // no time while a graph is captured
        work(stream, 0);
    }
    ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(timers.missed(), 1u);
    EXPECT_EQ(drain().loss.untimed, before + 1);
}

TEST_F(StageTimersTest, OffMeansOff) {
    const Stream stream("off");
    StageTimers timers(stream);
    timers.enable(false);
    const auto before = emulator::calls("cudaEventRecord");
    { const StageTimer timer(timers, Stage::sort); }
    EXPECT_EQ(emulator::calls("cudaEventRecord"), before);
    EXPECT_EQ(timers.missed(), 0u);
    timers.enable(true);
    { const StageTimer timer(timers, Stage::sort); }
    EXPECT_GT(emulator::calls("cudaEventRecord"), before);
}

TEST_F(StageTimersTest, StaysRightOverManyAnchors) {
    const Stream stream("long");
    StageTimers timers(stream);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> host;
    const auto until =
        Clock::now() + std::chrono::milliseconds(1600);  // six refreshes, and a measured rate
    while (Clock::now() < until) {
        {
            const Span span(Stage::blend);
            const StageTimer timer(timers, Stage::blend);
            work(stream, 0.5);
        }
        timers.poll();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const TraceBatch batch = drain();
    ASSERT_GT(batch.gpu_work.size(), 50u);
    std::vector<double> late;
    std::int64_t last_end = 0;
    for (const GpuWorkEvent& e : batch.gpu_work) {
        EXPECT_GE(e.begin_ns, last_end);
        last_end = e.end_ns;
        late.push_back(static_cast<double>(e.begin_ns - e.launch.time_ns) * 1e-3);
    }
    std::sort(late.begin(), late.end());
    // Begun when launched, in the emulator: microseconds of the calls between, whatever the anchors
    // were.
    EXPECT_GE(late.front(), 0);
    EXPECT_LT(late[late.size() / 2], 100) << "us";
}

TEST(CudaCeilings, EveryKernelRunsAndEveryFigureIsThere) {
    CeilingEffort effort{.copy_bytes = 1u << 16,
                         .rounds = 32,
                         .blocks_per_multiprocessor = 1,
                         .launches = 10,
                         .repeats = 1};
    const auto live = emulator::live_allocations().size();
    const auto c = required(measure_cuda_ceilings(0, effort));
    EXPECT_TRUE(c.cuda);
    EXPECT_FALSE(c.machine.empty());
    for (const double figure :
         {c.copy_bytes, c.lane_operations, c.special_operations, c.shared_bytes, c.atomics_spread,
          c.atomics_contended, c.launch_seconds, c.launch_interval_seconds})
        EXPECT_GT(figure, 0);
    EXPECT_TRUE(std::isnan(c.blend_pairs));
    EXPECT_EQ(emulator::live_allocations().size(), live);
    EXPECT_FALSE(measure_cuda_ceilings(7, effort));
}

}  // namespace
}  // namespace gs::cuda
