// Sort and scan by CUB, and our own sum, whose order depends on n alone. The emulator has host
// bodies instead.
#include "renderer/device/cuda/primitives.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <limits>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"

namespace gs::cuda {
namespace {

constexpr int kSumThreads = 256;
constexpr std::size_t kSumItems = 8192;  // added by one block

std::uint32_t counted(std::size_t n) {
    CHECK(n <= std::numeric_limits<std::uint32_t>::max() / 2,
          "{} items are more than sort and scan are made for", n);
    return static_cast<std::uint32_t>(n);
}

template <class Key>
std::size_t sort_bytes(std::size_t n, int end_bit) {
    std::size_t bytes = 0;
    cub::DoubleBuffer<Key> keys(nullptr, nullptr);
    cub::DoubleBuffer<std::uint32_t> values(nullptr, nullptr);
    check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, counted(n), 0, end_bit),
          "size of a sort");
    return bytes;
}

std::size_t scan_bytes(std::size_t n) {
    std::size_t bytes = 0;
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<const std::uint32_t*>(nullptr),
                                        static_cast<std::uint32_t*>(nullptr), counted(n)),
          "size of a scan");
    return bytes;
}

template <class Key>
void sort(DeviceBuffer<std::byte>& scratch, Swap<Key>& keys, Swap<std::uint32_t>& values,
          std::size_t n, int end_bit, const Stream& stream) {
    if (n == 0) return;
    const std::size_t bytes = sort_bytes<Key>(n, end_bit);
    scratch.resize_discard(std::max(bytes, scratch.size()), stream);
    cub::DoubleBuffer<Key> k(keys.now(), keys.buffer[1 - keys.current]);
    cub::DoubleBuffer<std::uint32_t> v(values.now(), values.buffer[1 - values.current]);
    std::size_t available = scratch.size();
    check(cub::DeviceRadixSort::SortPairs(scratch.data(), available, k, v, counted(n), 0, end_bit,
                                          stream.get()),
          "sort");
    if (k.selector != 0) keys.current = 1 - keys.current;
    if (v.selector != 0) values.current = 1 - values.current;
}

struct SumParams {
    const double* in;  ///< [n]
    double* out;       ///< [blocks]
    std::uint32_t n;
};

// Thread t adds items t, t + 256, ... of its block's 8192, then the threads' sums are added in
// halves.
void GS_KERNEL(kSumThreads, 1) sum_blocks(SumParams p) {
    GS_SHARED(double, partial, kSumThreads);
    const std::size_t first = blockIdx.x * kSumItems,
                      end = min(first + kSumItems, std::size_t{p.n});
    double total = 0;
    for (std::size_t i = first + threadIdx.x; i < end; i += kSumThreads) total += p.in[i];
    partial[threadIdx.x] = total;
    __syncthreads();
    for (unsigned width = kSumThreads / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0) p.out[blockIdx.x] = partial[0];
}

std::size_t sum_blocks_of(std::size_t n) { return (n + kSumItems - 1) / kSumItems; }

// Two rows of partial sums, one read and one written.
std::size_t sum_bytes(std::size_t n) {
    return n <= kSumItems ? 0 : 2 * sum_blocks_of(n) * sizeof(double);
}

}  // namespace

void Primitives::sort_pairs(Swap<std::uint32_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort(scratch_, keys, values, n, end_bit, stream);
}
void Primitives::sort_pairs(Swap<std::uint16_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort(scratch_, keys, values, n, end_bit, stream);
}
void Primitives::sort_pairs(Swap<std::uint64_t>& keys, Swap<std::uint32_t>& values, std::size_t n,
                            int end_bit, const Stream& stream) {
    sort(scratch_, keys, values, n, end_bit, stream);
}

void Primitives::exclusive_sum(const std::uint32_t* in, std::uint32_t* out, std::size_t n,
                               const Stream& stream) {
    if (n == 0) return;
    scratch_.resize_discard(std::max(scan_bytes(n), scratch_.size()), stream);
    std::size_t available = scratch_.size();
    check(cub::DeviceScan::ExclusiveSum(scratch_.data(), available, in, out, counted(n),
                                        stream.get()),
          "scan");
}

void Primitives::sum(const double* in, double* out, std::size_t n, const Stream& stream) {
    if (n == 0) {
        fill_bytes(out, 0, sizeof(double), stream);
        return;
    }
    scratch_.resize_discard(std::max(sum_bytes(n), scratch_.size()), stream);
    double* rows[2] = {reinterpret_cast<double*>(scratch_.data()), nullptr};
    rows[1] = rows[0] + sum_blocks_of(n);
    for (int row = 0; n > 0; row = 1 - row) {
        const std::size_t blocks = sum_blocks_of(n);
        double* to = blocks == 1 ? out : rows[row];
        launch(stream, "sum", {counted(blocks), kSumThreads}, sum_blocks,
               SumParams{in, to, counted(n)});
        in = to;
        n = blocks == 1 ? 0 : blocks;
    }
}

void Primitives::reserve(std::size_t sorted_items, std::size_t scanned_items,
                         const Stream& stream) {
    const std::size_t bytes = std::max({sort_bytes<std::uint16_t>(sorted_items, 16),
                                        sort_bytes<std::uint32_t>(sorted_items, 32),
                                        sort_bytes<std::uint64_t>(sorted_items, 64),
                                        scan_bytes(scanned_items), sum_bytes(scanned_items)});
    scratch_.resize_discard(std::max(bytes, scratch_.size()), stream);
}

}  // namespace gs::cuda
