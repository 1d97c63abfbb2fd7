// Frames that must be the same to the bit, however they were drawn.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "renderer/raster/rasterizer.h"

namespace gs::test {

template <class T>
bool same_bits(const T& a, const T& b) {
    return a.size() == b.size() &&
           (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

/// Everything that a frame reports, but for times.
inline void expect_same_frame(const RenderResult& a, const RenderResult& b) {
    EXPECT_TRUE(same_bits(a.color.values, b.color.values));
    EXPECT_TRUE(same_bits(a.alpha.values, b.alpha.values));
    EXPECT_TRUE(same_bits(a.depth.values, b.depth.values));
    EXPECT_TRUE(same_bits(a.median_depth.values, b.median_depth.values));
    EXPECT_TRUE(same_bits(a.contributors, b.contributors));
    EXPECT_TRUE(same_bits(a.isects_per_tile, b.isects_per_tile));
    EXPECT_TRUE(same_bits(a.pairs_per_tile, b.pairs_per_tile));
    EXPECT_TRUE(same_bits(a.costs.tile_evaluated, b.costs.tile_evaluated));
    EXPECT_TRUE(same_bits(a.costs.tile_blended, b.costs.tile_blended));
    EXPECT_TRUE(same_bits(a.costs.evaluated, b.costs.evaluated));
    EXPECT_TRUE(same_bits(a.costs.blended, b.costs.blended));
    const RenderCounters &x = a.counters, &y = b.counters;
    EXPECT_EQ(x.gaussians, y.gaussians);
    EXPECT_EQ(x.candidates, y.candidates);
    EXPECT_EQ(x.visible, y.visible);
    EXPECT_EQ(x.isects, y.isects);
    EXPECT_EQ(x.list_pairs, y.list_pairs);
    EXPECT_EQ(x.evaluated_pairs, y.evaluated_pairs);
    EXPECT_EQ(x.blended_pairs, y.blended_pairs);
    EXPECT_EQ(x.longest_tile, y.longest_tile);
    EXPECT_EQ(std::memcmp(&x.warps, &y.warps, sizeof(WarpWork)), 0);
}

}  // namespace gs::test
