// Frames for the screen recorded as CUDA graphs and replayed: the same pixels as without, for every
// camera. A graph is recorded again when its kernels' arguments change. On the emulated device.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "renderer/device/device_picture.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "renderer/scene/gaussian_tint.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

namespace emu = emulator;
using Pixels = std::vector<std::uint8_t>;

/// A viewer: one rasterizer and one state, whose frames may be replayed.
class Screen {
  public:
    explicit Screen(const GaussianModel& model) { show(model); }
    void show(const GaussianModel& model) { source_ = rasterizer_->source_of(model); }
    Pixels draw(const Camera& camera, const RenderOptions& options) {
        const auto picture =
            rasterizer_->forward_for_display(*source_, camera, options, *state_, result);
        Pixels out;
        picture->download(
            [&](std::span<const std::uint8_t> bytes) { out.assign(bytes.begin(), bytes.end()); });
        return out;
    }
    RenderResult result;

  private:
    std::unique_ptr<Rasterizer> rasterizer_ = std::move(*make_cuda_rasterizer(0));
    std::unique_ptr<ForwardState> state_ = rasterizer_->make_state();
    std::unique_ptr<ParameterSource> source_;
};

RenderOptions looked_at() { return {.depth = false, .gradients = false}; }
GaussianModel scene(std::size_t count, std::uint64_t seed) {
    return random_model({.count = count, .seed = seed});
}
Camera from(int i, int width = 70) {
    Camera camera = random_camera(63, 0, width, 50);
    camera.translation.x += 0.02 * i;
    return camera;
}
/// As drawn by somebody who has drawn nothing before.
Pixels alone(const GaussianModel& model, const Camera& camera, const RenderOptions& options) {
    return Screen(model).draw(camera, options);
}

TEST(CudaFrameGraphs, ASteadyViewIsReplayedWhereverItLooksFrom) {
    const GaussianModel model = scene(500, 1);
    Screen screen(model);
    constexpr int kFrames = 16;
    const emu::Calls before = emu::calls();
    for (int i = 0; i < kFrames; ++i)
        EXPECT_EQ(screen.draw(from(i), looked_at()), alone(model, from(i), looked_at())) << i;
    const emu::Calls more = emu::difference(before, emu::calls());
    // One of eight is timed, and two of the others come before recording.
    EXPECT_GE(more.at("cudaGraphLaunch"), 11u);
    EXPECT_EQ(more.at("cudaGraphInstantiate"), 1u) << "one recording serves every camera";
}

TEST(CudaFrameGraphs, WhatKernelsAreGivenIsNeverOfAnotherFrame) {
    const GaussianModel first = scene(500, 1), second = scene(700, 2);
    Screen screen(first);
    RenderOptions plain = looked_at(), flat = looked_at(), fast = looked_at();
    flat.sh_degree = 0;
    flat.scale_modifier = 0.5f;
    fast.precision = Precision::fast;
    RenderOptions tinted = looked_at();
    const auto tint = std::make_shared<GaussianTint>();
    tint->serial = 1;
    tint->words.resize_discard(first.count);
    tint->words.fill(GaussianTint::kOwn);
    for (std::size_t i = 0; i < first.count; i += 2) tint->words[i] = GaussianTint::kHidden;
    tinted.tint = tint;
    const auto expect = [&](const GaussianModel& model, const Camera& camera,
                            const RenderOptions& options, const char* what) {
        const Pixels wanted = alone(model, camera, options);
        for (int i = 0; i < 5; ++i) EXPECT_EQ(screen.draw(camera, options), wanted) << what << i;
    };
    for (int round = 0; round < 2; ++round) {
        screen.show(first);
        expect(first, from(0), plain, "plain ");
        expect(first, from(0), flat, "flat ");
        expect(first, from(0), fast, "fast ");
        expect(first, from(0), tinted, "tinted ");
        expect(first, from(1, 90), plain, "wider ");
        screen.show(second);
        expect(second, from(2), plain, "another model ");
    }
}

/// In groups of tiles nothing is recorded, and the picture is the same.
TEST(CudaFrameGraphs, AFrameInGroupsIsTheSamePicture) {
    const GaussianModel model = scene(500, 1);
    Screen screen(model);
    RenderOptions few = looked_at();
    few.most_pairs = 300;
    const Pixels wanted = alone(model, from(0), looked_at());
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(screen.draw(from(0), few), wanted) << i;
        EXPECT_GT(screen.result.counters.isects, 600u);
        EXPECT_EQ(screen.draw(from(0), looked_at()), wanted) << i;
    }
}

TEST(CudaFrameGraphs, AFrameThatOutgrowsItsRoomIsDrawnAgain) {
    const GaussianModel model = scene(900, 3);
    Screen screen(model);
    RenderOptions small = looked_at(), large = looked_at();
    small.scale_modifier = 0.02f;
    for (int i = 0; i < 6; ++i) screen.draw(from(0, 400), small);
    const std::uint64_t before = screen.result.counters.isects;
    large.scale_modifier = 3;
    const Pixels wanted = alone(model, from(0, 400), large);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(screen.draw(from(0, 400), large), wanted) << i;
    EXPECT_LT(before, 2000u);
    EXPECT_GT(screen.result.counters.isects, 4500u) << "more than the least capacity";
}

TEST(CudaFrameGraphs, CostsAreMeasuredKernelByKernel) {
    const GaussianModel model = scene(300, 4);
    Screen screen(model);
    RenderOptions costs = looked_at();
    costs.costs = costs.counters = true;
    const std::uint64_t before = emu::calls("cudaGraphLaunch");
    for (int i = 0; i < 6; ++i) screen.draw(from(i), costs);
    EXPECT_EQ(emu::calls("cudaGraphLaunch"), before);
}

/// Nothing runs before the host waits, so whatever the host overwrites too early shows.
TEST(CudaFrameGraphs, WorkThatRunsLateDrawsTheSame) {
    const GaussianModel model = scene(400, 5);
    const Pixels wanted = alone(model, from(3), looked_at());
    emu::set_execution(emu::Execution::deferred);
    Screen screen(model);
    for (int i = 0; i < 7; ++i) screen.draw(from(i), looked_at());
    EXPECT_EQ(screen.draw(from(3), looked_at()), wanted);
    emu::set_execution(emu::Execution::eager);
}

}  // namespace
}  // namespace gs::test
