// Capacity of frames: a frame that does not fit does nothing and says what it needs, the rasterizer
// draws it again, and a steady view neither allocates nor waits.
#include <gtest/gtest.h>

#include "renderer/raster/cuda/frame_limits.h"
#include "tests/kernels/cuda_forward.h"
#include "tests/kernels/cuda_forward_frame.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

using cuda::FrameLimits;

TEST(CudaForwardRoom, StepsAreFewAndStable) {
    EXPECT_EQ(cuda::stepped(0), cuda::kMinCapacity);
    std::uint32_t last = 0, steps = 0;
    for (std::uint32_t n = 4096; n < 65536; ++n) {
        const std::uint32_t capacity = cuda::stepped(n);
        EXPECT_GE(capacity, n);
        EXPECT_LE(capacity, n + n / 8 + 1);
        if (capacity != last) ++steps;
        last = capacity;
    }
    EXPECT_LE(steps, 4u * 8u + 1u);
    EXPECT_EQ(cuda::stepped(~0ull / 8), cuda::kMaxCapacity);
    std::uint32_t capacity = cuda::capacity_for(100000, 0);
    EXPECT_GE(capacity, 125000u);
    for (const std::uint32_t needed : {101000u, 99000u, 110000u, 95000u})
        EXPECT_EQ(cuda::capacity_for(needed, capacity), capacity);
    EXPECT_GT(cuda::capacity_for(capacity, capacity), capacity) << "about to overflow";
    EXPECT_LT(cuda::capacity_for(1000, capacity), capacity) << "much too large";
}

TEST(CudaForwardRoom, FramesThatDoNotFitDoNothingAndSayWhatTheyNeed) {
    const GaussianModel model = random_model({.count = 700});
    const Camera camera = random_camera(60, 0, 70, 50);
    const FrameLimits roomy = ForwardFrame::roomy(model, camera, {});
    ForwardFrame fits(model, camera, {}, roomy);
    fits.draw();
    const cuda::FrameCounts expected = fits.counts();
    ASSERT_EQ(expected.overflow, 0u);
    FrameLimits few_visible = roomy, few_isects = roomy, none = roomy, exact = roomy;
    few_visible.visible = expected.visible - 1;
    few_isects.isects = expected.isects - 1;
    none.visible = none.isects = 0;
    exact.visible = expected.visible;
    exact.isects = expected.isects;
    for (const FrameLimits& limits : {few_visible, few_isects, none}) {
        SCOPED_TRACE(fmt::format("{} visible, {} isects", limits.visible, limits.isects));
        ForwardFrame frame(model, camera, {}, limits);
        const auto untouched = frame.color();
        frame.draw();
        const cuda::FrameCounts counts = frame.counts();
        EXPECT_EQ(counts.overflow, 1u);
        EXPECT_EQ(counts.visible, expected.visible);
        EXPECT_EQ(counts.isects, expected.isects);
        const auto color = frame.color();
        EXPECT_EQ(std::memcmp(color.data(), untouched.data(), color.size() * sizeof(float)), 0);
    }
    ForwardFrame frame(model, camera, {}, exact);
    frame.draw();
    EXPECT_EQ(frame.counts().overflow, 0u);
    EXPECT_EQ(frame.color(), fits.color());
}

TEST(CudaForwardRoom, TheRasterizerMakesRoomAndDrawsAgain) {
    const GaussianModel large = random_model({.count = 3000, .scale_hi = 0.5f}),
                        small = random_model({});
    const Camera camera = random_camera(61, 0, 70, 50);
    RasterRun fresh(emulated_cuda()), grown(emulated_cuda());
    const Drawn expected = fresh.draw(large, camera, {});
    grown.draw(small, camera, {});
    const auto before = emulator::calls("launch:project");
    expect_same(grown.draw(large, camera, {}), expected, "after a frame that needed little");
    EXPECT_EQ(emulator::calls("launch:project") - before, 2u);
    grown.draw(large, camera, {});
    EXPECT_EQ(emulator::calls("launch:project") - before, 3u) << "the next frame fits at once";
}

TEST(CudaForwardRoom, OutOfMemoryIsAnErrorAndTheStateStaysUsable) {
    const Camera camera = random_camera(61, 0, 70, 50);
    const GaussianModel model = random_model({});
    RasterRun fresh(emulated_cuda()), run(emulated_cuda());
    const Drawn expected = fresh.draw(model, camera, {});
    for (std::uint64_t n = 1; n < 6; ++n) {
        RasterRun failing(emulated_cuda());
        emulator::fail_device_allocation(n);
        try {
            failing.draw(model, camera, {});
        } catch (const DeviceError& error) {
            EXPECT_TRUE(error.out_of_memory()) << error.what();
        }
        emulator::fail_device_allocation(0);
        expect_same(failing.draw(model, camera, {}), expected, "after an allocation failed");
    }
}

TEST(CudaForwardRoom, ThePipelineNeitherAllocatesNorWaits) {
    const GaussianModel model = random_model({.count = 800});
    const Camera camera = random_camera(62, 0, 70, 50);
    ForwardFrame frame(model, camera, {}, ForwardFrame::roomy(model, camera, {}));
    frame.draw();
    frame.draw();
    const auto before = emulator::calls();
    for (int i = 0; i < 3; ++i) frame.draw();
    const auto calls = emulator::difference(before, emulator::calls());
    EXPECT_EQ(emulator::allocations(calls), 0u);
    EXPECT_EQ(emulator::synchronizations(calls), 0u);
    EXPECT_EQ(frame.counts().overflow, 0u);
}

TEST(CudaForwardRoom, ASteadyViewAllocatesNothingAndWaitsOnce) {
    const GaussianModel model = random_model({.count = 800});
    const std::unique_ptr<Rasterizer> cuda = emulated_cuda();
    const auto state = cuda->make_state();
    const auto source = cuda->source_of(model);
    const RenderOptions options{.gradients = false};
    RenderResult result;
    emulator::Calls before;
    constexpr std::uint64_t kFrames = 4;
    for (std::uint64_t i = 0; i < 2 + kFrames; ++i) {
        if (i == 2) before = emulator::calls();
        Camera camera = random_camera(63, 0, 70, 50);
        camera.translation.x += 0.01 * static_cast<double>(i);
        cuda->forward(*source, camera, options, *state, result);
    }
    const auto calls = emulator::difference(before, emulator::calls());
    EXPECT_EQ(emulator::allocations(calls), 0u);
    EXPECT_EQ(calls.at("launch:project"), kFrames);
    EXPECT_EQ(emulator::synchronizations(calls), kFrames) << "pictures land in page-locked memory";
}

TEST(CudaForwardRoom, SteadyNeedsGetATenthMoreAtMost) {
    cuda::Capacity capacity;
    EXPECT_FALSE(capacity.known());
    capacity.learn(1'000'000);
    EXPECT_GE(capacity.now(), 1'250'000u) << "what comes next is not known";
    for (const std::uint32_t needed : {1'002'000u, 998'000u, 1'004'000u}) capacity.learn(needed);
    const std::uint32_t close = capacity.now();
    EXPECT_GE(close, 1'004'000u * 65 / 64);
    EXPECT_LE(close, 1'004'000u * 11 / 10);
    for (const std::uint32_t needed : {1'000'000u, 1'006'000u, 996'000u}) {
        capacity.learn(needed);
        EXPECT_EQ(capacity.now(), close) << "the same capacity every time";
    }
    for (std::uint32_t needed = 1'000'000; needed < 3'000'000; needed += needed / 64) {
        EXPECT_GE(capacity.now(), needed) << "growing slowly never overflows";
        capacity.learn(needed);
        EXPECT_LE(capacity.now(), needed * 11 / 10);
    }
    capacity.learn(500'000);
    EXPECT_GE(capacity.now(), 625'000u) << "it moves again";
    for (const std::uint32_t n : {1u, 4096u, 5000u, 70'000u, 123'456'789u}) {
        const std::uint32_t got = cuda::close_capacity(n, 0);
        EXPECT_GE(got, n + n / 64);
        EXPECT_LE(got, std::max(n + n / 10, cuda::kMinCapacity));
    }
    capacity.learn(0);
    capacity.learn(0);
    capacity.learn(0);
    EXPECT_EQ(capacity.now(), cuda::kMinCapacity);
}

/// Nothing runs before the host waits, so whatever the host overwrites too early shows.
TEST(CudaForwardRoom, WorkThatRunsLateDrawsTheSame) {
    const GaussianModel model = random_model({.count = 600});
    const Camera camera = random_camera(64, 0, 70, 50);
    RasterRun early(emulated_cuda()), late(emulated_cuda());
    const auto v = case_upstream(camera.width, camera.height);
    const Drawn expected = early.draw(model, camera, {});
    const DrawnGradients gradients = early.backward(v);
    emulator::set_execution(emulator::Execution::deferred);
    for (int i = 0; i < 2; ++i) {
        expect_same(late.draw(model, camera, {}), expected, "deferred");
        EXPECT_EQ(late.backward(v).parameters.values, gradients.parameters.values);
    }
    emulator::set_execution(emulator::Execution::eager);
}

}  // namespace
}  // namespace gs::test
