// Deterministic compaction inside a thread block of 256, and sums over a warp. Used by project and
// by the ordering of work items.
#pragma once

#include "renderer/device/cuda/kernel.cuh"

namespace gs::cuda {

struct BlockRank {
    std::uint32_t rank;   ///< kept threads, or what is summed, before this one
    std::uint32_t total;  ///< the same of the block
};
/// All 256 threads call it. `warp_counts`: shared, [8]; free to use again after the next
/// __syncthreads().
template <class Shared>
GS_DEVICE BlockRank block_rank(bool keep, Shared& warp_counts) {
    const unsigned mask = __ballot_sync(kAllLanes, keep);
    const int lane = lane_id(), warp = warp_id();
    if (lane == 0) warp_counts[warp] = static_cast<std::uint32_t>(__popc(mask));
    __syncthreads();
    BlockRank out{static_cast<std::uint32_t>(__popc(mask & ((1u << lane) - 1u))), 0};
    for (int w = 0; w < 8; ++w) {
        const std::uint32_t count = warp_counts[w];
        out.rank += w < warp ? count : 0u;
        out.total += count;
    }
    return out;
}

/// Sum over the warp, in every lane.
GS_DEVICE std::uint32_t warp_sum(std::uint32_t x) {
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_xor_sync(kAllLanes, x, distance);
    return x;
}
GS_DEVICE std::uint32_t warp_or(std::uint32_t x) {
    for (int distance = 16; distance > 0; distance /= 2)
        x |= __shfl_xor_sync(kAllLanes, x, distance);
    return x;
}
GS_DEVICE std::uint32_t warp_max(std::uint32_t x) {
    for (int distance = 16; distance > 0; distance /= 2)
        x = max(x, __shfl_xor_sync(kAllLanes, x, distance));
    return x;
}
/// The most of this lane and those before it.
GS_DEVICE std::uint32_t warp_max_up_to(std::uint32_t x) {
    for (int distance = 1; distance < kWarp; distance *= 2)
        x = max(x, __shfl_up_sync(kAllLanes, x, static_cast<unsigned>(distance)));
    return x;
}
/// Sum over the lanes before this one.
GS_DEVICE std::uint32_t warp_sum_before(std::uint32_t x) {
    const int lane = lane_id();
    std::uint32_t sum = x;
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const std::uint32_t below = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(distance));
        sum += lane >= distance ? below : 0u;
    }
    return sum - x;
}

/// The lanes of the warp whose digit, of kBits bits, is this lane's.
template <int kBits>
GS_DEVICE unsigned lanes_of_digit(std::uint32_t digit) {
    unsigned lanes = kAllLanes;
    GS_UNROLL
    for (int bit = 0; bit < kBits; ++bit) {
        const unsigned with = __ballot_sync(kAllLanes, (digit & 1u << bit) != 0);
        lanes &= with ^ ((digit >> bit & 1u) - 1u);  // with, or those without
    }
    return lanes;
}

/// Sums over the threads before this one and over the block. All 256 threads call it; `warp_sums`:
/// shared, [8], as in block_rank().
template <class Shared>
GS_DEVICE BlockRank block_sum_before(std::uint32_t x, Shared& warp_sums) {
    BlockRank out{warp_sum_before(x), 0};
    if (lane_id() == kWarp - 1) warp_sums[warp_id()] = out.rank + x;
    __syncthreads();
    for (int w = 0; w < 8; ++w) {
        const std::uint32_t sum = warp_sums[w];
        out.rank += w < warp_id() ? sum : 0u;
        out.total += sum;
    }
    return out;
}

}  // namespace gs::cuda
