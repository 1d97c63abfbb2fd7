// The maps of a drawn frame: one body for the viewport and for `gausscope render --maps`.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/maps/picture_error.h"
#include "renderer/maps/scalar_map.h"

namespace gs::test {
namespace {

RenderResult four_pixels() {
    RenderResult r;
    r.width = 2;
    r.height = 2;
    r.tiles_x = r.tiles_y = 1;
    r.color.resize(2, 2, 3);
    r.color.values.fill(0.5f);
    r.alpha.resize(2, 2, 1);
    r.depth.resize(2, 2, 1);
    const float alpha[] = {1.0f, 0.5f, 0.004f, 0.0f}, depth[] = {3.0f, 2.0f, 0.02f, 0.0f};
    for (std::size_t i = 0; i < 4; ++i) {
        r.alpha.values[i] = alpha[i];
        r.depth.values[i] = depth[i];
    }
    r.contributors.resize_discard(4);
    for (std::size_t i = 0; i < 4; ++i) r.contributors[i] = static_cast<std::uint16_t>(i);
    r.isects_per_tile.resize_discard(1);
    r.isects_per_tile[0] = 7;
    r.pairs_per_tile.resize_discard(1);
    r.pairs_per_tile[0] = 1000;
    return r;
}

/// However faint a pixel is, what was drawn there has a depth; where nothing was, there is none.
TEST(Maps, DepthIsWhereAnythingWasDrawn) {
    const ScalarMap map = scalar_map(four_pixels(), ViewMode::depth);
    EXPECT_EQ(map.cell, 1);
    EXPECT_STREQ(map.unit, "world units");
    EXPECT_FLOAT_EQ(map.values.values[0], 3);
    EXPECT_FLOAT_EQ(map.values.values[1], 4);
    EXPECT_FLOAT_EQ(map.values.values[2], 5);
    EXPECT_TRUE(std::isnan(map.values.values[3]));
}

TEST(Maps, CountsAreOfPixelsOrTiles) {
    const RenderResult r = four_pixels();
    EXPECT_EQ(scalar_map(r, ViewMode::alpha).values.values[1], 0.5f);
    const ScalarMap contributors = scalar_map(r, ViewMode::contributors);
    EXPECT_EQ(contributors.values.values[3], 3.0f);
    EXPECT_EQ(contributors.cell, 1);
    for (const auto& [mode, value] :
         {std::pair{ViewMode::isects, 7.0f}, {ViewMode::pairs, 1000.0f}}) {
        const ScalarMap map = scalar_map(r, mode);
        ASSERT_EQ(map.values.pixels(), 1u);
        EXPECT_EQ(map.values.values[0], value);
        EXPECT_EQ(map.cell, kTileSize);
    }
    for (const ViewMode picture : {ViewMode::color, ViewMode::photo, ViewMode::error})
        EXPECT_EQ(scalar_map(r, picture).values.pixels(), 0u);
    EXPECT_TRUE(needs_counters(ViewMode::pairs) && needs_counters(ViewMode::contributors));
    EXPECT_FALSE(needs_counters(ViewMode::isects) || needs_counters(ViewMode::depth));
}

TEST(Maps, ErrorIsTheMeanOverTheChannels) {
    const RenderResult r = four_pixels();
    Image8 photo{2, 2, 3, {}};
    for (int i = 0; i < 4; ++i) photo.bytes.insert(photo.bytes.end(), {255, 0, 0});
    const PictureReference reference(photo);
    EXPECT_FLOAT_EQ(error_map(r, reference, false).values[2], 0.5f);
    EXPECT_NEAR(error_map(r, reference, true).values[2], 0.5 / 3, 1e-6);
    EXPECT_DOUBLE_EQ(mean_squared_error(r, reference), 0.25);
    EXPECT_EQ(mean_squared_error(r, PictureReference(r)), 0);
    EXPECT_TRUE(PictureReference(Image8{}).empty());
}

}  // namespace
}  // namespace gs::test
