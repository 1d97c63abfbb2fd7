// Every kind of bug the emulator looks for, planted, and seen caught with the right file and line.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/kernels/emulator_launch.h"
#include "tests/support/emulator/sanitizer.h"

namespace {

namespace emu = gs::emulator;
using emu::Fault;
using gs::cuda::kAllLanes;

/// The faults here are meant; without this the program would end with them and fail.
class FaultsAreMeant : public ::testing::EmptyTestEventListener {
    void OnTestEnd(const ::testing::TestInfo&) override { emu::take_reports(); }
};
[[maybe_unused]] const bool listening = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new FaultsAreMeant);
    return true;
}();

/// Before an expected death: blocks run on several host threads, so a fork alone would not do.
void die_in_a_new_process() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

struct Unused {
    int* out;
};
unsigned planted_line;  ///< the line of the bug; kernels here run one block

/// Runs and expects the fault at the planted line of this file.
void expect_fault(Fault fault, void (*kernel)(Unused), unsigned threads, const std::string& words) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        emu::set_seed(seed);
        try {
            emu::run(kernel, Unused{nullptr}, 1, threads);
            ADD_FAILURE() << "not caught under seed " << seed;
        } catch (const emu::EmulatorError& error) {
            EXPECT_EQ(error.fault, fault) << error.what();
            EXPECT_EQ(error.line, planted_line) << error.what();
            EXPECT_NE(error.file.find("emulator_faults_test.cpp"), std::string::npos)
                << error.what();
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("kernel_under_test"), std::string::npos)
                << error.what();
        }
    }
}

void GS_KERNEL(64, 1) two_barriers(Unused) {
    if (threadIdx.x < 32) {
        planted_line = __LINE__ + 1;
        __syncthreads();
    } else {
        __syncthreads();
    }
}
TEST(EmulatorFaults, DivergentBarrier) {
    expect_fault(Fault::divergent_barrier, two_barriers, 64, "different barriers");
}

void GS_KERNEL(64, 1) barrier_and_end(Unused) {
    if (threadIdx.x < 40) __syncthreads();
}
TEST(EmulatorFaults, EndedThreadsMayMissABarrier) {
    EXPECT_NO_THROW(emu::run(barrier_and_end, Unused{nullptr}, 1, 64));
}

void GS_KERNEL(32, 1) lane_at_barrier(Unused) {
    if (threadIdx.x == 7) __syncthreads();
    planted_line = __LINE__ + 1;
    __syncwarp();
}
TEST(EmulatorFaults, LaneOfTheMaskWaitsElsewhere) {
    expect_fault(Fault::divergent_collective, lane_at_barrier, 32, "do not meet");
}

void GS_KERNEL(32, 1) two_votes(Unused) {
    planted_line = __LINE__ + 2;
    if (threadIdx.x < 8) {
        __ballot_sync(kAllLanes, 1);
    } else {
        __any_sync(kAllLanes, 1);
    }
}
TEST(EmulatorFaults, LanesAtDifferentCollectives) {
    expect_fault(Fault::divergent_collective, two_votes, 32, "do not meet");
}

void GS_KERNEL(32, 1) not_in_mask(Unused) {
    planted_line = __LINE__ + 1;
    __shfl_sync(0x0000ffffu, 1, 0);
}
TEST(EmulatorFaults, CallerNotInItsMask) {
    expect_fault(Fault::bad_mask, not_in_mask, 32, "without it");
}

void GS_KERNEL(32, 1) shuffle_from_outside(Unused) {
    if (threadIdx.x >= 16) return;
    planted_line = __LINE__ + 1;
    __shfl_down_sync(0x0000ffffu, threadIdx.x, 8);
}
TEST(EmulatorFaults, ShuffleFromALaneOutsideTheMask) {
    expect_fault(Fault::absent_source, shuffle_from_outside, 32, "shuffles from lane 16");
}

void GS_KERNEL(32, 1) shuffle_from_ended(Unused) {
    if (threadIdx.x == 31) return;
    planted_line = __LINE__ + 1;
    __shfl_sync(kAllLanes, 1.0f, 31);
}
TEST(EmulatorFaults, ShuffleFromALaneThatHasEnded) {
    expect_fault(Fault::absent_source, shuffle_from_ended, 32, "has ended");
}

void GS_KERNEL(64, 1) shared_past_end(Unused) {
    GS_SHARED(float, values, 63);
    planted_line = __LINE__ + 1;
    values[threadIdx.x] = 1.0f;
}
TEST(EmulatorFaults, SharedIndexPastTheEnd) {
    expect_fault(Fault::shared_bounds, shared_past_end, 64,
                 "index 63 of shared array values of 63");
}

void GS_KERNEL(32, 1) shared_before_begin(Unused) {
    GS_SHARED(int, values, 32);
    values[threadIdx.x] = 0;
    const int before = static_cast<int>(threadIdx.x) - 1;
    __syncwarp();
    planted_line = __LINE__ + 1;
    values[0] = values[before];
}
TEST(EmulatorFaults, NegativeSharedIndex) {
    expect_fault(Fault::shared_bounds, shared_before_begin, 32, "index -1 of shared array values");
}

void GS_KERNEL(64, 1) shared_two_sizes(Unused) {
    planted_line = __LINE__ + 1;
    GS_SHARED(int, values, threadIdx.x < 32 ? 8 : 16);
    values[0] = 1;
}
TEST(EmulatorFaults, OneDeclarationTwoSizes) {
    expect_fault(Fault::shared_mismatch, shared_two_sizes, 64, "shared array values declared");
}

void GS_KERNEL(32, 1) shared_too_much(Unused) {
    GS_SHARED(float, first, 8 * 1024);
    planted_line = __LINE__ + 1;
    GS_SHARED(float, second, 4 * 1024 + 1);
    first[0] = second[0];
}
TEST(EmulatorFaults, TooMuchSharedMemory) {
    expect_fault(Fault::shared_too_large, shared_too_much, 32, "49156 bytes of shared memory");
}

void GS_KERNEL(32, 1) shared_overrun(Unused) {
    planted_line = __LINE__ + 1;
    GS_SHARED(int, values, 32);
    int* const pointer = values;
    pointer[33] = 1;
}
TEST(EmulatorFaults, PointerPastASharedArray) {
    die_in_a_new_process();
    if constexpr (emu::kAddressSanitizer) {
        EXPECT_DEATH(emu::run(shared_overrun, Unused{nullptr}, 1, 32), "AddressSanitizer");
    } else {
        expect_fault(Fault::shared_overrun, shared_overrun, 32,
                     "4 bytes past the end of array values");
    }
}

void GS_KERNEL(32, 1) traps(Unused) {
    planted_line = __LINE__ + 1;
    if (threadIdx.x == 9) __trap();
    __syncthreads();
}
TEST(EmulatorFaults, Trap) { expect_fault(Fault::trap, traps, 32, "thread 9"); }

Fault fault_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const emu::EmulatorError& error) {
        return error.fault;
    }
    ADD_FAILURE() << "nothing caught";
    return Fault::trap;
}

void GS_KERNEL(32, 1) nothing(Unused) {}
struct Chain {
    unsigned *tickets, *words;
};
/// Each block waits for the one before it: by its index, or by its place in the order they begin.
template <bool kByTicket>
void GS_KERNEL(32, 1) wait_for_the_block_before(Chain p) {
    GS_SHARED(unsigned, place, 1);
    if (threadIdx.x == 0) place[0] = kByTicket ? atomicAdd(p.tickets, 1u) : blockIdx.x;
    __syncthreads();
    if (threadIdx.x != 0) return;
    unsigned before = 0;
    while (place[0] > 0 && (before = gs::cuda::look_at(&p.words[place[0] - 1])) == 0) continue;
    atomicExch(&p.words[place[0]], before + 1);
}

TEST(EmulatorFaults, BlocksThatWaitForOneThatHasNotBegun) {
    constexpr unsigned kBlocks = 12;
    const auto run = [](void (*kernel)(Chain), unsigned together, std::uint64_t seed) {
        unsigned tickets = 0;
        std::vector<unsigned> words(kBlocks, 0);
        emu::set_seed(seed);
        emu::set_together(together);
        bool stuck = false;
        try {
            emu::run(kernel, Chain{&tickets, words.data()}, kBlocks, 32);
        } catch (const emu::EmulatorError& error) {
            EXPECT_EQ(error.fault, Fault::no_progress) << error.what();
            stuck = true;
        }
        emu::set_together(1);
        EXPECT_TRUE(stuck || words.back() == kBlocks);
        return stuck;
    };
    int stuck = 0;
    for (unsigned seed = 0; seed < 4; ++seed) {
        stuck += run(wait_for_the_block_before<false>, 3, seed) ? 1 : 0;
        EXPECT_FALSE(run(wait_for_the_block_before<true>, 3, seed));
        EXPECT_FALSE(run(wait_for_the_block_before<false>, kBlocks, seed)) << "all run";
    }
    EXPECT_GT(stuck, 0);
}

TEST(EmulatorFaults, BlocksThatNoDeviceTakes) {
    for (const unsigned threads : {0u, 33u, 1056u}) {
        EXPECT_EQ(fault_of([&] { emu::run(nothing, Unused{nullptr}, 1, threads); }),
                  Fault::bad_launch);
    }
    EXPECT_EQ(fault_of([&] { emu::run(nothing, Unused{nullptr}, 0, 32); }), Fault::bad_launch);
}

void GS_KERNEL(32, 1) writes_33(Unused p) {
    p.out[threadIdx.x] = 1;
    if (threadIdx.x == 0) p.out[32] = 1;
}
TEST(EmulatorFaults, WriteOutsideAnAllocation) {
    die_in_a_new_process();
    int* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 32 * sizeof(int)), cudaSuccess);
    if constexpr (emu::kAddressSanitizer) {
        EXPECT_DEATH(emu::run(writes_33, Unused{memory}, 1, 32), "heap-buffer-overflow");
    } else {
        try {
            emu::run(writes_33, Unused{memory}, 1, 32);
            ADD_FAILURE() << "not caught";
        } catch (const emu::EmulatorError& error) {
            EXPECT_EQ(error.fault, Fault::red_zone);
            EXPECT_STREQ(error.what(),
                         "kernel kernel_under_test wrote 0 bytes past the end of an allocation of "
                         "128 bytes");
        }
    }
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(EmulatorFaults, CopiesAndFreesOfWhatIsNoAllocation) {
    std::vector<int> host(64);
    int* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 32 * sizeof(int)), cudaSuccess);
    const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
        return fault_of([&] { cudaMemcpy(to, from, bytes, kind); });
    };
    EXPECT_EQ(copy(memory, host.data(), 33 * sizeof(int), cudaMemcpyHostToDevice),
              Fault::bad_pointer);
    EXPECT_EQ(copy(host.data(), host.data() + 8, 16, cudaMemcpyHostToDevice), Fault::bad_pointer);
    EXPECT_EQ(copy(memory, memory + 8, 16, cudaMemcpyDeviceToHost), Fault::bad_pointer);
    EXPECT_EQ(fault_of([&] { cudaMemset(memory + 1, 0, 32 * sizeof(int)); }), Fault::bad_pointer);
    EXPECT_EQ(fault_of([&] { cudaFree(memory + 1); }), Fault::bad_pointer);
    EXPECT_EQ(fault_of([&] { cudaFreeHost(memory); }), Fault::bad_pointer);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    EXPECT_EQ(fault_of([&] { cudaFree(memory); }), Fault::bad_pointer);
}

TEST(EmulatorFaults, CopiesToTheHostOfWhatNobodyWroteAreCounted) {
    std::vector<int> host(32);
    int* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 32 * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMemset(memory, 0, 8 * sizeof(int)), cudaSuccess);
    const auto counted = [&](std::size_t first, std::size_t count) {
        const auto before = emu::calls("copy of what nobody wrote");
        cudaMemcpy(host.data(), memory + first, count * sizeof(int), cudaMemcpyDeviceToHost);
        return emu::calls("copy of what nobody wrote") - before;
    };
    EXPECT_EQ(counted(0, 9), 1u);
    EXPECT_EQ(counted(31, 1), 1u);
    EXPECT_EQ(counted(0, 8), 0u);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

void GS_KERNEL(32, 1) doubles(Unused p) { p.out[threadIdx.x] *= 2; }
TEST(EmulatorFaults, SeparateMemoryIsOutOfTheHostsReach) {
    die_in_a_new_process();
    int *memory = nullptr, *pinned = nullptr;
    std::vector<int> host(32, 21);
    emu::set_separate_memory(true);
    ASSERT_EQ(cudaMalloc(&memory, 32 * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&pinned, 32 * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(memory, host.data(), 32 * sizeof(int), cudaMemcpyHostToDevice),
              cudaSuccess);
    emu::run(doubles, Unused{memory}, 1, 32);
    std::fill_n(pinned, 32, 4);
    emu::run(doubles, Unused{pinned}, 1, 32);
    EXPECT_EQ(pinned[0], 8);
    ASSERT_EQ(cudaMemcpy(pinned, memory, 32 * sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(pinned[31], 42);
    EXPECT_DEATH(host[0] = memory[1],
                 emu::kAddressSanitizer ? "use-after-poison" : "host code touches device memory");
    EXPECT_EQ(fault_of([&] { emu::run(doubles, Unused{host.data()}, 1, 32); }),
              Fault::host_pointer);
    emu::set_separate_memory(false);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

void GS_KERNEL(64, 1) barrier_twice(Unused) {
    __syncthreads();
    __syncthreads();
}
TEST(EmulatorFaults, WorksOnAfterAFault) {
    EXPECT_THROW(emu::run(two_barriers, Unused{nullptr}, 4, 64), emu::EmulatorError);
    for (int i = 0; i < 10; ++i) EXPECT_NO_THROW(emu::run(barrier_twice, Unused{nullptr}, 8, 64));
}

TEST(EmulatorFaults, SwallowedReportsMakeTheProgramFail) {
    die_in_a_new_process();
    const auto swallow = [] {
        EXPECT_TRUE(emu::take_reports().empty());
        try {
            emu::run(two_barriers, Unused{nullptr}, 1, 64);
        } catch (...) {
        }
    };
    swallow();
    const std::vector<std::string> reports = emu::take_reports();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_NE(reports[0].find("different barriers"), std::string::npos);
    EXPECT_EXIT((swallow(), std::exit(0)), ::testing::ExitedWithCode(1),
                "not taken by a test: .*different barriers");
}

}  // namespace
