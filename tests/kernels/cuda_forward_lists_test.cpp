// What lies between projection and blending: ranks, emissions, tile lists, work items, all held to
// a serial reading of the same slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "renderer/raster/cuda/tile_rows.cuh"
#include "tests/kernels/cuda_forward_frame.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using namespace gs::cuda;

/// Visible slots front to back; equal depths in the order of memory.
std::vector<std::uint32_t> serial_ranks(const ForwardFrame& frame,
                                        const std::vector<Splat>& splats) {
    const auto used = frame.fetched(frame.pipeline.arrays().chunk_slots, frame.limits.chunks());
    std::vector<std::uint32_t> slots;
    for (std::uint32_t chunk = 0; chunk < used.size(); ++chunk)
        for (std::uint32_t i = 0; i < used[chunk]; ++i) slots.push_back(chunk * kChunk + i);
    std::ranges::stable_sort(
        slots, [&](std::uint32_t a, std::uint32_t b) { return splats[a].depth < splats[b].depth; });
    return slots;
}

void check_items(const ForwardFrame& frame, const FrameCounts& counts,
                 const std::vector<std::uint32_t>& tile_begin) {
    const FrameArrays& a = frame.pipeline.arrays();
    const std::uint32_t tiles = static_cast<std::uint32_t>(frame.limits.tiles);
    ASSERT_LE(counts.items, frame.limits.max_items());
    ASSERT_LE(counts.long_tiles, frame.limits.max_long_tiles());
    const auto items = frame.fetched(a.items, counts.items);
    const auto order = frame.fetched(a.item_order, counts.items);
    const auto long_tiles = frame.fetched(a.long_tiles, counts.long_tiles);
    std::vector<std::vector<WorkItem>> by_tile(tiles);
    std::vector<int> partial_used(frame.limits.max_partials(), 0);
    std::uint32_t last_size = frame.limits.item_isects;
    for (const std::uint32_t index : order) {
        ASSERT_LT(index, counts.items);
        const WorkItem& item = items[index];
        ASSERT_LT(item.tile, tiles);
        by_tile[item.tile].push_back(item);
        const std::uint32_t size = item.end - item.first;
        // Classes are a 64th of the largest item wide.
        EXPECT_LE(size, last_size + frame.limits.item_isects / kSizeClasses + 1);
        last_size = std::min(last_size, size);
        if (item.partial == ~0u) continue;
        ASSERT_LT(item.partial, partial_used.size());
        EXPECT_EQ(partial_used[item.partial]++, 0);
    }
    std::size_t several = 0;
    for (std::uint32_t tile = 0; tile < tiles; ++tile) {
        auto& list = by_tile[tile];
        std::ranges::sort(list, [](const auto& x, const auto& y) { return x.index < y.index; });
        ASSERT_FALSE(list.empty());
        EXPECT_EQ(list.front().first, tile_begin[tile]);
        EXPECT_EQ(list.back().end, tile_begin[tile + 1]);
        for (std::size_t i = 0; i < list.size(); ++i) {
            EXPECT_EQ(list[i].index, i);
            EXPECT_EQ(list[i].partial == ~0u, list.size() == 1);
            EXPECT_LE(list[i].end - list[i].first, frame.limits.item_isects);
            if (i == 0) continue;
            EXPECT_EQ(list[i].first, list[i - 1].end);
            EXPECT_EQ(list[i].partial, list[i - 1].partial + 1);
            EXPECT_EQ((list[i].first - tile_begin[tile]) % 32, 0u);
        }
        if (list.size() > 1) {
            ASSERT_LT(several, long_tiles.size());
            EXPECT_EQ(long_tiles[several++], tile);
        }
    }
    EXPECT_EQ(several, long_tiles.size());
}

void check_lists(const ForwardFrame& frame) {
    const FrameArrays& a = frame.pipeline.arrays();
    const FrameCounts counts = frame.counts();
    ASSERT_EQ(counts.overflow, 0u);
    const std::size_t slots = static_cast<std::size_t>(frame.limits.chunks()) * kChunk;
    const auto splats = frame.fetched(a.splats, slots);
    const auto coverage = frame.fetched(a.coverage, slots);
    const auto isects_of_slot = frame.fetched(a.isects_of_slot, slots);
    const auto first_emission = frame.fetched(a.first_emission, slots);
    const auto slot_from_isect = frame.fetched(a.slot_from_isect, counts.isects);
    const auto emission = frame.fetched(a.payload[1], counts.isects);
    const auto tile_begin =
        frame.fetched(a.tile_begin, static_cast<std::size_t>(frame.limits.tiles) + 1);
    const auto ranks = serial_ranks(frame, splats);
    EXPECT_EQ(frame.fetched(a.slot_from_rank[1], counts.visible), ranks);

    std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>>
        lists;  // tile -> slot, emission
    std::uint32_t next = 0, longest = 0;
    for (const std::uint32_t slot : ranks) {
        if (frame.limits.gradients) {
            EXPECT_EQ(first_emission[slot], next);
        }
        const std::uint32_t first = next;
        Coverage looked_at = coverage[slot];
        looked_at.mask = 0;  // what it says must be what the ellipse says
        for (int row = coverage[slot].y0; row < coverage[slot].y1; ++row) {
            const TileRange range =
                row_tiles(looked_at, splats[slot], row, frame.constants.tiles_x, 0.0f);
            for (int x = range.first; x < range.end; ++x)
                lists[static_cast<std::uint32_t>(row * frame.constants.tiles_x + x)].push_back(
                    {slot, next++});
        }
        EXPECT_EQ(isects_of_slot[slot], next - first);
    }
    ASSERT_EQ(counts.isects, next);
    std::uint32_t at = 0;
    for (std::uint32_t tile = 0; tile < static_cast<std::uint32_t>(frame.limits.tiles); ++tile) {
        ASSERT_EQ(tile_begin[tile], at);
        const auto found = lists.find(tile);
        if (found == lists.end()) continue;
        longest = std::max(longest, static_cast<std::uint32_t>(found->second.size()));
        for (const auto& [slot, number] : found->second) {
            ASSERT_EQ(slot_from_isect[at], slot);
            ASSERT_EQ(emission[at], frame.limits.gradients ? number : slot);
            ++at;
        }
    }
    EXPECT_EQ(tile_begin.back(), at);
    EXPECT_EQ(counts.longest_tile, longest);
    check_items(frame, counts, tile_begin);
}

SceneRecipe recipe_of(std::size_t count, float scale_hi) {
    return {.count = count, .sh_degree = 0, .scale_hi = scale_hi};
}

TEST(CudaForwardLists, RanksEmissionsAndTileLists) {
    for (const bool gradients : {true, false})
        for (const auto& [count, width, height] :
             {std::tuple{900, 150, 90}, {300, 16, 16}, {40, 700, 40}, {1, 1, 1}}) {
            SCOPED_TRACE(fmt::format("{} Gaussians, {} x {}", count, width, height));
            const RenderOptions options{.gradients = gradients};
            const GaussianModel model =
                random_model(recipe_of(static_cast<std::size_t>(count), 0.4f));
            const Camera camera = random_camera(40, 0, width, height);
            ForwardFrame frame(model, camera, options,
                               ForwardFrame::roomy(model, camera, options, 200));
            frame.bin();
            check_lists(frame);
        }
}

TEST(CudaForwardLists, ManyRanksAreAddedUpByManyBlocks) {
    // Blocks that list hundreds of ranks, and ranks that hundreds of blocks list.
    GaussianModel model = random_model(recipe_of(5000, 0.01f));
    for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, 77) = std::log(3.0f);
    const Camera camera = random_camera(46, 0, 640, 480);
    ForwardFrame frame(model, camera, {}, ForwardFrame::roomy(model, camera, {}));
    frame.bin();
    check_lists(frame);
    EXPECT_GT(frame.counts().visible, 2 * kCountedRanks);
    const auto isects = frame.fetched(frame.pipeline.arrays().isects_of_slot, kChunk);
    EXPECT_GT(*std::ranges::max_element(isects), kEmitted);
}

TEST(CudaForwardLists, FloatersAreListedByTheBlock) {
    // Many that cover the picture, in a picture of more rows of tiles than a block has threads,
    // too.
    for (const auto& [width, height] : {std::pair{240, 190}, {20, 4200}}) {
        SCOPED_TRACE(fmt::format("{} x {}", width, height));
        GaussianModel model = random_model(recipe_of(30, 0.4f));
        for (std::size_t i = 0; i < 20; ++i)
            for (int axis = 0; axis < 3; ++axis)
                model.at(kLogScales + axis, i) = std::log(1.0f + 0.1f * static_cast<float>(i));
        const Camera camera = random_camera(45, 0, width, height);
        ForwardFrame frame(model, camera, {}, ForwardFrame::roomy(model, camera, {}, 600));
        frame.bin();
        check_lists(frame);
        const auto isects = frame.fetched(frame.pipeline.arrays().isects_of_slot, 20);
        EXPECT_GE(std::ranges::count_if(isects, [](auto n) { return n > 128; }), 8);
    }
}

TEST(CudaForwardLists, SmallItems) {
    const GaussianModel model = random_model(recipe_of(1500, 0.6f));
    const Camera camera = random_camera(41, 0, 70, 50);
    for (const std::uint32_t item_isects : {32u, 64u, 256u}) {
        SCOPED_TRACE(item_isects);
        FrameLimits limits = ForwardFrame::roomy(model, camera, {});
        limits.item_isects = item_isects;
        ForwardFrame frame(model, camera, {}, limits);
        frame.bin();
        check_lists(frame);
        EXPECT_GT(frame.counts().long_tiles, 0u);
    }
}

/// A form that is indefinite grows away from its centre; rounding makes such of long needles.
TEST(CudaForwardLists, FormsOfNeedlesAreNotIndefinite) {
    SceneRecipe recipe = recipe_of(2000, 3.0f);
    recipe.scale_lo = 1e-5f;
    const GaussianModel model = random_model(recipe);
    const Camera camera = random_camera(44, 0, 100, 75);
    const RenderOptions options{.blur = 1e-6f};
    ForwardFrame frame(model, camera, options, ForwardFrame::roomy(model, camera, options));
    frame.bin();
    const FrameArrays& a = frame.pipeline.arrays();
    const auto splats =
        frame.fetched(a.splats, static_cast<std::size_t>(frame.limits.chunks()) * kChunk);
    const auto slots = frame.fetched(a.slot_from_rank[1], frame.counts().visible);
    EXPECT_GT(slots.size(), model.count / 4);
    for (const std::uint32_t slot : slots) {
        const Splat& s = splats[slot];
        EXPECT_LE(double(s.b) * double(s.b), 4 * double(s.a) * double(s.c)) << "slot " << slot;
    }
}

/// More tiles than 16-bit keys can tell apart.
TEST(CudaForwardLists, LargePicture) {
    const GaussianModel model = random_model(recipe_of(30, 0.03f));
    const Camera camera = random_camera(42, 0, 4112, 4112);
    ForwardFrame frame(model, camera, {}, ForwardFrame::roomy(model, camera, {}, 3000));
    ASSERT_GT(frame.limits.tiles, 65535);
    frame.bin();
    check_lists(frame);
}

TEST(CudaForwardLists, ManyBlocksOfTiles) {
    const GaussianModel model = random_model(recipe_of(400, 0.5f));
    const Camera camera = random_camera(43, 0, 500, 400);
    FrameLimits limits = ForwardFrame::roomy(model, camera, {}, 300);
    limits.item_isects = 32;
    ForwardFrame frame(model, camera, {}, limits);
    frame.bin();
    check_lists(frame);
    EXPECT_GT(frame.counts().long_tiles, 0u);
}

}  // namespace
}  // namespace gs::test
