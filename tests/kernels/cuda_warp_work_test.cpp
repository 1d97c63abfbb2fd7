// What the kernels say their warps did (WarpWork): by hand for a picture of one Gaussian, by a
// serial walk over the same lists for crowds.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "renderer/raster/cuda/blend_pixel.cuh"
#include "tests/kernels/cuda_forward.h"
#include "tests/kernels/cuda_forward_frame.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using namespace gs::cuda;

void expect_work(const WarpWork& found, const WarpWork& wanted) {
    EXPECT_EQ(found.batches, wanted.batches);
    EXPECT_EQ(found.group_tests, wanted.group_tests);
    EXPECT_EQ(found.near, wanted.near);
    EXPECT_EQ(found.open, wanted.open);
    EXPECT_EQ(found.live_isects, wanted.live_isects);
    EXPECT_EQ(found.live_sub_tiles, wanted.live_sub_tiles);
}

Camera straight_on(int width, int height) {
    return {.width = width,
            .height = height,
            .fx = 100.0,
            .fy = 100.0,
            .cx = 0.5 * width,
            .cy = 0.5 * height};
}

/// One round Gaussian, 10 before the camera, whose standard deviation on the picture is `sigma` px
/// and whose centre lies (right, down) px from the middle.
GaussianModel one_gaussian(float sigma, float right, float down, float logit) {
    GaussianModel model = random_model({.count = 1, .sh_degree = 0});
    const float mean[3] = {right / 10.0f, down / 10.0f, 10.0f};
    for (int axis = 0; axis < 3; ++axis) {
        model.plane(kMeans + axis)[0] = mean[axis];
        model.plane(kLogScales + axis)[0] = std::log(sigma / 10.0f);
    }
    model.plane(kOpacityLogits)[0] = logit;
    return model;
}

WarpWork work_of(const GaussianModel& model, const Camera& camera) {
    const RenderOptions options{.depth = false, .counters = true};
    ForwardFrame frame(model, camera, options, ForwardFrame::roomy(model, camera, options));
    frame.draw();
    return frame.counts().warps;
}

/// Over everything: every warp of every tile tests one group, finds one splat near, and blends it.
/// 70 x 40 pixels are 5 x 3 tiles; of the last column only 6 pixels, of the last row 8 lie inside,
/// so that in 3 + 5 - 1 tiles half of the warps have no pixel, and of the corner's only two have.
TEST(CudaWarpWork, OneGaussianOverAllTiles) {
    const std::uint64_t warps = 8 * 8 + 4 * 2 + 4 * 4 + 2;
    expect_work(work_of(one_gaussian(60, 0, 0, 4), straight_on(70, 40)),
                {15, warps, warps, warps, 15, warps});
}

/// A dot of at most 2 pixels' reach, in the middle of the sub-tile x 8 .. 15, y 4 .. 7 of the tile
/// that begins at (32, 16): that tile's eight warps test it, one finds it near.
TEST(CudaWarpWork, OneGaussianInOneSubTile) {
    expect_work(work_of(one_gaussian(0.05f, 44 - 32, 22 - 24, -2), straight_on(64, 48)),
                {1, 8, 1, 1, 1, 1});
}

TEST(CudaWarpWork, NothingInView) {
    expect_work(work_of(one_gaussian(1, 1000, 0, 4), straight_on(64, 48)), {});
}

/// The work by the definitions: items as they are, a warp's pixels one after another.
WarpWork serial_work(const ForwardFrame& frame) {
    const FrameArrays& a = frame.pipeline.arrays();
    const FrameCounts counts = frame.counts();
    const FrameConstants& c = frame.constants;
    const auto splats =
        frame.fetched(a.splats, static_cast<std::size_t>(frame.limits.chunks()) * kChunk);
    const auto slots = frame.fetched(a.slot_from_isect, counts.isects);
    WarpWork work;
    for (const WorkItem& item : frame.fetched(a.items, counts.items)) {
        const int left = static_cast<int>(item.tile) % c.tiles_x * kTileSize,
                  top = static_cast<int>(item.tile) / c.tiles_x * kTileSize;
        std::vector<std::uint8_t> opened(item.end - item.first, 0);
        std::uint32_t drawn_until = item.first;
        for (int warp = 0; warp < kSubTiles; ++warp) {
            const SubTile sub_tile = sub_tile_of(c, item.tile, warp);
            PixelState pixels[kWarp];
            for (int lane = 0; lane < kWarp; ++lane) {
                const int x = left + warp % 2 * kSubTileWidth + lane % kSubTileWidth,
                          y = top + warp / 2 * kSubTileHeight + lane / kSubTileWidth;
                pixels[lane] = {};
                pixels[lane].t = 1.0f;
                pixels[lane].floor = x < c.width && y < c.height ? c.log2_alpha_min : kEndedFloor;
            }
            const auto ended = [&] {
                return std::ranges::all_of(
                    pixels, [](const PixelState& s) { return s.floor >= kEndedFloor; });
            };
            for (std::uint32_t group = item.first; group < item.end && !ended(); group += kWarp) {
                ++work.group_tests;
                drawn_until = std::max(drawn_until, group + 1);
                for (std::uint32_t k = group; k < std::min(group + kWarp, item.end); ++k) {
                    const Splat& splat = splats[slots[k]];
                    if (!reaches(sub_tile, splat, c.log2_alpha_min)) continue;
                    ++work.near;
                    bool open = false;
                    for (int lane = 0; lane < kWarp; ++lane) {
                        const float dx = sub_tile.left + static_cast<float>(lane % 8) - splat.x,
                                    dy = sub_tile.top + static_cast<float>(lane / 8) - splat.y;
                        open |= blend_into<Depths::none, false>(
                            pixels[lane], log2_alpha(splat, dx, dy), 0, 0, 0, 0, pixel_rules(c), 0);
                    }
                    work.open += open ? 1 : 0;
                    opened[k - item.first] |= open ? 1 : 0;
                }
            }
        }
        work.batches += (drawn_until - item.first + 255) / 256;
        work.live_isects += static_cast<std::uint64_t>(std::ranges::count(opened, 1));
    }
    work.live_sub_tiles = work.open;
    return work;
}

/// Faint and opaque crowds, tiles of one item and of several.
TEST(CudaWarpWork, CrowdsAsASerialWalk) {
    const Camera camera = random_camera(60, 0, 37, 26);
    for (const auto& [lo, hi] : {std::pair{0.01f, 0.1f}, {0.3f, 0.9999f}})
        for (const std::uint32_t item_isects : {64u, 1024u}) {
            SCOPED_TRACE(fmt::format("opacity {} to {}, items of {}", lo, hi, item_isects));
            const GaussianModel model = random_model({.count = 1200,
                                                      .sh_degree = 0,
                                                      .scale_lo = 0.05f,
                                                      .scale_hi = 0.6f,
                                                      .opacity_lo = lo,
                                                      .opacity_hi = hi});
            for (const bool gradients : {false, true}) {
                const RenderOptions options{.gradients = gradients, .counters = true};
                FrameLimits limits = ForwardFrame::roomy(model, camera, options);
                limits.item_isects = item_isects;
                ForwardFrame frame(model, camera, options, limits);
                frame.draw();
                const WarpWork found = frame.counts().warps, wanted = serial_work(frame);
                expect_work(found, wanted);
                EXPECT_GT(found.near, 1000u);
                EXPECT_LT(found.open, found.near);
                EXPECT_LE(frame.counts().blended_pairs, kWarp * found.open);
            }
        }
}

WarpWork counted_by(Rasterizer& rasterizer, const GaussianModel& model, const Camera& camera) {
    const RenderOptions options{
        .depth = false, .gradients = false, .counters = true, .warps = true};
    const auto source = rasterizer.source_of(model);
    const auto state = rasterizer.make_state();
    RenderResult result;
    rasterizer.forward(*source, camera, options, *state, result);
    return result.counters.warps;
}

/// What the CPU backend says the kernels would do is what they do: faint crowds, whose tiles are of
/// several items, opaque ones, needles, pictures that end within a sub-tile.
TEST(CudaWarpWork, AsTheCpuForetells) {
    const auto cpu = make_cpu_rasterizer(), cuda = emulated_cuda();
    std::uint64_t index = 0;
    for (const auto& [count, lo, hi, smallest, largest] :
         {std::tuple{3000, 0.004f, 0.02f, 0.3f, 0.8f},
          {900, 0.3f, 0.9999f, 0.05f, 0.4f},
          {1500, 0.02f, 0.9f, 0.001f, 0.9f}}) {
        const GaussianModel model = random_model({.count = static_cast<std::size_t>(count),
                                                  .sh_degree = 0,
                                                  .scale_lo = smallest,
                                                  .scale_hi = largest,
                                                  .opacity_lo = lo,
                                                  .opacity_hi = hi});
        for (const auto& [width, height] : {std::pair{50, 37}, {16, 16}, {9, 70}}) {
            SCOPED_TRACE(fmt::format("{} Gaussians, {} x {}", count, width, height));
            const Camera camera = random_camera(61, index++, width, height);
            const WarpWork wanted = counted_by(*cpu, model, camera);
            EXPECT_GT(wanted.open, 100u);
            expect_work(counted_by(*cuda, model, camera), wanted);
        }
    }
}

}  // namespace
}  // namespace gs::test
