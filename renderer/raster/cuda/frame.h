// What one frame of the CUDA backend consists of between its kernels: device records,
// device-resident constants, and the arrays of a frame. Private to raster/cuda and trainer/cuda.
// Index words as on the CPU: chunk (256 Gaussians), slot (a visible Gaussian of this frame: chunk *
// 256 + local, so slots have gaps), rank (visible, front to back), emission (slot x tile in the
// order of ranks, all tiles of a slot together), isect (emissions stably sorted by tile), item (up
// to 1024 consecutive isects of one tile: what one thread block blends).
//
// - project, a thread per Gaussian: splats, coverage, gaussian_from_slot, isects_of_slot,
//   chunk_slots
// - compact: chunk_slots, added up -> depth_keys, slot_from_rank, by_depth.digits,
//   FrameCounts::visible
// - sort by depth
// - count: isects_of_slot by rank, added up -> first_emission, emission_of_rank, rank_of_part
// - emit, a block per kEmitted emissions: tile keys and payload (the emission), by_tile.digits
// - sort by tile, stable
// - ranges: tile_begin, slot_from_isect, emission_from_isect; items, longest first,
//   FrameCounts::items
// - blend, a thread block per item: items of tiles with several leave partial pictures
// - composite: tiles with several items, front to back; pixels that end inside one are replayed
//   there exactly
// - blend backward, a thread block per item -> isect_gradients[emission]
// - project backward, a thread per slot: sums its emissions' rows, ends in a Sink (store, or Adam)
//
// Counts live on the device; the host knows limits only. A frame that does not fit sets
// FrameCounts::overflow, and every later kernel of the frame (blend, backward, Adam) then does
// nothing; the host finds out when it next looks, enlarges the arrays and draws again.
#pragma once

#include <bit>
#include <cstdint>

#include "renderer/math/project.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/raster/view_setup.h"

namespace gs::cuda {

inline constexpr int kChunk = 256;  ///< Gaussians one projection block handles
inline constexpr int kBlocksPerChunk =
    kChunk / int(kBlock);  ///< 16 blocks of 16, each with a bounding sphere
inline constexpr int kTilePixels = kTileSize * kTileSize;
inline constexpr int kSubTileWidth = 8,
                     kSubTileHeight = 4;            ///< pixels of one warp; 2 x 4 sub-tiles a tile
inline constexpr int kSubTiles = kTilePixels / 32;  ///< 8: warp w covers x 8 (w % 2), y 4 (w / 2)
inline constexpr std::uint32_t kEmitted = 1024;     ///< emissions that one block lists
inline constexpr std::uint32_t kCompactedChunks = 8;  ///< chunks that one block gives ranks to
inline constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;  ///< of a pass of sorting
inline constexpr int kDepthDigits = 4, kMostDigits = 4;          ///< of a depth; of any key
inline constexpr std::uint32_t kSortedPart = 3072;     ///< pairs that one block sorts in a pass
inline constexpr std::uint32_t kCountedRanks = 2048;   ///< ranks whose isects one block adds up
inline constexpr int kItemIsects = 1024;               ///< isects of one work item at most
inline constexpr int kSizeClasses = 64;                ///< of work items, for longest first
inline constexpr int kOrderCounts = kSizeClasses + 2;  ///< items by class; full items; long tiles
inline constexpr int kPartialPlanes = 5;
inline constexpr float kLog2E = 1.4426950408889634f;

/// A projected Gaussian as blending reads it: three 16-byte loads. log2 alpha = l - (a dx^2 + b dx
/// dy + c dy^2), d = pixel centre - (x, y). Made exactly as the CPU backend makes its own
/// (raster/cpu/project.cpp, write_splat).
struct alignas(16) Splat {
    float x, y;  ///< px
    float a, b;  ///< 1/px^2, conic times log2(e), a and c halved
    float c;
    float l;                 ///< log2 opacity, compensation included
    float depth;             ///< Projection::depth
    float extent_x;          ///< px, half sizes of the box of { alpha >= alpha_min }
    float red, green, blue;  ///< by shown_channel()
    float extent_y;
};
static_assert(sizeof(Splat) == 48);
/// A channel of SH colour as it is drawn: never negative, and -0 where that clamps it, by whose
/// sign projection backward knows that no gradient passes.
GS_HD inline float shown_channel(float raw) { return raw >= 0.0f ? raw : -0.0f; }

/// What counting and emitting tiles needs besides the splat; both use tile_rows.cuh on exactly
/// these numbers.
struct alignas(16) Coverage {
    float conic_xx, conic_xy, conic_yy;  ///< inverse of the blurred covariance
    float limit;                         ///< 2 ln(opacity / alpha_min)
    std::uint16_t x0, y0, x1, y1;        ///< tiles of the profile's box, as TileBox has them
    std::uint32_t exact;                 ///< 1: rows are cut to the ellipse
    std::uint32_t
        mask;  ///< exact, box of at most 32 tiles: its tiles, a bit each, row by row; else 0
};
static_assert(sizeof(Coverage) == 32);

/// Sums over the pixels of one isect (blend backward -> project backward). v = d loss / d ln alpha.
/// The CPU backend has the same record.
struct alignas(16) IsectGradient {
    float s, sx, sxx;    ///< sum of v, v dx, v dx^2
    float absolute_x;    ///< sum of |v d log2 alpha / d mean| where that is asked for, else 0
    float sy, sxy, syy;  ///< sum of v dy, v dx dy, v dy^2
    float absolute_y;
    float red, green, blue, depth;  ///< sum of weight * d loss / d (colour, depth)
};
static_assert(sizeof(IsectGradient) == 48);

/// The gradient of one visible Gaussian, compact: SH plane kSh0 + 3 k + c has basis[k] * color[c].
struct GaussianGradient {
    float geometry[kGeometryPlanes];  ///< by Plane number
    float color[3];                   ///< d loss / d colour before the clamp, zero where clamped
    float basis[16];                  ///< SH basis in the view direction, up to the degree in use
    float mean2d[2];                  ///< d loss / d projected mean, per pixel
    float radius_px;
    float turn[3];  ///< its part of SceneMotion::turn, for sinks that want Motion (else anything)
};

/// Constants of a frame in device memory, so that a captured graph reads new ones without being
/// rebuilt.
struct FrameConstants {
    math::Pinhole<float> camera;
    Vec3f ray_origin;  ///< as ray_origin() of view_setup.h
    int width, height, tiles_x, tiles_y;
    RasterRules rules;
    float log2_alpha_min;
    float transmittance_min;  ///< a pixel ends when its next transmittance would be this or less
    float blur, scale_modifier;
    int antialiased, sh_degree;
    Vec3f background;
    ViewSides<float> sides;
    int clipped;  ///< 1: by the box `clip`
    ClipBox clip;
    // Where it draws_through_lens(); projection reads no further for the others.
    math::UnscentedCamera<float> lens;  ///< in the place of `camera`
    ViewCone<float> cone;               ///< in the place of `sides`
    float wrap;                         ///< px after which the picture repeats sideways, or 0
};

/// Which of a pair of arrays holds the unsorted input of a sort by `digits` digits; it ends in [1].
constexpr int unsorted(int digits) { return digits % 2 == 0 ? 1 : 0; }
constexpr std::uint32_t sorting_blocks(std::uint32_t pairs) {
    return (pairs + kSortedPart - 1) / kSortedPart;
}

struct FrameCounts {
    std::uint32_t visible, isects;  ///< V, I as they are, also when they do not fit
    std::uint32_t overflow;         ///< 1: visible > limits.visible or isects > limits.isects
    std::uint32_t items;            ///< work items
    std::uint32_t long_tiles;       ///< tiles of several items
    std::uint32_t longest_tile;     ///< isects
    std::uint32_t candidates;       ///< Gaussians in blocks that passed the cull
    std::uint32_t poisoned;         ///< Gaussians whose update, or that of their mean, was left out
    std::uint64_t list_pairs, evaluated_pairs, blended_pairs;  ///< only with counters asked for
    WarpWork warps;                                            ///< the same
};

/// Sizes the arrays of a frame are made for. The host chooses them from what it last saw.
struct FrameLimits {
    std::uint32_t gaussians = 0, visible = 0, isects = 0;
    int width = 0, height = 0, tiles = 0;
    bool gradients = false, depth = false, counters = false;
    bool median_depth = false;  ///< only with depth
    bool lens = false;          ///< draws_through_lens(): projected through FrameConstants::lens
    bool unscented = false;     ///< draws_unscented(); only with lens
    bool wraps = false;         ///< the picture repeats sideways; only with lens
    std::uint32_t item_isects =
        kItemIsects;  ///< a multiple of 32; tests lower it to split small scenes
    std::uint32_t max_items() const {
        return static_cast<std::uint32_t>(tiles) + isects / item_isects;
    }
    /// A tile of n > item_isects has at most 2 n / item_isects items.
    std::uint32_t max_partials() const { return 2 * (isects / item_isects); }
    std::uint32_t max_long_tiles() const { return isects / item_isects; }
    std::uint32_t chunks() const { return (gaussians + kChunk - 1) / kChunk; }
    std::uint32_t compacting_blocks() const {
        return (chunks() + kCompactedChunks - 1) / kCompactedChunks;
    }
    /// Of a tile's key; the number behind the last stands for what no tile lists.
    int tile_bits() const { return std::bit_width(static_cast<unsigned>(tiles)); }
    int tile_digits() const { return (tile_bits() + kDigitBits - 1) / kDigitBits; }
    /// Of a tile's digit: as few as make them equal, for longer runs of equal ones.
    int tile_digit_bits() const { return (tile_bits() + tile_digits() - 1) / tile_digits(); }
    std::uint32_t emitting_blocks() const { return (isects + kEmitted - 1) / kEmitted; }
    std::uint32_t counting_blocks() const { return (visible + kCountedRanks - 1) / kCountedRanks; }
    bool operator==(const FrameLimits&) const = default;
};

struct WorkItem {
    std::uint32_t tile;
    std::uint32_t first, end;  ///< isects
    std::uint32_t index;       ///< 0, 1, ... within its tile
    std::uint32_t
        partial;  ///< where its partial picture lies (in items); ~0: its tile has only this one
};

/// What blending costs, in device memory (BlendCosts); all added to. Null: not measured.
struct CostView {
    unsigned long long* tile_cycles = nullptr;  ///< [tile] clock cycles of the tile's thread blocks
    std::uint32_t* tile_pairs = nullptr;  ///< [tile] blended by forward, evaluated by backward
    std::uint32_t* evaluated = nullptr;   ///< [row] pairs
    std::uint32_t* blended = nullptr;     ///< [row] pairs; forward only
    bool operator==(const CostView&) const = default;
};

/// Pictures in device memory, planes of floats as RenderResult has them. Null: not wanted.
struct PictureView {
    float* color = nullptr;  ///< [3][height][width]
    float* alpha = nullptr;
    float* depth = nullptr;
    float* median_depth = nullptr;
    std::uint16_t* contributors = nullptr;
    std::uint32_t* isects_per_tile = nullptr;
    std::uint32_t* pairs_per_tile = nullptr;
    CostView costs{};
    bool operator==(const PictureView&) const = default;
};
struct PictureGradientView {
    const float* color = nullptr;  ///< [3][height][width]
    const float* alpha = nullptr;  ///< or null
    const float* depth = nullptr;  ///< or null
    CostView costs{};              ///< of blend backward
    bool absolute = false;         ///< fill IsectGradient::absolute_x and _y; without costs
};

/// What the passes of one sort share; radix.cuh. All of it is 0 at first.
struct SortView {
    std::uint32_t* digits;        ///< [kMostDigits][kDigits] how often each comes
    unsigned long long* tickets;  ///< [pass]
    std::uint32_t* chain;         ///< [pass][sorting_blocks(room)][kDigits]
};

/// Arrays of one frame, carved from an arena for given limits (frame_arrays.cpp). All device
/// pointers. Of pairs, [1] is sorted, and before it was in [unsorted(digits)].
struct FrameArrays {
    FrameConstants* constants;
    FrameCounts* counts;
    unsigned long long* compact_chain;  ///< [1 + limits.compacting_blocks()]
    SortView by_depth, by_tile;
    Splat* splats;                      ///< [slot]; what lies between counts and here is 0 at first
    Coverage* coverage;                 ///< [slot]
    std::uint32_t* depth_of_slot;       ///< [slot] bits of Splat::depth
    std::uint32_t* gaussian_from_slot;  ///< [slot]
    std::uint32_t* isects_of_slot;      ///< [slot]
    std::uint32_t* first_emission;      ///< [slot]
    std::uint32_t* chunk_slots;         ///< [chunk] slots used
    unsigned long long* isect_total;    ///< I before it is known to fit 32 bits
    unsigned long long* count_chain;    ///< [1 + limits.counting_blocks()] chained_sum.cuh
    std::uint32_t* depth_keys[2];       ///< [limits.visible]
    std::uint32_t* slot_from_rank[2];   ///< [limits.visible]
    std::uint32_t* emission_of_rank;    ///< [limits.visible] first emission, by rank
    std::uint32_t* rank_of_part;  ///< [limits.emitting_blocks()] rank of emission kEmitted * part
    std::uint32_t*
        tile_keys[2];           ///< [limits.isects] 16-bit keys when there are at most 65,535 tiles
    std::uint32_t* payload[2];  ///< [limits.isects] emission, or slot when no gradients are wanted
    std::uint32_t* slot_of_emission;  ///< gradients: [limits.isects]
    std::uint32_t* slot_from_isect;   ///< [limits.isects]; without gradients payload[1]
    std::uint32_t* tile_begin;        ///< [tiles + 1]
    std::uint32_t* order_counts;      ///< [256 tiles][kOrderCounts] what ordering the items counts
    WorkItem* items;  ///< [limits.max_items()] item t is the last of tile t, the full ones follow
    std::uint32_t* item_order;  ///< [limits.max_items()] longest first
    std::uint32_t* long_tiles;  ///< [limits.max_long_tiles()] tiles with several items
    float* partials;  ///< [partial][5][256 pixels, 16 y + x]: r g b T depth of an item alone
                      ///< (blend), then the running sums before it (composite), which is where
                      ///< backward starts; T = 0 where the pixel had ended
    std::uint16_t* partial_contributors;  ///< counters: [partial][256]
    float* final_transmittance;           ///< gradients: [height][width]
    std::uint32_t*
        contributed;  ///< gradients: bit k of word (group, warp): isect k of the group was blended
                      ///< into a pixel of that sub-tile, or ended one; see contributed_word(). In
                      ///< tiles of several items also bits of pixels that had ended before the item
    IsectGradient* isect_gradients;  ///< gradients: [emission] of those with a bit in live_rows
    std::uint32_t* live_rows;  ///< gradients: a bit per emission; set by blend backward where the
                               ///< isect drew anything, cleared with the lists
};

/// Where the mask of 32 isects of one tile for sub-tile `warp` lies. Groups of different tiles
/// never share a word.
GS_HD inline std::size_t contributed_word(std::uint32_t tile, std::uint32_t tile_begin,
                                          std::uint32_t isect, int warp) {
    const std::size_t group = tile_begin / 32 + tile + (isect - tile_begin) / 32;
    return group * kSubTiles + static_cast<std::size_t>(warp);
}

}  // namespace gs::cuda
