// Correct kernels give right answers under the emulator, whatever the order of blocks, warps and
// lanes.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/kernels/emulator_launch.h"

namespace {

namespace emu = gs::emulator;
using gs::cuda::kAllLanes;
using gs::cuda::lane_id;
using gs::cuda::warp_id;

constexpr unsigned kSeeds = 50;

/// Runs `check` under many seeds, with blocks one after another and side by side.
template <class Check>
void under_many_schedules(Check check) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        emu::set_seed(seed);
        emu::set_deterministic(seed % 2 == 0);
        check();
        if (::testing::Test::HasFailure()) break;
    }
    emu::set_deterministic(false);
}

std::vector<unsigned> numbers(std::size_t n, unsigned modulus) {
    std::vector<unsigned> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<unsigned>((i * 2654435761u >> 7) % modulus);
    return v;
}

struct ArrayParams {
    const unsigned* in;
    unsigned* out;
    unsigned n;
};

void GS_KERNEL(256, 1) block_sum(ArrayParams p) {
    GS_SHARED(unsigned, partial, 256);
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    partial[t] = i < p.n ? p.in[i] : 0u;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) p.out[blockIdx.x] = partial[0];
}

TEST(EmulatorKernels, BlockSum) {
    const std::vector<unsigned> in = numbers(2000, 37);
    under_many_schedules([&] {
        std::vector<unsigned> out(8, ~0u);
        emu::run(block_sum, ArrayParams{in.data(), out.data(), 2000}, 8, 256);
        for (std::size_t b = 0; b < 8; ++b) {
            const auto end = in.begin() + static_cast<std::ptrdiff_t>(
                                              std::min<std::size_t>(2000, b * 256 + 256));
            EXPECT_EQ(out[b],
                      std::accumulate(in.begin() + static_cast<std::ptrdiff_t>(b * 256), end, 0u));
        }
    });
}

/// Inclusive sums of a block: shuffles within the warp, the warps' totals through shared memory.
void GS_KERNEL(512, 1) block_scan(ArrayParams p) {
    GS_SHARED(unsigned, totals, 16);
    unsigned sum = p.in[threadIdx.x];
    for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned below = __shfl_up_sync(kAllLanes, sum, step);
        if (lane_id() >= static_cast<int>(step)) sum += below;
    }
    if (lane_id() == 31) totals[warp_id()] = sum;
    __syncthreads();
    for (int w = 0; w < warp_id(); ++w) sum += totals[w];
    p.out[threadIdx.x] = sum;
}

TEST(EmulatorKernels, ScanByShuffles) {
    const std::vector<unsigned> in = numbers(512, 1000);
    std::vector<unsigned> expected(512);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    under_many_schedules([&] {
        std::vector<unsigned> out(512);
        emu::run(block_scan, ArrayParams{in.data(), out.data(), 512}, 1, 512);
        EXPECT_EQ(out, expected);
    });
}

/// Keeps odd numbers, in order: votes rank them.
void GS_KERNEL(32, 1) compact_odd(ArrayParams p) {
    unsigned kept = 0;
    for (unsigned first = 0; first < p.n; first += 32) {
        const unsigned value = p.in[first + threadIdx.x];
        const unsigned votes = __ballot_sync(kAllLanes, value % 2 != 0);
        if (value % 2 != 0)
            p.out[kept + static_cast<unsigned>(__popc(votes & ((1u << lane_id()) - 1)))] = value;
        kept += static_cast<unsigned>(__popc(votes));
    }
}

TEST(EmulatorKernels, CompactionByVotes) {
    const std::vector<unsigned> in = numbers(320, 1000);
    std::vector<unsigned> expected;
    for (const unsigned v : in) {
        if (v % 2 != 0) expected.push_back(v);
    }
    under_many_schedules([&] {
        std::vector<unsigned> out(expected.size());
        emu::run(compact_odd, ArrayParams{in.data(), out.data(), 320}, 1, 32);
        EXPECT_EQ(out, expected);
    });
}

void GS_KERNEL(128, 1) histogram(ArrayParams p) {
    GS_SHARED(unsigned, counts, 16);
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) atomicAdd(&counts[p.in[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&p.out[threadIdx.x], counts[threadIdx.x]);
}

TEST(EmulatorKernels, HistogramByAtomics) {
    const std::vector<unsigned> in = numbers(5000, 16);
    std::vector<unsigned> expected(16);
    for (const unsigned v : in) ++expected[v];
    under_many_schedules([&] {
        std::vector<unsigned> out(16);
        emu::run(histogram, ArrayParams{in.data(), out.data(), 5000}, 40, 128);
        EXPECT_EQ(out, expected);
    });
}

/// Rounds of a ring: every thread passes its number on; blocks differ in their number of rounds,
/// and some threads of the last warp end before, which barriers allow.
void GS_KERNEL(96, 1) ring(ArrayParams p) {
    GS_SHARED(unsigned, slots, 90);
    if (threadIdx.x >= 90) return;
    unsigned mine = p.in[threadIdx.x];
    for (unsigned round = 0; round < 3 + blockIdx.x; ++round) {
        slots[(threadIdx.x + 1) % 90] = mine;
        __syncthreads();
        mine = slots[threadIdx.x];
        __syncthreads();
    }
    p.out[blockIdx.x * 90 + threadIdx.x] = mine;
}

TEST(EmulatorKernels, BarriersInALoop) {
    const std::vector<unsigned> in = numbers(90, 1000);
    under_many_schedules([&] {
        std::vector<unsigned> out(5 * 90);
        emu::run(ring, ArrayParams{in.data(), out.data(), 90}, 5, 96);
        for (std::size_t b = 0; b < 5; ++b) {
            for (std::size_t i = 0; i < 90; ++i)
                EXPECT_EQ(out[b * 90 + i], in[(i + 90 - 3 - b) % 90]);
        }
    });
}

struct WarpResults {
    unsigned any, all, xor_sum, match, reduced_max, reduced_add, broadcast, down, half;
    int reduced_min;
    float neighbour;
    double wide;
};
struct WarpParams {
    WarpResults* out;
};

void GS_KERNEL(64, 1) warp_operations(WarpParams p) {
    WarpResults r{};
    const unsigned lane = static_cast<unsigned>(lane_id());
    r.any = static_cast<unsigned>(__any_sync(kAllLanes, lane == 7));
    r.all = static_cast<unsigned>(__all_sync(kAllLanes, lane < 31));
    unsigned sum = lane;
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(kAllLanes, sum, bits);
    r.xor_sum = sum;
    r.match = __match_any_sync(kAllLanes, lane / 5);
    r.reduced_max = __reduce_max_sync(kAllLanes, lane * 3);
    r.reduced_add = __reduce_add_sync(kAllLanes, lane);
    r.reduced_min = __reduce_min_sync(kAllLanes, 4 - static_cast<int>(lane));
    r.broadcast = __shfl_sync(kAllLanes, lane * lane, 5);
    r.down = __shfl_down_sync(kAllLanes, lane, 3, 8);
    // Halves of a warp apart, as often as they like.
    for (unsigned round = 0; round < 1 + lane / 16 * 3; ++round) {
        r.half = __ballot_sync(lane < 16 ? 0x0000ffffu : 0xffff0000u, lane % 2 == round % 2);
    }
    __syncwarp();
    r.neighbour = __shfl_up_sync(kAllLanes, static_cast<float>(lane) / 2, 1);
    r.wide = __shfl_sync(kAllLanes, 1.0 / (lane + 1), 2);
    p.out[threadIdx.x] = r;
}

TEST(EmulatorKernels, WarpOperations) {
    under_many_schedules([&] {
        std::vector<WarpResults> out(64);
        emu::run(warp_operations, WarpParams{out.data()}, 1, 64);
        for (unsigned t = 0; t < 64; ++t) {
            const WarpResults& r = out[t];
            const unsigned lane = t % 32, group = lane / 5;
            EXPECT_EQ(r.any, 1u);
            EXPECT_EQ(r.all, 0u);
            EXPECT_EQ(r.xor_sum, 496u);
            EXPECT_EQ(r.match, group == 6 ? 0xc0000000u : 31u << (group * 5));
            EXPECT_EQ(r.reduced_max, 93u);
            EXPECT_EQ(r.reduced_add, 496u);
            EXPECT_EQ(r.reduced_min, -27);
            EXPECT_EQ(r.broadcast, 25u);
            EXPECT_EQ(r.down, lane % 8 < 5 ? lane + 3 : lane);
            EXPECT_EQ(r.half, lane < 16 ? 0x00005555u : 0xaaaa0000u);
            EXPECT_EQ(r.neighbour, lane == 0 ? 0.0f : static_cast<float>(lane - 1) / 2);
            EXPECT_EQ(r.wide, 1.0 / 3);
        }
    });
}

struct BarrierParams {
    int *count, *all, *any;
};
void GS_KERNEL(128, 1) barrier_votes(BarrierParams p) {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= 100) return;
    p.count[t] = __syncthreads_count(t % 3 == 0);
    p.all[t] = __syncthreads_and(t < 100);
    p.any[t] = __syncthreads_or(t == 500);
}

TEST(EmulatorKernels, BarriersThatVote) {
    under_many_schedules([&] {
        std::vector<int> count(100), all(100), any(100);
        emu::run(barrier_votes, BarrierParams{count.data(), all.data(), any.data()}, 1, 128);
        EXPECT_EQ(count, std::vector<int>(100, 34));
        EXPECT_EQ(all, std::vector<int>(100, 1));
        EXPECT_EQ(any, std::vector<int>(100, 0));
    });
}

struct Pair {
    float low;
    double high;
};
struct PoisonParams {
    float* single;
    double* pair;
    unsigned* word;
};
void GS_KERNEL(32, 1) reads_unwritten(PoisonParams p) {
    GS_SHARED(float, singles, 32);
    GS_SHARED(Pair, pairs, 32);
    GS_SHARED(unsigned, words, 32);
    if (threadIdx.x != 3) singles[threadIdx.x] = 1.0f;
    __syncwarp();
    float sum = 0;
    for (int i = 0; i < 32; ++i) sum += singles[i];
    *p.single = sum;
    *p.pair = pairs[5].high + 1;
    *p.word = words[5];
}

TEST(EmulatorKernels, UnwrittenSharedMemoryIsPoison) {
    float single = 0;
    double pair = 0;
    unsigned word = 0;
    emu::run(reads_unwritten, PoisonParams{&single, &pair, &word}, 3, 32);
    EXPECT_TRUE(std::isnan(single));
    EXPECT_TRUE(std::isnan(pair));
    EXPECT_EQ(word & 0xffffu, 0xcdcdu);
}

/// A race: nobody waits for the neighbour's number.
void GS_KERNEL(256, 1) forgets_the_barrier(ArrayParams p) {
    GS_SHARED(unsigned, slots, 256);
    slots[threadIdx.x] = p.in[threadIdx.x];
    p.out[threadIdx.x] = slots[(threadIdx.x + 32) % 256];
}
void GS_KERNEL(32, 1) forgets_the_warp(ArrayParams p) {
    GS_SHARED(unsigned, slots, 32);
    slots[threadIdx.x] = p.in[threadIdx.x];
    p.out[threadIdx.x] = slots[(threadIdx.x + 1) % 32];
}

TEST(EmulatorKernels, AForgottenBarrierShowsUnderEverySeed) {
    const std::vector<unsigned> in = numbers(256, 1000);
    under_many_schedules([&] {
        std::vector<unsigned> out(256), warp(32);
        emu::run(forgets_the_barrier, ArrayParams{in.data(), out.data(), 256}, 1, 256);
        emu::run(forgets_the_warp, ArrayParams{in.data(), warp.data(), 32}, 1, 32);
        bool wrong = false, wrong_in_warp = false;
        for (std::size_t i = 0; i < 256; ++i) wrong = wrong || out[i] != in[(i + 32) % 256];
        for (std::size_t i = 0; i < 32; ++i)
            wrong_in_warp = wrong_in_warp || warp[i] != in[(i + 1) % 32];
        EXPECT_TRUE(wrong);
        EXPECT_TRUE(wrong_in_warp);
    });
}

void GS_KERNEL(1024, 1) fills(ArrayParams p) {
    p.out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

TEST(EmulatorKernels, ThreadsThatNeverMeetNeedNoSwitches) {
    std::vector<unsigned> out(100 * 1024);
    const emu::Statistics before = emu::statistics();
    emu::run(fills, ArrayParams{nullptr, out.data(), 0}, 100, 1024);
    const emu::Statistics after = emu::statistics();
    EXPECT_EQ(after.threads - before.threads, 102400u);
    EXPECT_LE(after.switches - before.switches, 100u);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % 1024);
}

}  // namespace
