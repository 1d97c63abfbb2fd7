// The device layer over the emulated runtime: sort, scan and sum as everything above it sees them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "renderer/device/cuda/primitives.h"
#include "tests/support/emulator/emulator.h"

namespace {

namespace emu = gs::emulator;
using namespace gs::cuda;

template <class T>
std::vector<T> on_host(const T* from, std::size_t n, const Stream& stream) {
    std::vector<T> values(n);
    copy_to_host(values.data(), from, n * sizeof(T), stream);
    stream.synchronize();
    return values;
}

template <class Key>
class EmulatedSort : public ::testing::Test {};
using Keys = ::testing::Types<std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(EmulatedSort, Keys);

TYPED_TEST(EmulatedSort, IsStableByTheLowBits) {
    constexpr std::size_t kItems = 3000;
    constexpr int kBits = 10;
    const Stream stream("test");
    std::vector<TypeParam> keys(kItems);
    std::vector<std::uint32_t> values(kItems);
    for (std::size_t i = 0; i < kItems; ++i) {
        keys[i] = static_cast<TypeParam>(i * 0x9e3779b97f4a7c15u >> 13);  // also bits above kBits
        values[i] = static_cast<std::uint32_t>(i);
    }
    DeviceBuffer<TypeParam> key_buffers[2]{DeviceBuffer<TypeParam>("keys"),
                                           DeviceBuffer<TypeParam>("keys")};
    DeviceBuffer<std::uint32_t> value_buffers[2]{DeviceBuffer<std::uint32_t>("values"),
                                                 DeviceBuffer<std::uint32_t>("values")};
    key_buffers[0].upload(keys, stream);
    value_buffers[0].upload(values, stream);
    key_buffers[1].resize_discard(kItems, stream);
    value_buffers[1].resize_discard(kItems, stream);
    Swap<TypeParam> key_swap{{key_buffers[0].data(), key_buffers[1].data()}};
    Swap<std::uint32_t> value_swap{{value_buffers[0].data(), value_buffers[1].data()}};
    Primitives primitives;
    primitives.reserve(kItems, 0, stream);
    const emu::Calls before = emu::calls();
    primitives.sort_pairs(key_swap, value_swap, kItems, kBits, stream);
    EXPECT_EQ(emu::difference(before, emu::calls()),
              (emu::Calls{{"launch", 1}, {"launch:sort", 1}}));
    std::vector<std::uint32_t> expected = values;
    std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
        return (keys[a] & 1023u) < (keys[b] & 1023u);
    });
    EXPECT_EQ(on_host(value_swap.now(), kItems, stream), expected);
    const std::vector<TypeParam> sorted = on_host(key_swap.now(), kItems, stream);
    for (std::size_t i = 0; i < kItems; ++i) ASSERT_EQ(sorted[i], keys[expected[i]]);
}

TEST(EmulatedDevice, ScanInPlaceAndSum) {
    const Stream stream("test");
    std::vector<std::uint32_t> counts(1000), expected(1000);
    std::iota(counts.begin(), counts.end(), 1u);
    std::exclusive_scan(counts.begin(), counts.end(), expected.begin(), 0u);
    DeviceBuffer<std::uint32_t> buffer("counts");
    buffer.upload(counts, stream);
    Primitives primitives;
    primitives.exclusive_sum(buffer.data(), buffer.data(), counts.size(), stream);
    EXPECT_EQ(on_host(buffer.data(), counts.size(), stream), expected);

    const std::vector<double> terms{1e16, 1.0, -1e16, 0.5};
    DeviceBuffer<double> in("terms"), out("sum");
    in.upload(terms, stream);
    out.resize_discard(1, stream);
    primitives.sum(in.data(), out.data(), terms.size(), stream);
    EXPECT_EQ(on_host(out.data(), 1, stream)[0], 0.5);  // in order
    primitives.sum(in.data(), out.data(), 0, stream);
    EXPECT_EQ(on_host(out.data(), 1, stream)[0], 0.0);
}

TEST(EmulatedDevice, WorkOfPrimitivesIsDeferredAndCapturedLikeKernels) {
    const Stream stream("test");
    const std::vector<std::uint32_t> counts{1, 2, 3};
    DeviceBuffer<std::uint32_t> in("counts"), out("sums");
    in.upload(counts, stream);
    out.upload(counts, stream);
    Primitives primitives;
    // The emulator's device memory can be looked at.
    emu::set_execution(emu::Execution::deferred);
    primitives.exclusive_sum(in.data(), out.data(), 3, stream);
    EXPECT_EQ(out.data()[0], 1u);
    stream.synchronize();
    EXPECT_EQ(out.data()[0], 0u);
    emu::set_execution(emu::Execution::eager);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "capture");
    primitives.exclusive_sum(out.data(), out.data(), 3, stream);
    check(cudaStreamEndCapture(stream.get(), &graph), "capture");
    check(cudaGraphInstantiate(&executable, graph), "graph");
    EXPECT_EQ(on_host(out.data(), 3, stream), (std::vector<std::uint32_t>{0, 1, 3}));
    check(cudaGraphLaunch(executable, stream.get()), "graph");
    EXPECT_EQ(on_host(out.data(), 3, stream), (std::vector<std::uint32_t>{0, 0, 1}));
    check(cudaGraphExecDestroy(executable), "graph");
    check(cudaGraphDestroy(graph), "graph");
}

}  // namespace
