// Sorting pairs by a digit of their keys, stably, in one pass over them: a block ranks its part of
// the pairs in shared memory, learns from the blocks before it where its share of each digit
// begins, and writes. The lanes of a warp find those of their digit in a word of shared memory,
// into which each puts its bit. How often each digit comes is known before: who makes the keys
// counts them (digit_counts.cuh). How many pairs there are is known on the device alone, so nothing
// behind them is sorted. Blocks wait only for blocks of lower tickets, which run or have ended, and
// what they wait for is one word that says all: no other order of memory is asked for.
// A. Adinets, D. Merrill: Onesweep: A Faster Least Significant Digit Radix Sort for GPUs (2022).
#pragma once

#include "renderer/raster/cuda/chained_sum.cuh"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

inline constexpr std::uint32_t kRadixThreads = 256, kRadixWarps = kRadixThreads / kWarp;
static_assert(kRadixThreads == kDigits && kSortedPart % kRadixThreads == 0, "a thread per digit");

template <class Key>
struct RadixParams {
    const std::uint32_t* overflow;  ///< not 0: nothing is sorted
    const std::uint32_t* count;     ///< pairs
    const Key* keys_in;
    const std::uint32_t* values_in;
    Key* keys_out;
    std::uint32_t* values_out;
    const std::uint32_t* digits;  ///< [kDigits] how often each comes
    unsigned long long* ticket;   ///< 0 at first
    std::uint32_t* chain;         ///< [block][kDigits] 0 at first
    int shift;                    ///< the digit begins at this bit of the key,
    std::uint32_t mask;           ///< and is what is left by this
};

/// A block's word of a digit: its own sum, or the sum up to itself, above two bits that say of
/// what. Sums are at most kMaxCapacity.
inline constexpr std::uint32_t kOwnDigits = 1, kDigitsSoFar = 2;  ///< digits_of_earlier() adds up

GS_DEVICE void say_digits(std::uint32_t* word, std::uint32_t sum, std::uint32_t of_what) {
    atomicExch(word, sum << kSumShift | of_what);
}

/// A digit's sum over the blocks before this one, by its thread; `own` was said before.
GS_DEVICE std::uint32_t digits_of_earlier(std::uint32_t* chain, std::uint32_t block,
                                          std::uint32_t digit) {
    constexpr std::uint32_t kAtOnce = 8;
    std::uint32_t* const words = chain + digit;
    std::uint32_t earlier = 0;
    for (std::uint32_t end = block; end > 0;) {
        // Before the first block everything is known to be nothing.
        const std::size_t nearest = static_cast<std::size_t>(end - 1) * kDigits;
        std::uint32_t seen[kAtOnce];
        GS_UNROLL
        for (std::uint32_t i = 0; i < kAtOnce; ++i)
            seen[i] = i < end ? look_at(&words[nearest - i * kDigits]) : kDigitsSoFar;
        std::uint32_t known = 0, sum = 0;  // of these, from the nearest on
        bool more = true, whole = false;
        GS_UNROLL
        for (std::uint32_t i = 0; i < kAtOnce; ++i) {
            more = more && seen[i] != 0;
            if (more) {
                sum += seen[i];
                known += 1;
                whole = (seen[i] & kDigitsSoFar) != 0;
                more = !whole;
            }
        }
        earlier += (sum - known - (whole ? 1u : 0u)) >> kSumShift;  // without what says of what
        end = whole ? 0 : end - known;
    }
    return earlier;
}

/// kSortedPart pairs a block.
template <class Key>
GS_KERNEL(kRadixThreads, 3)
void radix_pass(RadixParams<Key> p) {
    constexpr std::uint32_t kItems = kSortedPart / kRadixThreads;
    GS_SHARED(std::uint32_t, ticket, 1);
    GS_SHARED(std::uint32_t, own_sums, kRadixWarps);
    GS_SHARED(std::uint32_t, all_sums, kRadixWarps);
    GS_SHARED(std::uint16_t, counts, kRadixWarps * kDigits);  // by warp; then where they begin
    GS_SHARED(std::uint32_t, places, kDigits);                // from the block's to everybody's
    GS_SHARED(Key, keys_by_digit, kSortedPart);
    GS_SHARED(std::uint32_t, values_by_digit, kSortedPart);  // before: lanes by warp and digit
    const std::uint32_t thread = threadIdx.x, n = *p.overflow != 0 ? 0 : *p.count;
    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id()),
                        warp = static_cast<std::uint32_t>(warp_id());
    const auto digit_of = [&](Key key) {
        return static_cast<std::uint32_t>(key) >> p.shift & p.mask;
    };
    for (std::uint32_t w = 0; w < kRadixWarps; ++w) {
        counts[w * kDigits + thread] = 0;
        values_by_digit[w * kDigits + thread] = 0;
    }
    const std::uint32_t block = take_ticket(p.ticket, ticket), first = block * kSortedPart;
    if (first >= n) return;
    const std::uint32_t here = min(n - first, kSortedPart),
                        own_first = warp * kItems * kWarp + lane;
    const std::uint32_t of_all = p.digits[thread];

    // What is behind the last pair has the highest digit: it stays behind, and nobody writes it.
    Key keys[kItems];
    std::uint32_t values[kItems];
    const Key* const keys_in = p.keys_in + first + own_first;
    const std::uint32_t* const values_in = p.values_in + first + own_first;
    GS_UNROLL
    for (std::uint32_t i = 0; i < kItems; ++i) {
        const bool in = own_first + i * kWarp < here;
        keys[i] = in ? keys_in[i * kWarp] : static_cast<Key>(~Key{0});
        values[i] = in ? values_in[i * kWarp] : 0;
    }
    // Of the warp's pairs of this digit those up to each, itself among them. Its last lane counts.
    const unsigned up_to_this = (2u << lane) - 1u;
    std::uint32_t ranks[kItems];
    GS_UNROLL
    for (std::uint32_t i = 0; i < kItems; ++i) {
        const std::uint32_t of_digit = warp * kDigits + digit_of(keys[i]);
        std::uint32_t& lanes = values_by_digit[of_digit];
        std::uint16_t& counted = counts[of_digit];
        atomicOr(&lanes, 1u << lane);
        __syncwarp();
        const unsigned peers = lanes;
        ranks[i] = counted + static_cast<std::uint32_t>(__popc(peers & up_to_this));
        __syncwarp();
        if (peers <= up_to_this) {
            counted = static_cast<std::uint16_t>(ranks[i]);
            lanes = 0;
        }
        __syncwarp();
    }
    __syncthreads();

    std::uint32_t own = 0;
    for (std::uint32_t w = 0; w < kRadixWarps; ++w) {
        const std::uint32_t of = counts[w * kDigits + thread];
        counts[w * kDigits + thread] = static_cast<std::uint16_t>(own);
        own += of;
    }
    std::uint32_t& said = p.chain[static_cast<std::size_t>(block) * kDigits + thread];
    if (block > 0) say_digits(&said, own, kOwnDigits);
    const std::uint32_t begin = block_sum_before(own, own_sums).rank,
                        all_begin = block_sum_before(of_all, all_sums).rank;
    for (std::uint32_t w = 0; w < kRadixWarps; ++w)
        counts[w * kDigits + thread] += static_cast<std::uint16_t>(begin);
    __syncthreads();
    GS_UNROLL
    for (std::uint32_t i = 0; i < kItems; ++i) {
        const std::uint32_t place = counts[warp * kDigits + digit_of(keys[i])] + ranks[i] - 1;
        keys_by_digit[place] = keys[i];
        values_by_digit[place] = values[i];
    }
    const std::uint32_t earlier = digits_of_earlier(p.chain, block, thread);
    say_digits(&said, earlier + own, kDigitsSoFar);
    places[thread] = all_begin + earlier - begin;
    __syncthreads();
    GS_UNROLL
    for (std::uint32_t i = 0; i < kItems; ++i) {
        const std::uint32_t at = i * kRadixThreads + thread;
        const Key key = keys_by_digit[at];
        const std::uint32_t value = values_by_digit[at], to = places[digit_of(key)] + at;
        if (at >= here) return;
        p.keys_out[to] = key;
        p.values_out[to] = value;
    }
}

}  // namespace gs::cuda
