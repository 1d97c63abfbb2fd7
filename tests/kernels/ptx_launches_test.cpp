// Launches executed from PTX beside the emulator: differences are reported, rounding is not.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "renderer/raster/cuda/project_backward.cuh"
#include "tests/support/emulator/emulator.h"
#include "tests/support/ptx_launches/adam_noise.h"
#include "tests/support/ptx_launches/launch_executor.h"
#include "tests/support/temporary_folder.h"
#include "trainer/cuda/adam_sink.cuh"

namespace gs::cuda {
namespace {

struct PlantedParams {
    std::uint32_t* to;
    std::uint32_t value, count;
};
void planted_kernel(PlantedParams p) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) p.to[i] = p.value + i;
}
void absent_kernel(PlantedParams p) { planted_kernel(p); }

/// planted_kernel as nvcc might compile it, adding `extra`.
std::string planted_ptx(int extra) {
    return R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry _ZN2gs4cuda43_GLOBAL__N__1234abcd_10_planted_cu_1234abcd14planted_kernelENS1_13PlantedParamsE(
.param .align 8 .b8 p0[16]
)
{
.reg .pred %p<2>;
.reg .b32 %r<9>;
.reg .b64 %rd<5>;
ld.param.u64 %rd1, [p0];
ld.param.u32 %r1, [p0+8];
ld.param.u32 %r2, [p0+12];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
setp.ge.u32 %p1, %r6, %r2;
@%p1 bra $L__BB0_2;
cvta.to.global.u64 %rd2, %rd1;
mul.wide.u32 %rd3, %r6, 4;
add.s64 %rd4, %rd2, %rd3;
add.s32 %r7, %r1, %r6;
add.s32 %r8, %r7, )" +
           std::to_string(extra) + R"(;
st.global.u32 [%rd4], %r8;
$L__BB0_2:
ret;
}
)";
}

class PtxLaunches : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(cudaMalloc(&memory_, 40 * sizeof(std::uint32_t)), cudaSuccess);
    }
    void TearDown() override { EXPECT_EQ(cudaFree(memory_), cudaSuccess); }
    std::uint32_t* to() const { return static_cast<std::uint32_t*>(memory_); }
    /// What executing launches of planted_kernel from such PTX came to.
    ptx::KernelRecord run(int extra, PlantedParams params, std::string& complaints) {
        const test::TemporaryFolder folder;
        std::ofstream(folder / "planted.cu.o.ptx") << planted_ptx(extra);
        ptx::LaunchExecutor executor(folder.path());
        emulator::launch(nullptr, "planted", 2, 32, planted_kernel, params);
        complaints = executor.take_complaints();
        EXPECT_NE(executor.table().find("planted_kernel"), std::string::npos);
        return executor.kernels().at("planted_kernel");
    }
    void* memory_ = nullptr;
};

TEST_F(PtxLaunches, TheSameIsRight) {
    std::string complaints;
    const ptx::KernelRecord record = run(0, {to(), 7, 40}, complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_EQ(record.launches, 1u);
    EXPECT_EQ(record.words.changed, 40u);
    EXPECT_EQ(record.words.differing, 0u);
    EXPECT_EQ(to()[39], 46u);  // what the emulator left stays
}

TEST_F(PtxLaunches, AnotherResultIsTold) {
    std::string complaints;
    const ptx::KernelRecord record = run(1, {to(), 7, 40}, complaints);
    EXPECT_EQ(record.wrong, 1u);
    EXPECT_EQ(record.words.beyond, 40u);
    EXPECT_NE(complaints.find("planted_kernel: \"planted\", 2 blocks: 40 of 40"), std::string::npos)
        << complaints;
}

TEST_F(PtxLaunches, HostMemoryIsLeftOut) {
    std::vector<std::uint32_t> host(64);
    std::string complaints;
    const ptx::KernelRecord record = run(1, {host.data(), 7, 64}, complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_EQ(record.launches, 0u);
    EXPECT_EQ(record.left_out, 1u);
}

TEST_F(PtxLaunches, AKernelWithoutCodeIsTold) {
    const test::TemporaryFolder folder;
    EXPECT_THROW(ptx::LaunchExecutor{folder.path()}, std::runtime_error);
    std::ofstream(folder / "planted.ptx") << planted_ptx(0);
    ptx::LaunchExecutor executor(folder.path());
    emulator::launch(nullptr, "absent", 1, 32, absent_kernel, PlantedParams{to(), 1, 1});
    EXPECT_NE(executor.take_complaints().find("no .ptx file has an entry of that name"),
              std::string::npos);
    EXPECT_EQ(executor.take_complaints(), "");
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

ptx::WordDifferences judge(std::vector<std::uint32_t> expected, std::vector<std::uint32_t> got,
                           ptx::Tolerance tolerance) {
    return ptx::compare_words(std::vector<std::uint32_t>(expected.size(), 0), expected, got,
                              tolerance);
}

TEST(WordCompare, RoundingIsJudgedByWhatLiesAround) {
    const std::vector<std::uint32_t> expected{bits(1), bits(1e-6f), 0};
    const std::vector<std::uint32_t> got{bits(1), bits(1.2e-6f), 0};
    EXPECT_EQ(judge(expected, got, {1e-5, 0}).beyond, 0u);
    EXPECT_EQ(judge(expected, got, {1e-8, 0}).beyond, 1u);
    EXPECT_EQ(judge(expected, got, {}).beyond, 1u);
    std::vector<std::uint32_t> far(64, bits(1e-6f)), other = far;
    far[0] = other[0] = bits(100);
    other[60] = bits(2e-6f);
    EXPECT_EQ(judge(far, other, {1e-5, 0}).beyond, 1u);
    EXPECT_EQ(judge(far, other, {1e-5, 1e-6}).beyond, 0u);
}

TEST(WordCompare, CountsAndMasksMustBeEqual) {
    for (const auto& [a, b] : {std::pair{5u, 6u}, {0x7fc00000u, 1u}, {0xffffffffu, 0xfffffffeu}})
        EXPECT_EQ(judge({bits(1), a}, {bits(1), b}, {1e-3, 1e-3}).beyond, 1u) << a;
    // Two ways to say that there is no number.
    EXPECT_EQ(judge({0x7fc00000u}, {0x7fffffffu}, {1e-5, 0}).beyond, 0u);
}

TEST(WordCompare, NothingIsADoubleUnasked) {
    // The lower word of an aligned pair is the tail of its mantissa, the upper nearly all of it.
    for (const ptx::Tolerance tolerance : {ptx::Tolerance{1e-3, 2e-6}, ptx::Tolerance{1e-6, 0}}) {
        EXPECT_EQ(judge({bits(1), bits(0.5f)}, {bits(100), bits(0.5f)}, tolerance).beyond, 1u);
        EXPECT_EQ(judge({bits(0.5f), bits(1)}, {bits(0.5f), bits(1.01f)}, tolerance).beyond, 1u);
        EXPECT_EQ(judge({bits(0.3f), bits(0.5f)}, {0x7fc00000u, bits(0.5f)}, tolerance).beyond, 1u);
        EXPECT_EQ(judge({5u, bits(0.5f)}, {6u, bits(0.5f)}, tolerance).beyond, 1u);
    }
}

TEST(WordCompare, KindsAreNoMeasureOfEachOther) {
    // A first moment beside a second: half of the second lost is 5e-7 of the first.
    const std::vector<std::uint32_t> expected{bits(1), bits(1e-6f)}, got{bits(1), bits(5e-7f)};
    const std::vector<std::uint32_t> before(2, 0);
    const ptx::Tolerance tolerance{1e-3, 2e-6};
    EXPECT_EQ(ptx::compare_words(before, expected, got, tolerance).beyond, 0u);
    const ptx::WordMeaning meaning{[](std::size_t word) { return word; }, {}};
    EXPECT_EQ(ptx::compare_words(before, expected, got, tolerance, meaning).beyond, 1u);
    EXPECT_EQ(ptx::compare_words(before, expected, expected, tolerance, meaning).beyond, 0u);
}

TEST(AdamStep, ParametersAndEachMomentAreKinds) {
    using Params = cuda::ProjectBackwardParams<cuda::AdamSink>;
    constexpr std::uintptr_t kPlanes = 14, kStride = 48, kWord = sizeof(float);
    std::vector<float> values(kPlanes * kStride), moments(3 * kPlanes * 2 * kBlock);
    std::vector<std::byte> parameters(sizeof(Params));
    ModelView model{.values = values.data(), .stride = kStride, .count = 40};
    model.lazy.moments = moments.data();
    model.lazy.model_planes = kPlanes;
    std::memcpy(parameters.data() + offsetof(Params, model), &model, sizeof model);
    const ptx::AdamNoise step("project_backward<AdamSink, true>", parameters);
    const auto first_value = reinterpret_cast<std::uintptr_t>(values.data()),
               first_moment = reinterpret_cast<std::uintptr_t>(moments.data());
    EXPECT_EQ(step.kind_of(first_value), 1u);
    EXPECT_EQ(step.kind_of(first_value + (kStride + 7) * kWord), 4u);
    EXPECT_EQ(step.kind_of(first_moment), 2u);
    EXPECT_EQ(step.kind_of(first_moment + kBlock * kWord), 3u);
    EXPECT_EQ(step.kind_of(first_moment + (2 * kBlock + 15) * kWord), 5u);
    EXPECT_EQ(step.kind_of(first_moment + kPlanes * 2 * kBlock * kWord), 2u);  // the next block
    EXPECT_EQ(step.kind_of(first_moment + moments.size() * kWord), 0u);
    EXPECT_EQ(ptx::AdamNoise("blend", parameters).kind_of(first_value), 0u);
}

TEST(WordCompare, PairsAreDoublesWhereAsked) {
    const auto words = [](double value) {
        const auto both = std::bit_cast<std::uint64_t>(value);
        return std::vector<std::uint32_t>{static_cast<std::uint32_t>(both),
                                          static_cast<std::uint32_t>(both >> 32)};
    };
    EXPECT_EQ(judge(words(0.1), words(std::nextafter(0.1, 1)), {1e-12, 0, true}).beyond, 0u);
    EXPECT_GT(judge(words(0.1), words(0.1000001), {1e-12, 0, true}).beyond, 0u);
}

}  // namespace
}  // namespace gs::cuda
