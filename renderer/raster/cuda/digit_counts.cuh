// How often each digit of a sort's keys comes, counted by the kernels that make the keys: in shared
// memory first, so that each block adds to a word of the device once.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

/// By a block of kDigits threads; a barrier must follow. `counts`: shared, [kPasses * kDigits].
template <int kPasses, class Shared>
GS_DEVICE void clear_digits(Shared& counts) {
    for (int pass = 0; pass < kPasses; ++pass) counts[pass * kDigits + threadIdx.x] = 0;
}

/// All lanes of the warp call it; `in`: this lane has a key, of kPasses digits of `bits` bits. What
/// the warp does together comes before anything that some lanes do: else the compiler makes it
/// twice, for lanes with and without a key, which then wait for each other at different places.
template <int kPasses, class Shared>
GS_DEVICE void count_digits(Shared& counts, std::uint32_t key, int bits, bool in) {
    const std::uint32_t mask = (1u << bits) - 1u, last = key >> ((kPasses - 1) * bits) & mask;
    // The last digit is mostly one for the whole warp, which would take turns at one word.
    const int first = __ffs(static_cast<int>(__ballot_sync(kAllLanes, in))) - 1;
    const std::uint32_t common = __shfl_sync(kAllLanes, last, first & (kWarp - 1));
    const bool alike = in && last == common;
    const unsigned same = __ballot_sync(kAllLanes, alike);
    if (!in) return;
    GS_UNROLL
    for (int pass = 0; pass + 1 < kPasses; ++pass)
        atomicAdd(&counts[pass * kDigits + (key >> (pass * bits) & mask)], 1u);
    std::uint32_t* const of = &counts[(kPasses - 1) * kDigits];
    if (!alike)
        atomicAdd(&of[last], 1u);
    else if (lane_id() == first)
        atomicAdd(&of[common], static_cast<std::uint32_t>(__popc(same)));
}

/// What the block has counted, behind a barrier. `digits`: [kPasses][kDigits], in device memory.
template <int kPasses, class Shared>
GS_DEVICE void add_digits(const Shared& counts, std::uint32_t* digits) {
    for (int pass = 0; pass < kPasses; ++pass) {
        const std::uint32_t at = static_cast<std::uint32_t>(pass * kDigits) + threadIdx.x;
        if (counts[at] != 0) atomicAdd(&digits[at], counts[at]);
    }
}

}  // namespace gs::cuda
