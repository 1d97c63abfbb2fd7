// The ring's version 1.2, written as the injection library writes it: names with domain and colour,
// ranges that overlap, kinds of payloads, CUPTI's activity lane, the service's words - and memory
// that only its owner can write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "base/machine_use.h"
#include "base/parallel.h"
#include "base/record/activity_lane.h"
#include "base/record/machine_counters.h"
#include "base/record/scope.h"
#include "base/record/service_status.h"
#include "profiler/collect/reader.h"
#include "tests/support/own_ring.h"

namespace gs {
namespace {

const NameInfo* info_of(const TraceBatch& batch, StringId name) {
    const auto found = std::ranges::find(batch.names, name, &NameInfo::name);
    return found == batch.names.end() ? nullptr : &*found;
}

TEST(Ring12, ANameInAnotherDomainIsAnotherName) {
    TraceReader reader = required(TraceReader::attach_own());
    const StringId domain = register_string("gsplat");
    const StringId plain = register_string("rasterize");
    const StringId theirs = register_string("rasterize", domain, 0x0112AB34);
    const StringId category = register_category("rasterize", domain, 7);
    EXPECT_NE(plain, theirs);
    EXPECT_NE(category, theirs);
    EXPECT_EQ(register_string("rasterize", domain, 0x0112AB34), theirs);
    const TraceBatch batch = drain(reader);
    ASSERT_NE(info_of(batch, theirs), nullptr);
    EXPECT_EQ(info_of(batch, theirs)->text, "rasterize");
    EXPECT_EQ(info_of(batch, theirs)->domain, "gsplat");
    EXPECT_EQ(info_of(batch, theirs)->color, 0x0112AB34u);
    EXPECT_EQ(info_of(batch, plain)->domain, "");
    EXPECT_EQ(info_of(batch, category)->category, 7u);
}

TEST(Ring12, OverlappingRangesAndPayloadKindsComeOut) {
    TraceReader reader = required(TraceReader::attach_own());
    drain(reader);
    const StringId name = register_string("transfer");
    const std::uint64_t begin = read_ticks();
    {
        const Span nested(Stage::load);  // does not nest with the range
        detail::write_record_at(
            detail::thread_lane, 255, abi::RecordKind::async_span, begin, read_ticks(),
            std::bit_cast<std::uint64_t>(-2.5), name,
            abi::kHasPayload | abi::kPayloadIsDouble | 9 << abi::kCategoryShift);
    }
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.async_spans.size(), 1u);
    const AsyncSpanEvent& e = batch.async_spans[0];
    EXPECT_EQ(e.name, name);
    EXPECT_LT(e.begin_ns, e.end_ns);
    EXPECT_EQ(e.payload_kind, PayloadKind::real);
    EXPECT_EQ(std::bit_cast<double>(e.payload), -2.5);
    EXPECT_EQ(e.category, 9);
    ASSERT_EQ(batch.spans.size(), 1u);
    EXPECT_EQ(batch.loss.total(), 0u);
}

std::uint64_t realtime() { return clock_ns(CLOCK_REALTIME); }

abi::ActivityRecord kernel_at(std::uint64_t begin, std::uint32_t correlation, StringId name) {
    abi::ActivityRecord record{};
    record.begin = begin;
    record.end = begin + 1000;
    record.correlation = correlation;
    record.name = name;
    record.kind = static_cast<std::uint8_t>(abi::ActivityKind::kernel);
    record.stream = 7;
    abi::KernelDetail detail{};
    detail.grid_x = correlation;
    std::memcpy(record.detail, &detail, sizeof detail);
    return record;
}

/// A process has one.
ActivityLane& activity_lane() {
    static ActivityLane lane;
    return lane;
}

TEST(Ring12, ActivitiesAreTimedByCuptisClock) {
    TraceReader reader = required(TraceReader::attach_own());
    const StringId name = register_string("blend_kernel");
    set_cupti_clock(
        []() -> std::uint64_t { return realtime() - 5'000'000; });  // a clock of its own
    publish_clock_snapshot();
    publish_clock_snapshot();
    ActivityLane& lane = activity_lane();
    const std::uint64_t before = monotonic_ns();
    const std::uint64_t begin = realtime() - 5'000'000;
    const std::uint64_t after = monotonic_ns();
    const std::uint64_t written = lane.written();
    set_recording(false);  // what CUPTI delivers late is taken all the same
    ASSERT_TRUE(lane.write(kernel_at(begin, 42, name)));
    set_recording(true);
    EXPECT_EQ(lane.written(), written + 1);
    const TraceBatch batch = drain(reader);
    ASSERT_EQ(batch.gpu_work.size(), 1u);
    EXPECT_EQ(batch.gpu_work[0].correlation, 42u);
    EXPECT_EQ(batch.gpu_work[0].name, name);
    EXPECT_GE(batch.gpu_work[0].begin_ns, static_cast<std::int64_t>(before) - 100'000);
    EXPECT_LE(batch.gpu_work[0].begin_ns, static_cast<std::int64_t>(after) + 100'000);
    EXPECT_NEAR(static_cast<double>(batch.gpu_work[0].end_ns - batch.gpu_work[0].begin_ns), 1000,
                10);
    set_cupti_clock(nullptr);
}

TEST(Ring12, TheActivityLaneHoldsABurst) {
    TraceReader reader = required(TraceReader::attach_own());
    set_cupti_clock(realtime);
    publish_clock_snapshot();
    drain(reader);
    const StringId name = register_string("burst_kernel");
    ActivityLane& lane = activity_lane();
    constexpr std::uint32_t kKernels = 60'000;
    for (std::uint32_t i = 0; i < kKernels; ++i) lane.write(kernel_at(realtime(), i, name));
    TraceBatch batch = drain(reader);
    std::size_t seen = batch.gpu_work.size();
    for (int i = 0; i < 100 && seen < kKernels; ++i) {
        batch = drain(reader);
        seen += batch.gpu_work.size();
    }
    EXPECT_EQ(seen, kKernels);
    EXPECT_EQ(batch.loss.lapped, 0u);
    set_cupti_clock(nullptr);
}

TEST(Ring12, TheServiceSaysHowItDoes) {
    TraceReader reader = required(TraceReader::attach_own());
    set_cupti_state(abi::CuptiState::held, "nsys has it");
    set_cupti_dropped(12);
    set_budget_words(10'000, 250'000);
    count_budget_skipped(34);
    set_service_cpu_ns(5'000'000);
    abi::GpuDevice device{};
    device.name = register_string("NVIDIA H200");
    device.multiprocessors = 132;
    write_gpu_device(1, device);
    write_gpu_device(99, device);  // has no slot
    const TraceBatch batch = drain(reader);
    ASSERT_TRUE(batch.service);
    EXPECT_EQ(batch.service->cupti, abi::CuptiState::held);
    EXPECT_EQ(batch.service->cupti_reason, "nsys has it");
    EXPECT_EQ(batch.service->cupti_dropped, 12u);
    EXPECT_EQ(batch.service->budget_skipped, 34u);
    EXPECT_DOUBLE_EQ(batch.service->budget, 0.01);
    EXPECT_DOUBLE_EQ(batch.service->duty, 0.25);
    EXPECT_EQ(batch.service->service_cpu_ns, 5'000'000);
    ASSERT_EQ(batch.devices.size(), 1u);
    EXPECT_EQ(batch.devices[0].device, 1u);
    EXPECT_EQ(batch.devices[0].name, "NVIDIA H200");
    EXPECT_EQ(batch.devices[0].multiprocessors, 132);
}

/// What a client can do that was handed the memfd.
TEST(Ring12, AClientCannotWrite) {
    ASSERT_TRUE(start_recording());
    const int handed = ::dup(ring_fd());
    void* readable = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, handed, 0);
    ASSERT_NE(readable, MAP_FAILED);
    EXPECT_EQ(::mprotect(readable, 4096, PROT_READ | PROT_WRITE), -1);
    ::munmap(readable, 4096);
    EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, handed, 0), MAP_FAILED);
    EXPECT_EQ(::pwrite(handed, "x", 1, 0), -1);
    EXPECT_EQ(::ftruncate(handed, 0), -1);

    // The same user may open it again for writing, if the kernel knows the seal (5.1).
    constexpr int kSealFutureWrite = 0x0010;
    const int seals = ::fcntl(handed, F_GET_SEALS);
    if ((seals & kSealFutureWrite) == 0) GTEST_SKIP() << "this kernel has no F_SEAL_FUTURE_WRITE";
    const std::string path = "/proc/self/fd/" + std::to_string(handed);
    const int again = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (again >= 0) {
        EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
        EXPECT_EQ(::pwrite(again, "x", 1, 0), -1);
        ::close(again);
    }
    ::close(handed);

    TraceReader reader = required(TraceReader::attach_own());  // and the owner still can
    drain(reader);
    { const Span span(Stage::load, 3); }
    EXPECT_EQ(drain(reader).spans.size(), 1u);
}

TEST(MachineCounters, WhatTheMachineGaveAndWhatLoopsMadeOfIt) {
    TraceReader reader = required(TraceReader::attach_own());
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<std::uint64_t> sum{0};
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(400)) {
        parallel_for(64, 1, [&](std::size_t i) {
            std::uint64_t n = i;
            for (int k = 0; k < 20'000; ++k) n = n * 6364136223846793005ull + 1;
            sum += n;
        });
        record_machine_use();
    }
    const TraceBatch batch = drain(reader);
    const auto values = [&](const char* name) {
        std::vector<double> out;
        for (const CounterEvent& e : batch.counters)
            if (batch.names.at(e.name - 1).text == name) out.push_back(e.value);
        return out;
    };
    for (const char* name :
         {machine_counter::kWaited, machine_counter::kInLoops, machine_counter::kWorkersBusy}) {
        ASSERT_FALSE(values(name).empty()) << name;
        for (const double value : values(name)) {
            EXPECT_GE(value, 0) << name;
            EXPECT_LE(value, 100) << name;
        }
    }
    // The process did nothing but these loops, but others may also use the machine.
    EXPECT_GT(values(machine_counter::kInLoops).back(), 50);
    EXPECT_GT(values(machine_counter::kCpusUsed).back(), 0.01);
    EXPECT_GE(values(machine_counter::kCpus).back(), 1);
    EXPECT_GE(values(machine_counter::kThreads).back(), 1);
    EXPECT_FALSE(values(machine_counter::kSwitches).empty());
    EXPECT_FALSE(values(machine_counter::kLoad).empty());
    EXPECT_LE(values(machine_counter::kWaited).size(), 4u);  // 60, 180, 420 ms, not at every call
}

TEST(ParallelLoops, ThreadsThatHelpHaveRowsOfTheirOwn) {
    if (thread_count() < 2) GTEST_SKIP() << "one CPU: nobody helps";
    TraceReader reader = required(TraceReader::attach_own());
    constexpr std::size_t kTasks = 40;
    {
        const Span span(Stage::blend);
        parallel_for(kTasks, 1, [](std::size_t) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    }
    EXPECT_THROW(parallel_for(kTasks, 1,
                              [](std::size_t i) {
                                  if (i == 3) throw std::runtime_error("stop");
                                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              }),
                 std::runtime_error);
    const TraceBatch batch = drain(reader);
    std::uint64_t helped = 0, length = 0;
    for (const SpanEvent& e : batch.spans) {
        const std::string& name = batch.names.at(e.name - 1).text;
        if (name == "tasks of blend") {
            helped += e.payload;
            length = static_cast<std::uint64_t>(e.end_ns - e.begin_ns);
        }
    }
    EXPECT_GT(helped, 0u);
    EXPECT_LT(helped, kTasks) << "the caller does its part";
    EXPECT_GE(length, 1'000'000u);
}

}  // namespace
}  // namespace gs
