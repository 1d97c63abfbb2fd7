// The CPU backend: cull, project, sort, emit, blend, and back. Each stage is a span; each loop is
// split by index alone.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/machine_use.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/view_setup.h"

namespace gs {
namespace cpu {

std::size_t CpuState::bytes() const {
    std::size_t span_bytes = 0;
    for (const auto& list : spans) span_bytes += list.capacity() * sizeof(TileSpan);
    return span_bytes + candidate_blocks.capacity_bytes() + candidate_mask.capacity_bytes() +
           candidate_slot.capacity_bytes() + chunk_slots.capacity_bytes() +
           splats.capacity_bytes() + coverage.capacity_bytes() + first_emission.capacity_bytes() +
           isects_of_slot.capacity_bytes() + depth_keys.capacity_bytes() +
           slot_from_rank.capacity_bytes() + part_tile_counts.capacity_bytes() +
           tile_begin.capacity_bytes() + tile_order.capacity_bytes() + list_end.capacity_bytes() +
           slot_from_isect.capacity_bytes() + isect_from_emission.capacity_bytes() +
           row_mask.capacity_bytes() + blended_pairs.capacity_bytes() +
           isect_gradients.capacity_bytes();
}

namespace {

BlendParams blend_params(const CpuState& state, const ProjectParams& project,
                         const RenderOptions& options, const Camera& camera) {
    BlendParams p{};
    p.splats = state.splats.data();
    p.slot_from_isect = state.slot_from_isect.data();
    p.tile_begin = state.tile_begin.data();
    p.tiles_x = state.tiles_x;
    p.width = camera.width;
    p.height = camera.height;
    p.rules = project.rules;
    p.log2_alpha_min = std::log2(project.rules.alpha_min);
    p.transmittance_min = ending_transmittance(project.rules);
    p.background = options.background;
    return p;
}

/// Adds up the gradients of the isects of each visible lane of a candidate block.
void gather_isects(const CpuState& state, std::size_t candidate, SplatGradients& out) {
    for (auto& row : out.v) std::fill(std::begin(row), std::end(row), 0.0f);
    std::uint32_t slot = state.candidate_slot[candidate];
    for (std::uint32_t lanes = state.candidate_mask[candidate]; lanes != 0;
         lanes &= lanes - 1, ++slot) {
        const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
        float sum[12] = {};
        const std::uint32_t first = state.first_emission[slot];
        for (std::uint32_t e = first; e < first + state.isects_of_slot[slot]; ++e) {
            const float* g = &state.isect_gradients[state.isect_from_emission[e]].s;
            for (int i = 0; i < 12; ++i) sum[i] += g[i];
        }
        for (int i = 0; i < 10; ++i) out.v[i][lane] = sum[i];
    }
}

class CpuRasterizer final : public Rasterizer {
  public:
    std::string name() const override {
        const int threads = thread_count();
        return fmt::format("CPU ({}, {} thread{})", cpu_instruction_set(), threads,
                           threads == 1 ? "" : "s");
    }
    std::unique_ptr<ForwardState> make_state() const override {
        return std::make_unique<CpuState>();
    }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& state, RenderResult& result) override;
    void backward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                  ForwardState& state, const RenderResult& result, const PixelGradients& gradients,
                  GradientSink& sink) override;
};

void blend_all(CpuState& state, const ProjectParams& project, const Camera& camera,
               const RenderOptions& options, RenderResult& result) {
    const std::size_t tiles = static_cast<std::size_t>(state.tiles_x * state.tiles_y);
    result.width = camera.width;
    result.height = camera.height;
    result.tiles_x = state.tiles_x;
    result.tiles_y = state.tiles_y;
    result.color.resize(camera.width, camera.height, 3);
    result.alpha.resize(camera.width, camera.height, 1);
    if (options.depth) result.depth.resize(camera.width, camera.height, 1);
    result.pairs_per_tile.resize_discard(tiles);
    state.list_end.resize_discard(tiles);
    BlendParams p = blend_params(state, project, options, camera);
    p.color = result.color.values.data();
    p.alpha = result.alpha.values.data();
    p.depth = options.depth ? result.depth.values.data() : nullptr;
    if (options.median_depth) {
        result.median_depth.resize(camera.width, camera.height, 1);
        p.median_depth = result.median_depth.values.data();
    }
    p.pairs_per_tile = result.pairs_per_tile.data();
    p.list_end = state.list_end.data();
    if (options.counters) {
        result.contributors.resize_discard(result.color.pixels());
        state.blended_pairs.resize_discard(tiles);
        p.contributors = result.contributors.data();
        p.blended_pairs = state.blended_pairs.data();
    }
    if (options.gradients) {
        state.row_mask.resize_discard(state.slot_from_isect.size());
        p.row_mask = state.row_mask.data();
    }
    parallel_for(tiles, 1, [&](std::size_t i) { blend_tile(p, state.tile_order[i]); });
}

void count(const CpuState& state, std::size_t gaussians, const RenderOptions& options,
           RenderResult& result) {
    const std::size_t tiles = result.pairs_per_tile.size();
    RenderCounters& c = result.counters;
    c = {};
    c.gaussians = gaussians;
    c.candidates = std::min(gaussians, state.candidate_blocks.size() * kBlock);
    c.visible = state.slot_from_rank.size();
    c.isects = state.slot_from_isect.size();
    result.isects_per_tile.resize_discard(tiles);
    for (std::size_t tile = 0; tile < tiles; ++tile) {
        const std::uint32_t n = state.tile_begin[tile + 1] - state.tile_begin[tile];
        const int x = static_cast<int>(tile) % result.tiles_x * kTileSize,
                  y = static_cast<int>(tile) / result.tiles_x * kTileSize;
        const int pixels =
            std::min(kTileSize, result.width - x) * std::min(kTileSize, result.height - y);
        result.isects_per_tile[tile] = n;
        c.longest_tile = std::max(c.longest_tile, static_cast<int>(n));
        c.list_pairs +=
            static_cast<std::uint64_t>(state.list_end[tile]) * static_cast<std::uint64_t>(pixels);
        c.evaluated_pairs += result.pairs_per_tile[tile];
        if (options.counters) c.blended_pairs += state.blended_pairs[tile];
    }
}

void CpuRasterizer::forward(ParameterSource& source, const Camera& camera,
                            const RenderOptions& options, ForwardState& base,
                            RenderResult& result) {
    check_drawable(camera, options.gradients);
    CHECK(options.depth || !options.median_depth, "a median depth needs a depth picture");
    CHECK(camera.width < 65536 * kTileSize && camera.height < 65536 * kTileSize, "{} x {} px",
          camera.width, camera.height);
    CpuState& state = static_cast<CpuState&>(base);
    const ProjectParams params = make_project_params(camera, options, source.sh_degree());
    state.tiles_x = (camera.width + kTileSize - 1) / kTileSize;
    state.tiles_y = (camera.height + kTileSize - 1) / kTileSize;
    {
        const Span span(Stage::cull);
        cull_blocks(source, camera, params, state);
    }
    {
        const Span span(Stage::project);
        project_all(source, params, state);
    }
    {
        const Span span(Stage::sort);
        sort_by_depth(state);
    }
    {
        const Span span(Stage::emit);
        emit_isects(state, options.gradients);
    }
    {
        const Span span(Stage::blend);
        blend_all(state, params, camera, options, result);
    }
    count(state, source.count(), options, result);
}

void CpuRasterizer::backward(ParameterSource& source, const Camera& camera,
                             const RenderOptions& options, ForwardState& base,
                             const RenderResult& result, const PixelGradients& gradients,
                             GradientSink& sink) {
    CHECK(options.gradients, "forward() was told that no gradients are wanted");
    CpuState& state = static_cast<CpuState&>(base);
    const ProjectParams params = make_project_params(camera, options, source.sh_degree());
    const std::size_t tiles = state.tile_order.size();
    state.isect_gradients.resize_discard(state.slot_from_isect.size());
    {
        const Span span(Stage::blend_backward);
        BlendBackwardParams p{};
        p.forward = blend_params(state, params, options, camera);
        p.forward.color = const_cast<float*>(result.color.values.data());
        p.forward.alpha = const_cast<float*>(result.alpha.values.data());
        p.forward.depth = const_cast<float*>(result.depth.values.data());
        p.forward.list_end = state.list_end.data();
        p.forward.row_mask = state.row_mask.data();
        p.v_color = gradients.color.values.data();
        p.v_alpha = gradients.alpha.values.empty() ? nullptr : gradients.alpha.values.data();
        p.v_depth = gradients.depth.values.empty() ? nullptr : gradients.depth.values.data();
        p.isect_gradients = state.isect_gradients.data();
        CHECK(p.v_depth == nullptr || options.depth, "depth gradients need a depth picture");
        parallel_for(tiles, 1, [&](std::size_t i) {
            const std::uint32_t tile = state.tile_order[i];
            blend_tile_backward(p, tile);
            // Isects behind the tile's end drew nothing.
            std::fill(state.isect_gradients.begin() + state.tile_begin[tile] + state.list_end[tile],
                      state.isect_gradients.begin() + state.tile_begin[tile + 1], IsectGradient{});
        });
    }
    const Span span(Stage::project_backward);
    parallel_for(state.candidate_blocks.size(), 16, [&](std::size_t candidate) {
        const std::uint32_t mask = state.candidate_mask[candidate];
        if (mask == 0) return;
        alignas(64) float geometry_scratch[kGeometryPlanes * kBlock], sh_scratch[48 * kBlock];
        const std::size_t block = state.candidate_blocks[candidate];
        SplatGradients in;
        gather_isects(state, candidate, in);
        BlockGradients out;
        out.block = block;
        out.mask = mask;
        for (int p = plane_count(params.sh_degree); p < kMaxPlanes; ++p)
            std::fill_n(out.planes[p], kBlock, 0.0f);
        project_block_backward(params, source.geometry(block, geometry_scratch),
                               source.sh(block, sh_scratch), in, mask, out);
        sink.take(out);
    });
}

}  // namespace
}  // namespace cpu

std::unique_ptr<Rasterizer> make_cpu_rasterizer() {
    const std::string set = cpu_instruction_set();
    tell_vector_bits(set.starts_with("AVX3")   ? 512
                     : set.starts_with("AVX2") ? 256
                     : set == "SCALAR"         ? 32
                                               : 128);
    return std::make_unique<cpu::CpuRasterizer>();
}

}  // namespace gs
