// What one frame of the CPU backend consists of between its stages, and the parameter structs of
// the SIMD kernels. Private to raster/cpu. Index words: block (16 Gaussians), slot (visible
// Gaussian of this frame), isect (slot in a tile).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/sort.h"
#include "renderer/math/project_lens.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/raster/sky.h"
#include "renderer/raster/tile_groups.h"
#include "renderer/raster/view_setup.h"

namespace gs::cpu {

/// The HWY_TARGET that run-time dispatch chose.
std::int64_t instruction_set();

inline constexpr std::size_t kBlocksPerChunk = 64;  ///< one projection task
inline constexpr std::size_t kSlotsPerChunk =
    kBlocksPerChunk * kBlock;  ///< slots are numbered chunk * this + local
inline constexpr int kTilePixels = kTileSize * kTileSize;
/// Lists are indexed by 32 bits.
inline constexpr std::uint64_t kMostIsects = 0xffffffff;
inline constexpr float kLog2E = 1.4426950408889634f;
/// Blending goes by squares of 4 x 4 pixels, sixteen a tile, row by row.
inline constexpr int kSquareSide = 4, kSquarePixels = 16, kSquares = 16;
/// Pixels of a square that lie inside a tile of `columns` x `rows` pixels.
inline int square_pixels(int square, int columns, int rows) {
    return std::clamp(columns - square % 4 * kSquareSide, 0, kSquareSide) *
           std::clamp(rows - square / 4 * kSquareSide, 0, kSquareSide);
}
/// The same for half squares, 2 s the upper and 2 s + 1 the lower half of square s.
inline int half_pixels(int half, int columns, int rows) {
    constexpr int kRows = kSquareSide / 2;
    return std::clamp(columns - half / 2 % 4 * kSquareSide, 0, kSquareSide) *
           std::clamp(rows - (half / 8 * 2 + half % 2) * kRows, 0, kRows);
}

/// A projected Gaussian as blending reads it. log2 alpha = l - (s dx + r dy)^2 - (w dy)^2, d =
/// pixel centre - (x, y): the conic's Cholesky factor, so no rounding can make the form of a very
/// long needle grow away from its centre.
struct Splat {
    float x, y;     ///< px
    float s, r, w;  ///< 1/px, of the conic times log2(e) / 2
    float l;        ///< log2 opacity, compensation included
    float red, green, blue;
    float depth;             ///< Projection::depth
    float slope_x, slope_y;  ///< of the lines where a row (d x / d y) and a column (d y / d x) are
                             ///< densest
};
static_assert(sizeof(Splat) == 48);

/// A splat's form as the CUDA backend has it: log2 alpha = l - (a dx^2 + b dx dy + c dy^2).
struct WarpForm {
    float x, y, a, b, c, l;
};

/// Tiles [x0, x1) of one row of tiles, around a seam as TileRange has them.
struct TileSpan {
    std::uint16_t x0, x1;
};
/// The tiles one slot covers: `rows` spans from row y0 down, stored in its chunk's span list from
/// `first`. Its isects are emissions emission .. emission + isects - 1 of its chunk.
struct Coverage {
    std::uint32_t first;
    std::uint16_t y0, rows;
    std::uint32_t isects, emission;
};

/// Sums over the pixels of one isect (blend backward -> project backward). v = d loss / d ln alpha.
struct IsectGradient {
    float s, sx, sy, sxx, sxy, syy;  ///< sum of v, v dx, v dy, v dx^2, v dx dy, v dy^2
    float red, green, blue, depth;   ///< sum of weight * d loss / d (colour, depth)
    float absolute[2];               ///< sum of |v d log2 alpha / d mean|, x and y; or 0
};
static_assert(sizeof(IsectGradient) == 48);
/// A sum of them.
struct GradientSum {
    typedef float Four __attribute__((vector_size(16), aligned(16)));
    Four parts[3];
};
static_assert(sizeof(GradientSum) == sizeof(IsectGradient));

struct ProjectParams {
    math::Pinhole<float> camera;
    /// What the kernels project through in its place: null unless draws_through_lens().
    std::shared_ptr<const math::LensCamera<float>> lens;
    bool unscented;         ///< draws_unscented(); only with `lens`
    ViewCone<double> cone;  ///< what it shows; only with `lens`
    Vec3f ray_origin;       ///< as ray_origin() of view_setup.h
    float width, height;    ///< px
    float wrap;             ///< px after which the picture repeats sideways, or 0
    RasterRules rules;
    float log_alpha_min;  ///< natural log of rules.alpha_min
    float blur;           ///< px^2
    float scale_modifier;
    bool antialiased;
    int sh_degree;    ///< bases used
    bool motion;      ///< backward: fill BlockGradients::motion
    bool intrinsics;  ///< backward: fill BlockGradients::intrinsics
    bool absolute;    ///< backward: fill BlockGradients::mean2d without signs
    bool clipped;     ///< by the box `clip`
    ClipBox clip;
    std::span<const std::uint32_t> tint;  ///< words of GaussianTint by row, or none
};
/// 16 Gaussians after projection. Lanes not in `mask` hold anything.
struct ProjectedBlock {
    alignas(64) float x[kBlock], y[kBlock], depth[kBlock];
    alignas(64) float conic_xx[kBlock], conic_xy[kBlock], conic_yy[kBlock];
    alignas(64) float s[kBlock], r[kBlock], w[kBlock], slope_x[kBlock],
        slope_y[kBlock];  ///< as in Splat
    alignas(64) float log2_opacity[kBlock];
    alignas(64) float limit[kBlock];  ///< 2 ln(opacity / alpha_min): the conic form at the edge
    alignas(64) float extent_x[kBlock], extent_y[kBlock];  ///< px, half sizes of that ellipse's box
    alignas(64) float box_x[kBlock],
        box_y[kBlock];  ///< px, half sizes of the box that chooses tiles (profile)
    alignas(64) float color[3][kBlock];
    std::uint32_t mask;
};
/// Summed isect gradients of 16 Gaussians, transposed for lanes.
struct SplatGradients {
    alignas(64) float v[12][kBlock];  ///< rows in the order of IsectGradient
};

struct BlendParams {
    const Splat* splats;
    const std::uint32_t* slot_from_isect;
    const std::uint32_t* emission_from_isect;  ///< or null; backward only
    const std::uint32_t* tile_begin;           ///< [tiles + 1] first isect of each tile
    int tiles_x, width, height;
    float wrap;  ///< px after which the picture repeats sideways, or 0
    RasterRules rules;
    float log2_alpha_min;     ///< log2 of rules.alpha_min
    float transmittance_min;  ///< a pixel ends when its next transmittance would be this or less
    Vec3f background;
    float* color;                 ///< [3][height][width]
    float* alpha;                 ///< [height][width]
    float* depth;                 ///< or null
    float* median_depth;          ///< or null; only with depth
    std::uint16_t* contributors;  ///< or null
    std::uint32_t* pairs_per_tile;
    std::uint32_t* list_end;        ///< [tiles] isects looked at before the tile was finished
    std::uint64_t* blended_pairs;   ///< [tiles], or null
    std::uint32_t* slot_evaluated;  ///< [slot] added to, or null; only with contributors
    std::uint32_t* slot_blended;    ///< the same
    /// [isects] bits 2 s and 2 s + 1: a pixel of the upper or lower half of square s was blended or
    /// ended; or null. Where one vector holds a square, both are set.
    std::uint32_t* touched;
};
struct BlendBackwardParams {
    BlendParams forward;
    const float* v_color;            ///< [3][height][width]
    const float* v_alpha;            ///< or null
    const float* v_depth;            ///< or null
    IsectGradient* isect_gradients;  ///< [emission] written for all isects
    bool absolute;                   ///< fill IsectGradient::absolute
};

/// What a frame in groups keeps beside the group that is listed (groups.cpp).
struct FrameGroups {
    std::vector<TileGroup> list;               ///< one of all tiles: a frame in one pass
    std::vector<std::vector<TileSpan>> spans;  ///< of all tiles, as CpuState has a group's
    Buffer<Coverage> coverage;                 ///< the same
    Buffer<std::uint32_t> changes;             ///< as for group_tiles()
    Buffer<GradientSum> sums;                  ///< [slot] over the groups before, or the ranks
    Buffer<std::uint32_t> tile_evaluated;      ///< [tile] what drawing again counts, unused
    ImageF color;                              ///< what it draws where a sky was put in, unused
    bool under_sky = false;                    ///< the picture has one
    bool several = false;                      ///< a group's spans and coverage are to be entered
    std::size_t bytes() const;
};
struct SharedFrame;  // shared_frame.h

struct CpuState final : ForwardState {
    PixelDirections directions;                        ///< with a sky
    Buffer<std::uint32_t> candidate_blocks;            ///< block of each candidate
    Buffer<std::uint32_t> candidate_mask;              ///< visible lanes
    Buffer<std::uint32_t> candidate_slot;              ///< first slot
    std::vector<std::vector<TileSpan>> spans;          ///< [chunk]
    Buffer<std::uint32_t> chunk_slots;                 ///< [chunk] slots used
    Buffer<Splat> splats;                              ///< [slot]
    Buffer<Coverage> coverage;                         ///< [slot]
    Buffer<std::uint32_t> chunk_emission;              ///< [chunk] its first emission
    Buffer<std::uint32_t> depth_keys, slot_from_rank;  ///< visible, front to back
    Buffer<std::uint32_t> part_tile_counts;            ///< [part][tile]
    Buffer<std::uint32_t> tile_begin, tile_order, list_end;
    Buffer<std::uint32_t> slot_from_isect;
    Buffer<std::uint32_t> emission_from_isect;  ///< with gradients
    Buffer<std::uint32_t> touched;
    Buffer<std::uint64_t> blended_pairs;
    Buffer<IsectGradient> isect_gradients;               ///< [emission]
    Buffer<std::uint32_t> slot_evaluated, slot_blended;  ///< [slot], with options.costs
    Buffer<WarpWork> tile_warps;                         ///< [tile], with options.counters
    Buffer<WarpForm> warp_forms;                         ///< [slot], the same
    BlendCosts backward;
    FrameGroups groups;
    std::shared_ptr<SharedFrame> shared;  ///< where several ranks draw
    RadixSort sorter;
    int tiles_x = 0, tiles_y = 0;

    std::size_t bytes() const override;
    const BlendCosts& backward_costs() const override { return backward; }
    std::size_t chunks() const { return chunk_slots.size(); }
};

// SIMD kernels, dispatched at run time (one file each).
void blend_tile(const BlendParams& params, std::uint32_t tile);
void blend_tile_backward(const BlendBackwardParams& params, std::uint32_t tile);
/// Adds what the CUDA backend's warps would spend on the tile; `forms` by slot. Of `params` the
/// lists, size and rules are read.
void count_tile_warps(const BlendParams& params, const WarpForm* forms, std::uint32_t tile,
                      WarpWork& work);
/// The tiles of the visible lanes: appends their spans, by lane, and fills coverage[lane] but for
/// `emission`. Lanes that reach no tile leave the mask.
void cover_block(const ProjectParams& params, ProjectedBlock& block, std::vector<TileSpan>& spans,
                 Coverage* coverage);
void project_block_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
                            const SplatGradients& in, std::uint32_t mask, BlockGradients& out);

// The stages before blending, a file each.
ProjectParams make_project_params(const Camera& camera, const RenderOptions& options,
                                  int model_sh_degree);
/// Takes lanes of the block that the tint hides out of the mask.
void hide_block(const ProjectParams& params, std::size_t block, ProjectedBlock& out);
/// Colours of a block as the camera sees them, tinted; takes lanes without one out of the mask.
void shade_block(const ProjectParams& params, BlockView geometry, BlockView sh, std::size_t block,
                 ProjectedBlock& out);
void cull_blocks(ParameterSource& source, const Camera& camera, const ProjectParams& params,
                 CpuState& state);
/// How many isects there are.
std::uint64_t project_all(ParameterSource& source, const ProjectParams& params, CpuState& state);
void sort_by_depth(CpuState& state);
/// Lists the tiles of every visible Gaussian, so that each tile's list is front to back.
void emit_isects(CpuState& state, bool gradients);
/// One group of all tiles, or several. Throws FrameTooLarge where gradients cannot be had.
void choose_groups(CpuState& state, std::uint64_t isects, const ProjectParams& project,
                   const Camera& camera, const RenderOptions& options);
/// Cuts the groups to the tiles of `own`.
void keep_groups(CpuState& state, const TileGroup& own);
/// From now on the state has the spans and coverage of this group of several.
void enter_group(CpuState& state, const TileGroup& group);
/// Adds a group's isect_gradients to the sums of its slots.
void add_gradients(CpuState& state);
/// Adds the gradients of a slot's isects to `sum`, in the order of its emissions.
inline void add_gradients(const CpuState& state, std::uint32_t slot, GradientSum& sum) {
    const Coverage& coverage = state.coverage[slot];
    const std::uint32_t first = state.chunk_emission[slot / kSlotsPerChunk] + coverage.emission;
    for (std::uint32_t e = first; e < first + coverage.isects; ++e)
        for (int part = 0; part < 3; ++part) {
            GradientSum::Four g;
            std::memcpy(&g, &state.isect_gradients[e].s + 4 * part, sizeof(g));
            sum.parts[part] += g;
        }
}
/// Rasterizer::probe().
bool probe_frame(const CpuState& state, FrameProbe& out);
/// From part_tile_counts to the first isect of each tile, and of each part within it (which
/// replaces the counts). Returns the number of isects.
std::size_t find_ranges(CpuState& state, std::size_t parts);

}  // namespace gs::cpu
