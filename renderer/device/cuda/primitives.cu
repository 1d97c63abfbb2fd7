// Sort by CUB, and our own sum, whose order depends on n alone; primitives_wide.cu has the rest.
// The emulator has host bodies instead.
#include "renderer/device/cuda/primitives.h"

#include <algorithm>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/device/cuda/primitives_sort.cuh"

namespace gs::cuda {
namespace {

constexpr int kSumThreads = 256;
constexpr std::size_t kSumItems = 8192;  // added by one block

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
    const std::size_t bytes = std::max(
        {sort_bytes<std::uint16_t>(sorted_items, 16), sort_bytes<std::uint32_t>(sorted_items, 32),
         wide_sort_bytes(sorted_items), scan_bytes(scanned_items), sum_bytes(scanned_items)});
    scratch_.resize_discard(std::max(bytes, scratch_.size()), stream);
}

}  // namespace gs::cuda
