// What the CUDA backend's warps do, counted by the CPU backend: closed forms of scenes that can be
// worked out by hand, and laws that hold of any.
#include <gtest/gtest.h>

#include "renderer/raster/warp_sums.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"

namespace gs::test {
namespace {

RenderOptions counting() { return {.depth = false, .counters = true, .warps = true}; }

Camera straight_camera(int width, int height) {
    return {.width = width,
            .height = height,
            .fx = 100,
            .fy = 100,
            .cx = width / 2.0,
            .cy = height / 2.0};
}

/// `count` faint Gaussians one behind the other, so wide that they cover any small picture.
GaussianModel curtains(std::size_t count, float logit) {
    GaussianModel model(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        model.plane(kMeans + 2)[i] = 10 + 0.001f * static_cast<float>(i);
        for (int axis = 0; axis < 3; ++axis) model.plane(kLogScales + axis)[i] = 4.0f;
        model.plane(kQuats)[i] = 1;
        model.plane(kOpacityLogits)[i] = logit;
    }
    return model;
}

WarpWork warps_of(const GaussianModel& model, const Camera& camera) {
    RasterRun run(make_cpu_rasterizer());
    return run.draw(model, camera, counting()).result.counters.warps;
}

TEST(RasterWarps, OneSplatOverWholeTiles) {
    // 48 x 32 px are 6 tiles of 8 warps, all of them reached and open.
    const WarpWork w = warps_of(curtains(1, 0.0f), straight_camera(48, 32));
    EXPECT_EQ(w, (WarpWork{6, 48, 48, 48, 6, 48}));
}

TEST(RasterWarps, WarpsOutsideThePictureDoNothing) {
    // 24 x 20 px: of the tiles' 32 warps those with a pixel inside: 3 columns of 8, 5 rows of 4.
    const WarpWork w = warps_of(curtains(1, 0.0f), straight_camera(24, 20));
    EXPECT_EQ(w, (WarpWork{4, 15, 15, 15, 4, 15}));
}

TEST(RasterWarps, ListsAreWalkedInBatchesAndItems) {
    // 1,500 so faint that no pixel ends: an item of 1,024 and one of 476, four batches and two.
    const WarpWork w = warps_of(curtains(1500, -5.0f), straight_camera(16, 16));
    EXPECT_EQ(w, (WarpWork{6, 8 * (32 + 15), 8 * 1500, 8 * 1500, 1500, 8 * 1500}));
}

TEST(RasterWarps, WhatHasEndedIsNotTested) {
    // Alpha 0.5 each: T falls to 2^-13 or below after 13, and 1e-4 lies between 2^-13 and 2^-14:
    // the fourteenth ends the pixels, and nobody looks at the second group.
    const WarpWork w = warps_of(curtains(600, 0.0f), straight_camera(16, 16));
    EXPECT_EQ(w.batches, 1u);
    EXPECT_EQ(w.group_tests, 8u);
    EXPECT_EQ(w.open, 8u * 14);
    EXPECT_EQ(w.near, 8u * 32);
    EXPECT_EQ(w.live_isects, 14u);
    EXPECT_EQ(w.live_sub_tiles, 8u * 14);
}

TEST(RasterWarps, OfAnySceneKeepTheLaws) {
    const Camera camera = random_camera(41, 0, 150, 110);
    const GaussianModel model = random_model({.count = 3000});
    RasterRun run(make_cpu_rasterizer());
    const RenderCounters c = run.draw(model, camera, counting()).result.counters;
    EXPECT_LE(c.warps.open, c.warps.near);
    EXPECT_LE(c.warps.near, 8 * c.isects);
    EXPECT_LE(c.warps.live_isects, c.isects);
    EXPECT_LE(c.warps.live_isects, c.warps.live_sub_tiles);
    EXPECT_LE(c.warps.live_sub_tiles, c.warps.open);
    EXPECT_LE(c.blended_pairs, 32 * c.warps.open);
    EXPECT_GE(32 * c.warps.group_tests, c.warps.near);
    EXPECT_GT(c.warps.batches, 0u);
    RenderOptions plain = counting();
    plain.counters = false;
    EXPECT_EQ(run.draw(model, camera, plain).result.counters.warps, WarpWork{});
    // The same on every instruction set.
    const std::vector<std::string> sets = cpu_instruction_sets();
    for (const std::string& set : sets) {
        ASSERT_TRUE(choose_cpu_instruction_set(set));
        const WarpWork again =
            RasterRun(make_cpu_rasterizer()).draw(model, camera, counting()).result.counters.warps;
        EXPECT_EQ(again.batches, c.warps.batches) << set;
        EXPECT_EQ(again.near, c.warps.near) << set;
        // Without fused multiply-adds a pixel may end one splat earlier or later.
        EXPECT_NEAR(static_cast<double>(again.open), static_cast<double>(c.warps.open),
                    1e-4 * static_cast<double>(c.warps.open))
            << set;
    }
    choose_cpu_instruction_set("");
}

}  // namespace
}  // namespace gs::test
