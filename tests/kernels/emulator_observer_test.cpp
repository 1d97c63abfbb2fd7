// Observers see every launch, with readable memory and the name that nvcc gave the kernel.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/emulator/emulator.h"
#include "tests/support/emulator/kernel_name.h"
#include "tests/support/emulator/observer.h"

namespace gs::cuda {
namespace {

struct ObservedParams {
    int* to;
    int value;
};
template <bool kTwice>
void observed_kernel(ObservedParams p) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *p.to = kTwice ? 2 * p.value : p.value;
}

/// What it saw, a line a launch.
class Watcher final : public emulator::LaunchObserver {
  public:
    explicit Watcher(const int* at) : at_(at) {}
    void before(const emulator::Launched&) override { before_ = *at_; }
    void after(const emulator::Launched& launched) override {
        ObservedParams p{};
        ASSERT_EQ(launched.parameters.size(), sizeof p);
        std::memcpy(&p, launched.parameters.data(), sizeof p);
        seen.push_back(emulator::kernel_name(launched.function) + " " + launched.name + " " +
                       std::to_string(launched.blocks) + " " + std::to_string(launched.threads) +
                       " " + std::to_string(p.value) + ": " + std::to_string(before_) + " -> " +
                       std::to_string(*at_));
    }
    std::vector<std::string> seen;

  private:
    const int* at_;
    int before_ = 0;
};

class EmulatorObserver : public testing::Test {
  protected:
    void SetUp() override {
        emulator::set_separate_memory(true);
        ASSERT_EQ(cudaMalloc(&memory_, sizeof(int)), cudaSuccess);
        ASSERT_EQ(cudaMemset(memory_, 0, sizeof(int)), cudaSuccess);
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    }
    void TearDown() override {
        EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
        EXPECT_EQ(cudaFree(memory_), cudaSuccess);
        emulator::set_separate_memory(false);
    }
    int* at() const { return static_cast<int*>(memory_); }
    void* memory_ = nullptr;
    cudaStream_t stream_ = nullptr;
};

TEST_F(EmulatorObserver, SeesLaunchesWithTheirMemoryAndNames) {
    {
        Watcher watcher(at());
        emulator::launch(stream_, "once", 3, 64, observed_kernel<false>, ObservedParams{at(), 5});
        emulator::launch(stream_, "twice", 1, 32, observed_kernel<true>, ObservedParams{at(), 8});
        EXPECT_EQ(watcher.seen,
                  (std::vector<std::string>{"observed_kernel<false> once 3 64 5: 0 -> 5",
                                            "observed_kernel<true> twice 1 32 8: 5 -> 16"}));
    }
    Watcher late(at());
    EXPECT_TRUE(late.seen.empty());
}

TEST_F(EmulatorObserver, SeesReplaysOfGraphsNotTheirRecording) {
    Watcher watcher(at());
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    emulator::launch(stream_, "recorded", 1, 32, observed_kernel<true>, ObservedParams{at(), 3});
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    EXPECT_TRUE(watcher.seen.empty());
    for (int i = 0; i < 2; ++i) ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
    EXPECT_EQ(watcher.seen,
              (std::vector<std::string>{"observed_kernel<true> recorded 1 32 3: 0 -> 6",
                                        "observed_kernel<true> recorded 1 32 3: 6 -> 6"}));
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST(EmulatorKernelName, IsThatOfTheKernelTable) {
    EXPECT_EQ(emulator::readable_kernel("not mangled"), "not mangled");
    EXPECT_EQ(emulator::readable_kernel(
                  "_ZN2gs4cuda12_GLOBAL__N_15blendILNS0_6DepthsE1ELb1EEEvNS0_11BlendParamsE"),
              "blend<(Depths)1, true>");
    EXPECT_EQ(emulator::kernel_name(nullptr), "");
}

}  // namespace
}  // namespace gs::cuda
