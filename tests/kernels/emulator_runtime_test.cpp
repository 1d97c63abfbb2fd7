// The emulated runtime: when work happens, what is counted, captured, refused and left behind.
#include <cuda_gl_interop.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/emulator_launch.h"

namespace {

namespace emu = gs::emulator;

struct AddParams {
    int* values;
    int amount;
};
void GS_KERNEL(32, 1) add(AddParams p) { p.values[threadIdx.x] += p.amount; }

/// A stream, 32 ints on the device and 32 in pinned memory; and the emulator as it was before.
class EmulatorRuntime : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&device_, kBytes), cudaSuccess);
        ASSERT_EQ(cudaMallocHost(&pinned_, kBytes), cudaSuccess);
        ASSERT_EQ(cudaMemsetAsync(device_, 0, kBytes, stream_), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
        for (int i = 0; i < 32; ++i) pinned_[i] = -1;
    }
    void TearDown() override {
        emu::set_execution(emu::Execution::eager);
        emu::set_event_lag(0);
        EXPECT_EQ(cudaFree(device_), cudaSuccess);
        EXPECT_EQ(cudaFreeHost(pinned_), cudaSuccess);
        EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
        EXPECT_TRUE(emu::live_allocations().empty());
        const emu::LiveObjects left = emu::live_objects();
        EXPECT_EQ(
            left.streams + left.events + left.graphs + left.executables + left.graphics_resources,
            0u);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
    void add_on(cudaStream_t stream, int amount) {
        emu::run(add, AddParams{device_, amount}, 1, 32, stream);
    }
    void read_on(cudaStream_t stream) {
        ASSERT_EQ(cudaMemcpyAsync(pinned_, device_, kBytes, cudaMemcpyDeviceToHost, stream),
                  cudaSuccess);
    }
    static constexpr std::size_t kBytes = 32 * sizeof(int);
    cudaStream_t stream_ = nullptr;
    int* device_ = nullptr;
    int* pinned_ = nullptr;
};

TEST_F(EmulatorRuntime, EagerWorkIsDoneAtOnce) {
    add_on(stream_, 5);
    read_on(stream_);
    EXPECT_EQ(pinned_[31], 5);
}

TEST_F(EmulatorRuntime, DeferredWorkWaitsForSomebodyToWait) {
    emu::set_execution(emu::Execution::deferred);
    add_on(stream_, 5);
    read_on(stream_);
    EXPECT_EQ(pinned_[0], -1);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(pinned_[0], 5);
    add_on(stream_, 1);
    read_on(stream_);
    EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);  // a query also runs the work
    EXPECT_EQ(pinned_[0], 6);
}

TEST_F(EmulatorRuntime, PinnedSourcesAreReadLatePageableOnesAtOnce) {
    emu::set_execution(emu::Execution::deferred);
    std::vector<int> pageable(32, 1);
    for (int i = 0; i < 32; ++i) pinned_[i] = 10;
    int* other = nullptr;
    ASSERT_EQ(cudaMalloc(&other, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(device_, pageable.data(), kBytes, cudaMemcpyHostToDevice, stream_),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(other, pinned_, kBytes, cudaMemcpyHostToDevice, stream_),
              cudaSuccess);
    pageable.assign(32, 2);
    for (int i = 0; i < 32; ++i) pinned_[i] = 20;
    const emu::Calls before = emu::calls();
    std::vector<int> first(32),
        second(32);  // into pageable memory: done when the call returns, and counted as a wait
    ASSERT_EQ(cudaMemcpyAsync(first.data(), device_, kBytes, cudaMemcpyDeviceToHost, stream_),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(second.data(), other, kBytes, cudaMemcpyDeviceToHost, stream_),
              cudaSuccess);
    EXPECT_EQ(first, std::vector<int>(32, 1));
    EXPECT_EQ(second, std::vector<int>(32, 20));
    EXPECT_EQ(emu::synchronizations(emu::difference(before, emu::calls())), 2u);
    EXPECT_EQ(cudaFree(other), cudaSuccess);
}

TEST_F(EmulatorRuntime, EventsLagBehind) {
    emu::set_event_lag(2);
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
    for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
        EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
        EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
        EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
        EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    }
    ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // the whole stream was waited for
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
}

TEST_F(EmulatorRuntime, StreamsKeepToTheirEvents) {
    emu::set_execution(emu::Execution::deferred);
    cudaStream_t second = nullptr;
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    add_on(stream_, 1);
    ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
    add_on(stream_, 100);
    ASSERT_EQ(cudaStreamWaitEvent(second, event), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, second),
              cudaSuccess);  // the wait keeps to the record it was given after
    read_on(second);
    ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(pinned_[0], 1);
    read_on(stream_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(pinned_[0], 101);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(second), cudaSuccess);
}

TEST_F(EmulatorRuntime, TimeBetweenEvents) {
    cudaEvent_t start = nullptr, end = nullptr, untimed = nullptr;
    ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
    emu::set_execution(emu::Execution::deferred);
    ASSERT_EQ(cudaEventRecord(start, stream_), cudaSuccess);
    add_on(stream_, 1);
    ASSERT_EQ(cudaEventRecord(end, stream_), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(untimed, stream_), cudaSuccess);
    float milliseconds = -1;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
    ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    EXPECT_GT(milliseconds, 0);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
    for (const cudaEvent_t event : {start, end, untimed})
        EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

TEST_F(EmulatorRuntime, CallsAreCounted) {
    const emu::Calls before = emu::calls();
    add_on(stream_, 1);
    add_on(stream_, 2);
    read_on(stream_);
    EXPECT_EQ(emu::difference(before, emu::calls()),
              (emu::Calls{{"launch", 2}, {"launch:kernel_under_test", 2}, {"cudaMemcpyAsync", 1}}));
    EXPECT_EQ(emu::allocations(emu::difference(before, emu::calls())), 0u);
    void* more = nullptr;
    ASSERT_EQ(cudaMalloc(&more, 100), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    ASSERT_EQ(cudaFree(more), cudaSuccess);
    const emu::Calls then = emu::difference(before, emu::calls());
    EXPECT_EQ(emu::allocations(then), 2u);
    EXPECT_EQ(emu::synchronizations(then), 2u);  // freeing waits
}

TEST_F(EmulatorRuntime, CapturedWorkRunsWhenTheGraphIsLaunched) {
    cudaStream_t side = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), cudaSuccess);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    add_on(stream_, 1);
    ASSERT_EQ(cudaEventRecord(fork, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork), cudaSuccess);
    add_on(side, 10);
    ASSERT_EQ(cudaEventRecord(join, side), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(stream_, join), cudaSuccess);
    read_on(stream_);
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(pinned_[0], -1);
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 3u);
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    const emu::Calls before = emu::calls();
    for (int round = 1; round <= 3; ++round) {
        ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
        EXPECT_EQ(pinned_[0], 11 * round);
    }
    EXPECT_EQ(emu::difference(before, emu::calls()),
              (emu::Calls{{"cudaGraphLaunch", 3}, {"launch", 6}, {"launch:kernel_under_test", 6}}));
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(fork), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(join), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(side), cudaSuccess);
}

TEST_F(EmulatorRuntime, GraphsTakeNewParametersButNotNewShapes) {
    const auto captured = [&](int amount, int kernels) {
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        for (int i = 0; i < kernels; ++i) add_on(stream_, amount);
        EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
        return graph;
    };
    cudaGraph_t first = captured(1, 1), second = captured(5, 1), longer = captured(1, 2);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, first), cudaSuccess);
    cudaGraphExecUpdateResultInfo info{};
    EXPECT_EQ(cudaGraphExecUpdate(executable, second, &info), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecUpdate(executable, longer, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    read_on(stream_);
    EXPECT_EQ(pinned_[0], 5);
    EXPECT_EQ(cudaGetLastError(), cudaErrorGraphExecUpdateFailure);
    for (const cudaGraph_t graph : {first, second, longer})
        EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(EmulatorRuntime, WaitingSpoilsACapture) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    add_on(stream_, 1);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    add_on(stream_, 1);  // and the stream is as before
    read_on(stream_);
    EXPECT_EQ(pinned_[0], 1);
}

TEST_F(EmulatorRuntime, AllocationsFailWhenToldTo) {
    emu::fail_device_allocation(2);
    void *first = nullptr, *second = nullptr;
    EXPECT_EQ(cudaMalloc(&first, 8), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&second, 8), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&second, 8), cudaSuccess);
    EXPECT_EQ(cudaFree(first), cudaSuccess);
    EXPECT_EQ(cudaFree(second), cudaSuccess);
    std::size_t free = 0, total = 0;
    emu::set_device_bytes(1 << 20);
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_EQ(total, std::size_t{1} << 20);
    EXPECT_EQ(free, total - kBytes);
    EXPECT_EQ(cudaMalloc(&first, free + 1), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    emu::set_device_bytes(std::size_t{16} << 30);
}

TEST_F(EmulatorRuntime, DevicesThatAreNotThere) {
    int count = -1, version = -1;
    emu::set_device(emu::Device::absent);
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    emu::set_device(emu::Device::no_driver);
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_EQ(version, 0);
    emu::set_device(emu::Device::old_driver);
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_EQ(version, 11040);
    emu::set_device(emu::Device::old_architecture);
    cudaDeviceProp properties{};
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    EXPECT_EQ(properties.major, 6);
    emu::set_device(emu::Device::present);
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    EXPECT_EQ(count, 1);
}

TEST_F(EmulatorRuntime, WhatIsLeftIsKnown) {
    void* left = nullptr;
    ASSERT_EQ(cudaMalloc(&left, 12345), cudaSuccess);
    bool found = false;
    for (const emu::LiveAllocation& one : emu::live_allocations()) {
        found = found || (one.pointer == left && one.bytes == 12345 && !one.pinned);
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(emu::live_allocations().size(), 3u);
    EXPECT_EQ(cudaFree(left), cudaSuccess);
}

TEST_F(EmulatorRuntime, NewMemoryIsPoison) {
    float* values = nullptr;
    ASSERT_EQ(cudaMalloc(&values, 64 * sizeof(float)), cudaSuccess);
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(std::isnan(values[i]));
    EXPECT_EQ(cudaFree(values), cudaSuccess);
}

TEST_F(EmulatorRuntime, PixelsGoThroughMappedImages) {
    cudaGraphicsResource_t resource = nullptr;
    EXPECT_EQ(cudaGraphicsGLRegisterImage(&resource, 3, 0x0DE1, 0),
              cudaErrorOperatingSystem);  // GL is elsewhere
    EXPECT_EQ(cudaGetLastError(), cudaErrorOperatingSystem);
    std::vector<emu::ArrayWrite> written;
    emu::set_array_writer([&](const emu::ArrayWrite& write) { written.push_back(write); });
    ASSERT_EQ(cudaGraphicsGLRegisterImage(&resource, 3, 0x0DE1, 0), cudaSuccess);
    cudaArray_t array = nullptr;
    EXPECT_EQ(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), cudaErrorNotMapped);
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotMapped);
    emu::set_execution(emu::Execution::deferred);
    ASSERT_EQ(cudaGraphicsMapResources(1, &resource, stream_), cudaSuccess);
    ASSERT_EQ(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), cudaSuccess);
    ASSERT_EQ(cudaMemcpy2DToArrayAsync(array, 0, 0, device_, 32, 16, 4, cudaMemcpyDeviceToDevice,
                                       stream_),
              cudaSuccess);
    EXPECT_TRUE(written.empty());
    ASSERT_EQ(cudaGraphicsUnmapResources(1, &resource, stream_), cudaSuccess);
    ASSERT_EQ(written.size(), 1u);
    EXPECT_EQ(written[0].image, 3u);
    EXPECT_EQ(written[0].pixels, device_);
    EXPECT_EQ(written[0].pitch, 32u);
    EXPECT_EQ(cudaGraphicsUnregisterResource(resource), cudaSuccess);
    emu::set_array_writer(nullptr);
}

}  // namespace
