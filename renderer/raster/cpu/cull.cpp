// Cull and project: which Gaussians this camera sees, where they fall, and which tiles they touch.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "renderer/device/parallel.h"
#include "renderer/math/tiles.h"
#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {
namespace {

/// The view volume as five planes through the camera; a sphere outside one of them cannot draw. The side planes are
/// those of the picture: a Gaussian's box must reach into it, and its box lies inside its block's sphere.
struct Frustum {
    Vec3d normal[4];  ///< in camera axes, unit, pointing inwards
    Camera camera;
    double near_plane;

    explicit Frustum(const Camera& c, double near_depth) : camera(c), near_plane(near_depth) {
        // Sides are widened a little: the EWA footprint of an off-axis Gaussian is an approximation and carries a pixel
        // of blur.
        const double slack_x = (0.15 * c.width + 4.0) / c.fx, slack_y = (0.15 * c.height + 4.0) / c.fy;
        normal[0] = {1.0, 0.0, c.cx / c.fx + slack_x};
        normal[1] = {-1.0, 0.0, (c.width - c.cx) / c.fx + slack_x};
        normal[2] = {0.0, 1.0, c.cy / c.fy + slack_y};
        normal[3] = {0.0, -1.0, (c.height - c.cy) / c.fy + slack_y};
        for (Vec3d& n : normal) n = (1.0 / std::sqrt(dot(n, n))) * n;
    }
    bool may_show(const BlockBounds& b, double scale_modifier) const {
        if (!(b.radius >= 0.0f)) return std::isnan(b.radius);
        if (!std::isfinite(b.radius)) return true;
        const double radius = b.radius * std::max(1.0, scale_modifier);
        const Vec3d c = camera.rotation * Vec3d{b.x, b.y, b.z} + camera.translation;
        if (c.z + radius <= near_plane) return false;
        // Near or wide Gaussians: the Jacobian's linear footprint may exceed the true cone. Keep everything close.
        if (c.z < 4.0 * radius) return true;
        return std::all_of(std::begin(normal), std::end(normal),
                           [&](const Vec3d& n) { return dot(n, c) >= -1.3 * radius; });
    }
};

/// First and one past the last tile of [lo, hi] px whose pixel centres the range can contain, within [0, tiles).
struct TileRange {
    int first, end;
};
TileRange tile_range(float lo, float hi, int tiles) {
    // Rounding up and down by truncation of numbers made positive: the baseline instruction set has nothing faster.
    const float limit = static_cast<float>(tiles * kTileSize);
    const float from = std::clamp(lo - 0.5f, 0.0f, limit), to = std::clamp(hi + 0.5f, 0.0f, limit);
    int first = static_cast<int>(from);
    first += static_cast<float>(first) < from ? 1 : 0;
    const int end = static_cast<int>(to);  // one past the last pixel whose centre is at or before hi
    return end <= first ? TileRange{0, 0} : TileRange{first / kTileSize, (end - 1) / kTileSize + 1};
}

/// Appends the tile spans of one lane; returns its isect count.
std::uint32_t cover(const ProjectParams& params, const ProjectedBlock& block, std::size_t lane,
                    std::vector<TileSpan>& spans, Coverage& coverage) {
    const int tiles_x = (static_cast<int>(params.width) + kTileSize - 1) / kTileSize;
    const int tiles_y = (static_cast<int>(params.height) + kTileSize - 1) / kTileSize;
    // Rounding must never lose a pixel: widen by a little more than float error can move an edge.
    const float slack = 0.01f + 1e-4f * (block.extent_x[lane] + block.extent_y[lane]);
    const float x = block.x[lane], y = block.y[lane], box_x = block.box_x[lane] + slack,
                box_y = block.box_y[lane] + slack;
    TileRange columns = tile_range(x - box_x, x + box_x, tiles_x), rows = tile_range(y - box_y, y + box_y, tiles_y);
    if (params.rules.square_extent) {
        // Inria: tiles from trunc((p - r) / 16) to trunc((p + r + 15) / 16), p with pixel centres on integers.
        const auto inria = [](float p, float r, int tiles) {
            const float size = static_cast<float>(kTileSize), top = static_cast<float>(tiles);
            return TileRange{static_cast<int>(std::clamp((p - 0.5f - r) / size, 0.0f, top)),
                             static_cast<int>(std::clamp((p - 0.5f + r + size - 1.0f) / size, 0.0f, top))};
        };
        columns = inria(x, block.box_x[lane], tiles_x);
        rows = inria(y, block.box_y[lane], tiles_y);
    }
    coverage = {static_cast<std::uint32_t>(spans.size()), static_cast<std::uint16_t>(rows.first), 0};
    if (columns.first >= columns.end || rows.first >= rows.end) return 0;
    const bool exact = params.rules.exact_tiles && (rows.end - rows.first > 1 || columns.end - columns.first > 1);
    const Sym2<float> conic{block.conic_xx[lane], block.conic_xy[lane], block.conic_yy[lane]};
    std::uint32_t isects = 0;
    for (int row = rows.first; row < rows.end; ++row) {
        TileRange span = columns;
        if (exact) {
            const float top = static_cast<float>(row * kTileSize) + 0.5f - y;
            const math::Interval reach =
                math::ellipse_reach(conic, block.limit[lane], {block.extent_x[lane], block.extent_y[lane]}, top - slack,
                                    top + static_cast<float>(kTileSize - 1) + slack);
            span = reach.lo <= reach.hi ? tile_range(x + reach.lo - slack, x + reach.hi + slack, tiles_x)
                                        : TileRange{0, 0};
        }
        spans.push_back({static_cast<std::uint16_t>(span.first), static_cast<std::uint16_t>(span.end)});
        isects += static_cast<std::uint32_t>(span.end - span.first);
    }
    coverage.rows = static_cast<std::uint16_t>(rows.end - rows.first);
    if (isects == 0) spans.resize(coverage.first);
    return isects;
}

void write_splat(const ProjectedBlock& b, std::size_t lane, Splat& out) {
    out.x = b.x[lane];
    out.y = b.y[lane];
    out.a = 0.5f * kLog2E * b.conic_xx[lane];
    out.c = 0.5f * kLog2E * b.conic_yy[lane];
    // Rounding can make the form of a very long needle indefinite, and it would then grow away from its centre.
    const float widest = std::sqrt(4.0f * out.a * out.c) * 0.999999f;
    out.b = std::clamp(kLog2E * b.conic_xy[lane], -widest, widest);
    out.l = b.log2_opacity[lane];
    out.red = b.color[0][lane];
    out.green = b.color[1][lane];
    out.blue = b.color[2][lane];
    out.depth = b.depth[lane];
    out.slope = -0.5f * out.b / out.a;
    out.reserved = 0.0f;
}

void project_chunk(ParameterSource& source, const ProjectParams& params, CpuState& state, std::size_t chunk) {
    alignas(64) float geometry_scratch[kGeometryPlanes * kBlock], sh_scratch[48 * kBlock];
    std::vector<TileSpan>& spans = state.spans[chunk];
    spans.clear();
    std::uint32_t slot = static_cast<std::uint32_t>(chunk * kSlotsPerChunk);
    const std::size_t begin = chunk * kBlocksPerChunk,
                      end = std::min(begin + kBlocksPerChunk, state.candidate_blocks.size());
    for (std::size_t candidate = begin; candidate < end; ++candidate) {
        const std::size_t block = state.candidate_blocks[candidate];
        const BlockView geometry = source.geometry(block, geometry_scratch);
        ProjectedBlock projected;
        project_block(params, geometry, std::min(kBlock, source.count() - block * kBlock), projected);
        Coverage coverage[kBlock];
        std::uint32_t isects[kBlock];
        for (std::uint32_t lanes = projected.mask; lanes != 0; lanes &= lanes - 1) {
            const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
            isects[lane] = cover(params, projected, lane, spans, coverage[lane]);
            if (isects[lane] == 0) projected.mask &= ~(1u << lane);
        }
        if (projected.mask != 0) shade_block(params, geometry, source.sh(block, sh_scratch), projected);
        state.candidate_mask[candidate] = projected.mask;
        state.candidate_slot[candidate] = slot;
        for (std::uint32_t lanes = projected.mask; lanes != 0; lanes &= lanes - 1, ++slot) {
            const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
            write_splat(projected, lane, state.splats[slot]);
            state.coverage[slot] = coverage[lane];
            state.isects_of_slot[slot] = isects[lane];
        }
    }
    state.chunk_slots[chunk] = slot - static_cast<std::uint32_t>(chunk * kSlotsPerChunk);
}

}  // namespace

ProjectParams make_project_params(const Camera& camera, const RenderOptions& options, int model_sh_degree) {
    ProjectParams p{};
    p.camera = math::make_pinhole<float>(camera.rotation, camera.translation, camera.fx, camera.fy, camera.cx,
                                         camera.cy, camera.width, camera.height);
    const Vec3d eye = camera.position();
    p.position = {static_cast<float>(eye.x), static_cast<float>(eye.y), static_cast<float>(eye.z)};
    p.width = static_cast<float>(camera.width);
    p.height = static_cast<float>(camera.height);
    p.rules = rules_of(options.compatibility);
    if (options.near_plane > 0.0f) p.rules.near_plane = options.near_plane;
    p.blur = options.blur;
    p.scale_modifier = options.scale_modifier;
    p.antialiased = options.antialiased;
    p.sh_degree = std::clamp(options.sh_degree, 0, model_sh_degree);
    return p;
}

void cull_blocks(ParameterSource& source, const Camera& camera, const ProjectParams& params, CpuState& state) {
    const std::size_t blocks = (source.count() + kBlock - 1) / kBlock;
    const std::span<const BlockBounds> bounds = source.bounds();
    state.candidate_blocks.resize_discard(blocks);
    std::size_t kept = 0;
    const Frustum frustum(camera, params.rules.near_plane);
    for (std::size_t block = 0; block < blocks; ++block)
        if (bounds.size() < blocks || frustum.may_show(bounds[block], params.scale_modifier))
            state.candidate_blocks[kept++] = static_cast<std::uint32_t>(block);
    state.candidate_blocks.resize_discard(kept);
}

void project_all(ParameterSource& source, const ProjectParams& params, CpuState& state) {
    const std::size_t candidates = state.candidate_blocks.size(), chunks = state.chunks();
    state.candidate_mask.resize_discard(candidates);
    state.candidate_slot.resize_discard(candidates);
    state.chunk_slots.resize_discard(chunks);
    state.splats.resize_discard(chunks * kSlotsPerChunk);
    state.coverage.resize_discard(chunks * kSlotsPerChunk);
    state.isects_of_slot.resize_discard(chunks * kSlotsPerChunk);
    if (state.spans.size() < chunks) state.spans.resize(chunks);
    parallel_for(chunks, 1, [&](std::size_t chunk) { project_chunk(source, params, state, chunk); });
}

}  // namespace gs::cpu
