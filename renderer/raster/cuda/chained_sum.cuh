// Sums over the blocks before this one, in one pass: every block says its own sum as soon as it
// knows it, adds up what those before it have said, 32 at a time, and then says the sum up to
// itself. Blocks number themselves by a ticket in the order they begin, so whoever waits waits for
// blocks that run. Integers, so the order they arrive in changes nothing. The words are zero before
// the kernel begins (FramePipeline::project).
// D. Merrill, M. Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).
#pragma once

#include "renderer/raster/cuda/block_rank.cuh"

namespace gs::cuda {

/// A block's word: its sum above two bits that say of what.
inline constexpr unsigned long long kOwnSum = 1, kSumSoFar = 2;
inline constexpr int kSumShift = 2;

/// This block's place in the chain: 0, 1, ... All threads call it; `ticket`: shared, [1].
/// `chain[0]` counts the tickets.
template <class Shared>
GS_DEVICE std::uint32_t take_ticket(unsigned long long* chain, Shared& ticket) {
    if (threadIdx.x == 0) ticket[0] = static_cast<std::uint32_t>(atomicAdd(chain, 1ull));
    __syncthreads();
    return ticket[0];
}

/// The sum of `own` over the blocks of lower tickets. Called by one warp of each block, `own` the
/// same in all lanes.
GS_DEVICE unsigned long long sum_of_earlier(unsigned long long* chain, std::uint32_t ticket,
                                            unsigned long long own) {
    unsigned long long* const words = chain + 1;
    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id());
    if (lane == 0 && ticket > 0) atomicExch(&words[ticket], own << kSumShift | kOwnSum);
    unsigned long long earlier = 0;
    for (std::uint32_t end = ticket; end > 0;) {
        // Lane 0 has the nearest; before the first block everything is known to be nothing.
        unsigned long long word = kSumSoFar;
        do {
            if (lane < end) word = look_at(&words[end - 1 - lane]);
        } while (__any_sync(kAllLanes, word == 0) != 0);
        const unsigned whole = __ballot_sync(kAllLanes, (word & kSumSoFar) != 0);
        const std::uint32_t last =
            whole != 0 ? static_cast<std::uint32_t>(__ffs(static_cast<int>(whole))) - 1 : kWarp - 1;
        unsigned long long sum = lane <= last ? word >> kSumShift : 0;
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(kAllLanes, sum, distance);
        earlier += sum;
        end = whole != 0 || end < kWarp ? 0 : end - kWarp;
    }
    if (lane == 0) atomicExch(&words[ticket], (earlier + own) << kSumShift | kSumSoFar);
    return earlier;
}

}  // namespace gs::cuda
