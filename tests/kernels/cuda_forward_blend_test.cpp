// Blend and composite held to a serial walk over the same lists: pictures, contributed masks, final
// transmittance, the sums that split tiles leave for backward.
#include <gtest/gtest.h>

#include <cmath>

#include "renderer/raster/cuda/blend_pixel.cuh"
#include "tests/kernels/cuda_forward_frame.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using namespace gs::cuda;

/// The lists of a frame on the host.
struct Lists {
    explicit Lists(const ForwardFrame& frame) {
        const FrameArrays& a = frame.pipeline.arrays();
        counts = frame.counts();
        splats = frame.fetched(a.splats, static_cast<std::size_t>(frame.limits.chunks()) * kChunk);
        slots = frame.fetched(a.slot_from_isect, counts.isects);
        begin = frame.fetched(a.tile_begin, static_cast<std::size_t>(frame.limits.tiles) + 1);
        items = frame.fetched(a.items, counts.items);
    }
    FrameCounts counts;
    std::vector<Splat> splats;
    std::vector<std::uint32_t> slots, begin;
    std::vector<WorkItem> items;
};

struct Pixel {
    int in_tile, warp;
    std::uint32_t tile;
    std::size_t offset;
    float x, y;
};
Pixel pixel_at(const FrameConstants& c, int x, int y) {
    const int tx = x / kTileSize, ty = y / kTileSize, column = x % kTileSize, row = y % kTileSize;
    return {row * kTileSize + column,
            row / kSubTileHeight * 2 + column / kSubTileWidth,
            static_cast<std::uint32_t>(ty * c.tiles_x + tx),
            static_cast<std::size_t>(y) * static_cast<std::size_t>(c.width) +
                static_cast<std::size_t>(x),
            static_cast<float>(x) + 0.5f,
            static_cast<float>(y) + 0.5f};
}

/// Calls visit(isect, state before it, opened) for every isect of the pixel's tile, and returns the
/// end state.
template <class Visit>
PixelState walk(const Lists& lists, const FrameConstants& c, const Pixel& pixel, Visit&& visit) {
    PixelState s{1.0f, 0.0f, 0.0f, 0.0f, 0.0f, c.log2_alpha_min, 0, 0, 0.0f};
    for (std::uint32_t k = lists.begin[pixel.tile]; k < lists.begin[pixel.tile + 1]; ++k) {
        const Splat& splat = lists.splats[lists.slots[k]];
        const float power = log2_alpha(splat, pixel.x - splat.x, pixel.y - splat.y);
        const bool open = power >= s.floor;
        visit(k, s, open);
        if (open)
            blend_into<Depths::with_median, true>(s, power, splat.red, splat.green, splat.blue,
                                                  splat.depth, pixel_rules(c),
                                                  k - lists.begin[pixel.tile]);
    }
    return s;
}

/// `medians`: counts the pixels that have a median depth. `exact`: tiles of one item, where the
/// walk makes the same bits.
void check_blend(const ForwardFrame& frame, bool exact, std::uint64_t& medians) {
    const Lists lists(frame);
    const FrameConstants& c = frame.constants;
    const FrameArrays& a = frame.pipeline.arrays();
    const std::size_t plane = frame.pixels(),
                      words = (frame.limits.isects / 32 + lists.begin.size()) * kSubTiles;
    const auto color = frame.color(), alpha = frame.alpha(), depth = frame.depth();
    const auto median = frame.median_depth();
    const auto contributors = frame.contributors();
    const auto final_t = frame.fetched(a.final_transmittance, plane);
    const auto contributed = frame.fetched(a.contributed, words);
    const auto partials =
        frame.fetched(a.partials, static_cast<std::size_t>(frame.limits.max_partials()) *
                                      kPartialPlanes * kTilePixels);
    const double tolerance = exact ? 0 : 3e-6;
    std::vector<std::uint32_t> expected(words, 0), covered(words, 0);
    std::uint64_t blended = 0;
    for (int y = 0; y < c.height; ++y)
        for (int x = 0; x < c.width; ++x) {
            const Pixel pixel = pixel_at(c, x, y);
            const WorkItem& last = lists.items[pixel.tile];
            bool at_half = false;  // rounding decides which Gaussian brings T below one half
            const PixelState s =
                walk(lists, c, pixel, [&](std::uint32_t k, const PixelState& before, bool open) {
                    const std::uint32_t first = lists.begin[pixel.tile], in_tile = k - first;
                    const std::size_t word = contributed_word(pixel.tile, first, k, pixel.warp);
                    covered[word] = ~0u;
                    if (open) expected[word] |= 1u << (in_tile % 32);
                    at_half |= std::abs(before.t - kMedianTransmittance) < 1e-5f;
                    if (last.partial == ~0u || in_tile % frame.limits.item_isects != 0) return;
                    const std::uint32_t partial =
                        last.partial - last.index + in_tile / frame.limits.item_isects;
                    const float* at =
                        partials.data() +
                        static_cast<std::size_t>(partial) * kPartialPlanes * kTilePixels +
                        pixel.in_tile;
                    const float t = before.floor >= kEndedFloor ? 0.0f : before.t;
                    ASSERT_NEAR(at[0], before.red, tolerance)
                        << x << ' ' << y << " item " << partial;
                    ASSERT_NEAR(at[kTilePixels], before.green, tolerance);
                    ASSERT_NEAR(at[2 * kTilePixels], before.blue, tolerance);
                    ASSERT_NEAR(at[3 * kTilePixels], t, tolerance);
                    ASSERT_NEAR(at[4 * kTilePixels], before.depth, 10 * tolerance);
                });
            ASSERT_NEAR(color[pixel.offset], s.red + s.t * c.background.x, tolerance + 1e-7)
                << x << ' ' << y;
            ASSERT_NEAR(color[plane + pixel.offset], s.green + s.t * c.background.y,
                        tolerance + 1e-7);
            ASSERT_NEAR(color[2 * plane + pixel.offset], s.blue + s.t * c.background.z,
                        tolerance + 1e-7);
            ASSERT_NEAR(alpha[pixel.offset], 1.0f - s.t, tolerance);
            ASSERT_NEAR(final_t[pixel.offset], s.t, tolerance);
            ASSERT_NEAR(depth[pixel.offset], s.depth, 10 * tolerance);
            if (exact || !(at_half || std::abs(s.t - kMedianTransmittance) < 1e-5f)) {
                ASSERT_EQ(median[pixel.offset], s.median) << x << ' ' << y;
            }
            medians += s.median > 0 ? 1 : 0;
            ASSERT_EQ(contributors[pixel.offset], s.contributors) << x << ' ' << y;
            blended += s.contributors;
        }
    EXPECT_EQ(lists.counts.blended_pairs, blended);
    for (std::size_t word = 0; word < words; ++word) {
        if (covered[word] == 0) continue;  // no isects, or no pixels: never read
        ASSERT_EQ(expected[word] & ~contributed[word], 0u) << "word " << word;
        if (exact) {
            ASSERT_EQ(contributed[word], expected[word]) << "word " << word;
        }
    }
}

RenderOptions everything() {
    return {.background = {0.1f, 0.2f, 0.3f}, .median_depth = true, .counters = true};
}

SceneRecipe crowd(std::size_t count, float opacity_lo, float opacity_hi) {
    return {.count = count,
            .sh_degree = 0,
            .scale_lo = 0.1f,
            .scale_hi = 0.8f,
            .opacity_lo = opacity_lo,
            .opacity_hi = opacity_hi};
}

TEST(CudaForwardBlend, EveryPixelAsASerialWalk) {
    const GaussianModel model = random_model(crowd(700, 0.02f, 0.9f));
    std::uint64_t medians = 0;
    for (const auto& [width, height] : {std::pair{61, 45}, {16, 16}, {7, 3}}) {
        SCOPED_TRACE(fmt::format("{} x {}", width, height));
        const Camera camera = random_camera(50, 0, width, height);
        ForwardFrame frame(model, camera, everything(),
                           ForwardFrame::roomy(model, camera, everything()));
        frame.draw();
        EXPECT_EQ(frame.counts().long_tiles, 0u);
        check_blend(frame, true, medians);
    }
    EXPECT_GT(medians, 100u);
}

/// Faint crowds run through all items; opaque ones end in the first, or just behind it.
TEST(CudaForwardBlend, SplitTilesAsASerialWalk) {
    const Camera camera = random_camera(51, 0, 24, 20);
    std::uint64_t medians = 0;
    for (const auto& [lo, hi] : {std::pair{0.004f, 0.02f}, {0.02f, 0.2f}, {0.3f, 0.9999f}})
        for (const std::uint32_t item_isects : {32u, 64u, 512u}) {
            SCOPED_TRACE(fmt::format("opacity {} to {}, items of {}", lo, hi, item_isects));
            const GaussianModel model = random_model(crowd(900, lo, hi));
            FrameLimits limits = ForwardFrame::roomy(model, camera, everything());
            limits.item_isects = item_isects;
            ForwardFrame frame(model, camera, everything(), limits);
            frame.draw();
            EXPECT_GT(frame.counts().long_tiles, 0u);
            check_blend(frame, false, medians);
        }
    EXPECT_GT(medians, 100u);
}

/// Splitting changes nothing but rounding, and nothing at all in what is counted of pixels; what is
/// not asked for changes no bit. Opaque crowds end in the first item, which composite takes as it
/// is when nothing is counted.
TEST(CudaForwardBlend, SplitOrNotIsTheSamePicture) {
    const Camera camera = random_camera(52, 0, 40, 33);
    for (const auto& [lo, hi] : {std::pair{0.01f, 0.6f}, {0.3f, 0.9999f}}) {
        SCOPED_TRACE(hi);
        const GaussianModel model = random_model(crowd(900, lo, hi));
        FrameLimits whole = ForwardFrame::roomy(model, camera, everything()), split = whole;
        split.item_isects = 64;
        ForwardFrame a(model, camera, everything(), whole), b(model, camera, everything(), split);
        a.draw();
        b.draw();
        EXPECT_EQ(a.counts().long_tiles, 0u);
        EXPECT_GT(b.counts().long_tiles, 0u);
        EXPECT_LE(max_abs_difference(a.color(), b.color()), 3e-6);
        EXPECT_EQ(a.contributors(), b.contributors());
        EXPECT_EQ(a.counts().blended_pairs, b.counts().blended_pairs);
        EXPECT_EQ(a.counts().list_pairs, b.counts().list_pairs);
        RenderOptions plain = everything();
        plain.counters = plain.gradients = plain.depth = plain.median_depth = false;
        FrameLimits less = split;
        less.counters = less.gradients = less.depth = less.median_depth = false;
        ForwardFrame viewed(model, camera, plain, less);
        viewed.draw();
        // Finding the median draws an item again, so that sums are rounded elsewhere.
        EXPECT_LE(max_abs_difference(viewed.color(), b.color()), 3e-6);
        RenderOptions counted = everything();
        counted.median_depth = split.median_depth = false;
        ForwardFrame c(model, camera, counted, split);
        c.draw();
        EXPECT_EQ(viewed.color(), c.color());
    }
}

/// More tiles of several items than composite has blocks, 1,024, with and without counters.
TEST(CudaForwardBlend, BlocksOfCompositeShareManyTiles) {
    GaussianModel model = random_model(crowd(40, 0.05f, 0.4f));
    for (std::size_t i = 0; i < model.count; ++i)
        for (int axis = 0; axis < 3; ++axis) model.at(kLogScales + axis, i) = std::log(4.0f);
    const Camera camera = random_camera(54, 0, 528, 528);
    for (const bool counters : {false, true}) {
        const RenderOptions options{.counters = counters};
        FrameLimits whole = ForwardFrame::roomy(model, camera, options, 1200), split = whole;
        split.item_isects = 32;
        ForwardFrame a(model, camera, options, whole), b(model, camera, options, split);
        a.draw();
        b.draw();
        EXPECT_EQ(a.counts().long_tiles, 0u);
        EXPECT_GT(b.counts().long_tiles, 1024u);
        EXPECT_LE(max_abs_difference(a.color(), b.color()), 3e-6);
        EXPECT_EQ(a.counts().blended_pairs, b.counts().blended_pairs);
        EXPECT_EQ(a.counts().list_pairs, b.counts().list_pairs);
    }
}

}  // namespace
}  // namespace gs::test
