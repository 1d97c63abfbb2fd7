// The device layer: its errors, its counters, and the calls that a steady frame must not make.
// Runs on the emulated runtime, which can be made to fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "renderer/device/cuda/device.h"
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/device/cuda/runtime.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/required.h"

namespace {

namespace emu = gs::emulator;
using namespace gs;
using namespace gs::cuda;
using ::testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string error_of(const std::function<void()>& f, bool out_of_memory) {
    try {
        f();
    } catch (const DeviceError& error) {
        EXPECT_EQ(error.out_of_memory(), out_of_memory);
        return error.what();
    }
    return "no error";
}

// ---- which device

// cuda_device_info() looks once per process, so each answer needs a process.
[[noreturn]] void say_device(emu::Device device) {
    emu::set_device(device);
    const auto info = cuda_device_info(0);
    const auto memory = cuda_memory(0);
    if (info.has_value() != memory.has_value()) std::exit(1);
    std::fputs(info ? info->name.c_str() : info.error().text().c_str(), stderr);
    cuda_profiler_start(0);
    cuda_profiler_stop(0);
    std::exit(0);
}

using CudaDeviceDeathTest = ::testing::TestWithParam<std::pair<emu::Device, const char*>>;
TEST_P(CudaDeviceDeathTest, SaysWhatThereIsAndWhatToDo) {
    EXPECT_EXIT(say_device(GetParam().first), ::testing::ExitedWithCode(0), GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(
    Devices, CudaDeviceDeathTest,
    ::testing::Values(
        std::pair{emu::Device::present, "emulated CUDA device"},
        std::pair{emu::Device::no_driver, "no NVIDIA driver .install the driver"},
        std::pair{
            emu::Device::old_driver,
            "driver 11.4, this build needs 13.0 or newer .update the driver or build with an older "
            "toolkit.$"},
        std::pair{emu::Device::absent, "no NVIDIA GPU is visible .see nvidia-smi"},
        std::pair{emu::Device::old_architecture,
                  "has architecture 6.1; the oldest supported one is 7.5 .Turing."}));

TEST(CudaDevice, DescribesTheDeviceAndItsMemory) {
    const auto info = required(cuda_device_info(0));
    EXPECT_GE(info.compute_major * 10 + info.compute_minor, 75);
    EXPECT_GT(info.multiprocessors, 0);
    EXPECT_GT(info.clock_khz, 0);
    EXPECT_GT(info.memory_clock_khz, 0);
    EXPECT_GT(info.memory_bus_bits, 0);
    EXPECT_GT(info.l2_bytes, 0u);
    EXPECT_GE(info.shared_bytes_per_block, 48u * 1024);
    EXPECT_EQ(info.runtime_version / 1000, 13);
    EXPECT_THAT(info.uuid,
                ::testing::MatchesRegex("GPU-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+"));
    const auto absent = cuda_device_info(7);
    ASSERT_FALSE(absent.has_value());
    EXPECT_EQ(absent.error().message, "no CUDA device 7, only 1");

    // Looked up once: asking again makes no call.
    const emu::Calls before = emu::calls();
    (void)cuda_device_info(0);
    EXPECT_TRUE(emu::difference(before, emu::calls()).empty());
}

TEST(CudaDevice, HeldBytesAreCounted) {
    const auto before = required(cuda_memory(0));
    {
        const Stream stream("test");
        DeviceBuffer<float> buffer("numbers");
        buffer.resize_discard(1000, stream);
        EXPECT_EQ(cuda_memory(0)->held_bytes, before.held_bytes + 4000);
        DeviceBuffer<float> other(std::move(buffer));
        other.resize_discard(2000, stream);
        EXPECT_EQ(cuda_memory(0)->held_bytes, before.held_bytes + 8000);
        EXPECT_LT(cuda_memory(0)->free_bytes, before.free_bytes);
    }
    EXPECT_EQ(cuda_memory(0)->held_bytes, before.held_bytes);
}

// ---- memory

TEST(CudaDevice, OutOfMemoryNamesThePurpose) {
    const Stream stream("test");
    DeviceBuffer<float> moments("Adam moments");
    const std::vector<float> values{1, 2, 3};
    moments.upload(values, stream);
    emu::set_device_bytes(300 * kMiB);
    const std::string said =
        error_of([&] { moments.resize_discard(400 * kMiB / 4, stream); }, true);
    emu::set_device_bytes(std::size_t{16} << 30);
    EXPECT_THAT(said, HasSubstr("out of device memory: 0.4 GiB for 'Adam moments', "));
    EXPECT_THAT(said, HasSubstr(" of 0.3 GiB free"));
    // The error was taken; what the buffer held is gone, and it can be used again.
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(moments.size(), 0u);
    EXPECT_EQ(moments.capacity_bytes(), 0u);
    moments.upload(values, stream);
    std::vector<float> again(3);
    moments.download(again, stream);
    stream.synchronize();
    EXPECT_EQ(again, values);

    emu::fail_pinned_allocation(1);
    EXPECT_EQ(error_of([] { PinnedBuffer<char>(3 * kMiB, "loss read-back"); }, true),
              "out of page-locked memory: 3.0 MiB for 'loss read-back'");
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaDevice, BuffersKeepTheirRoom) {
    const Stream stream("test");
    DeviceBuffer<std::uint32_t> buffer("numbers");
    buffer.resize_discard(100, stream);
    const emu::Calls before = emu::calls();
    buffer.resize_discard(10, stream);
    buffer.resize_discard(100, stream);
    EXPECT_TRUE(emu::difference(before, emu::calls()).empty());
    EXPECT_EQ(buffer.capacity_bytes(), 400u);
    buffer.upload({}, stream);
    EXPECT_EQ(buffer.size(), 0u);
}

TEST(CudaDevice, ArenaIsCarvedAnewEachTime) {
    const Stream stream("test");
    Arena arena("arrays of a test");
    const std::size_t bytes = Arena::bytes_of<float>(100) + Arena::bytes_of<std::uint8_t>(1);
    EXPECT_EQ(bytes, 512u + 256u);
    arena.reset(bytes, stream);
    EXPECT_EQ(arena.bytes(), bytes);  // the first size is exact
    float* first = arena.take<float>(100);
    auto* second = arena.take<std::uint8_t>(1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 256, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) - reinterpret_cast<std::uintptr_t>(first),
              512u);

    const emu::Calls before = emu::calls();
    for (int frame = 0; frame < 3; ++frame) {
        arena.reset(bytes, stream);
        EXPECT_EQ(arena.take<float>(100), first);
    }
    EXPECT_TRUE(emu::difference(before, emu::calls()).empty());
    arena.reset(1000, stream);
    EXPECT_EQ(arena.bytes(), 1280u);  // in 256s, and a quarter more
    EXPECT_EQ(arena.high_water(), bytes);
    EXPECT_DEATH(arena.take<std::byte>(2000), "0 of 1280 bytes are used, 2048 more are needed");
}

TEST(CudaDevice, ArenaDoesWithoutTheQuarter) {
    const Stream stream("test");
    Arena arena("arrays of a test");
    arena.reset(1000, stream);
    emu::fail_device_allocation(1);
    arena.reset(2000, stream);
    EXPECT_EQ(arena.bytes(), 2048u);
    // Not even that: the error says so, and the next reset starts from nothing.
    emu::set_device_bytes(1 * kMiB);
    EXPECT_THAT(error_of([&] { arena.reset(8 * kMiB, stream); }, true),
                HasSubstr("'arrays of a test'"));
    emu::set_device_bytes(std::size_t{16} << 30);
    EXPECT_EQ(arena.bytes(), 0u);
    arena.reset(500, stream);
    EXPECT_NE(arena.take<float>(100), nullptr);
}

// ---- streams, events, launches

TEST(CudaDevice, EventsAreAskedNotWaitedFor) {
    const Stream stream("test"), other("other");
    Event event;
    EXPECT_TRUE(event.reached());  // never recorded
    emu::set_event_lag(2);
    const emu::Calls before = emu::calls();
    event.record(stream);
    EXPECT_FALSE(event.reached());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // "not yet" is no error
    EXPECT_FALSE(event.reached());
    EXPECT_TRUE(event.reached());
    event.hold(other);
    EXPECT_EQ(emu::synchronizations(emu::difference(before, emu::calls())), 0u);
    emu::set_event_lag(0);

    Event begin(Event::Timing::on), end(Event::Timing::on);
    begin.record(stream);
    end.record(stream);
    stream.synchronize();
    EXPECT_GE(end.milliseconds_since(begin), 0);
    EXPECT_THAT(error_of([&] { (void)event.milliseconds_since(begin); }, false),
                HasSubstr("time between two events"));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaDevice, ErrorsSayWhatAndWhereOnce) {
    const std::string said = error_of([] { check(cudaErrorInvalidValue, "blend"); }, false);
    EXPECT_THAT(said, ::testing::StartsWith("blend: invalid argument (cuda_device_test.cpp:"));
    EXPECT_THAT(error_of([] { check(cudaErrorIllegalAddress, "blend"); }, false),
                HasSubstr("the process has lost the device"));
    EXPECT_NO_THROW(check(cudaSuccess, "blend"));
}

struct FillParams {
    std::uint32_t* out;  ///< [n]
    std::uint32_t n;
};
void GS_KERNEL(64, 1) fill(FillParams p) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) p.out[i] = i;
}

TEST(CudaDevice, LaunchesCoverTheirItems) {
    const Stream stream("test");
    DeviceBuffer<std::uint32_t> buffer("numbers");
    for (const std::uint32_t n : {0u, 1u, 64u, 65u, 1000u}) {
        buffer.resize_discard(n, stream);
        const std::uint64_t launched = emu::calls("launch");
        launch(stream, "fill", grid_for(n, 64), fill, FillParams{buffer.data(), n});
        EXPECT_EQ(emu::calls("launch") - launched,
                  n == 0 ? 0u : 1u);  // an empty grid launches nothing
        std::vector<std::uint32_t> values(n);
        buffer.download(values, stream);
        stream.synchronize();
        for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(values[i], i);
    }
}

TEST(CudaDevice, NothingIsLeft) {
    const emu::LiveObjects before = emu::live_objects();
    const std::size_t allocations = emu::live_allocations().size();
    {
        const Stream stream("test");
        Event event, moved(std::move(event));
        DeviceBuffer<float> buffer("numbers");
        buffer.resize_discard(10, stream);
        DeviceBuffer<float> other("others");
        other = std::move(buffer);
        PinnedBuffer<float> pinned(10, "numbers"), taken(std::move(pinned));
        EXPECT_EQ(emu::live_allocations().size(), allocations + 2);
    }
    EXPECT_EQ(emu::live_objects().streams, before.streams);
    EXPECT_EQ(emu::live_objects().events, before.events);
    EXPECT_EQ(emu::live_allocations().size(), allocations);
}

}  // namespace
