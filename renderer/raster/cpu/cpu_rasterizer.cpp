// The CPU backend: cull, project, sort, emit, blend, and back. Each stage is a span; each loop is
// split by index alone.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/machine.h"
#include "base/machine_use.h"
#include "base/parallel.h"
#include "base/record/clock.h"
#include "base/record/scope.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/shared_frame.h"
#include "renderer/raster/frame_size.h"
#include "renderer/raster/view_setup.h"
#include "renderer/raster/warp_sums.h"

namespace gs {
namespace cpu {

namespace {

/// The lists, and the pictures that `options` name.
BlendParams picture_params(CpuState& state, const ProjectParams& project, const Camera& camera,
                           const RenderOptions& options, RenderResult& result) {
    BlendParams p{};
    p.splats = state.splats.data();
    p.slot_from_isect = state.slot_from_isect.data();
    p.tile_begin = state.tile_begin.data();
    p.tiles_x = state.tiles_x;
    p.width = camera.width;
    p.height = camera.height;
    p.wrap = project.wrap;
    p.rules = project.rules;
    p.log2_alpha_min = std::log2(project.rules.alpha_min);
    p.transmittance_min = ending_transmittance(project.rules);
    p.background = options.background;
    p.color = result.color.values.data();
    p.alpha = result.alpha.values.data();
    p.depth = options.depth ? result.depth.values.data() : nullptr;
    p.median_depth = options.median_depth ? result.median_depth.values.data() : nullptr;
    p.pairs_per_tile = result.pairs_per_tile.data();
    p.list_end = state.list_end.data();
    if (options.counters) {
        p.contributors = result.contributors.data();
        p.blended_pairs = state.blended_pairs.data();
    }
    if (options.gradients) {
        state.touched.resize_discard(state.slot_from_isect.size());
        p.touched = state.touched.data();
    }
    return p;
}

/// Calls f(lane, slot) for each visible lane of a candidate block.
template <class F>
void for_each_visible(const CpuState& state, std::size_t candidate, F&& f) {
    std::uint32_t slot = state.candidate_slot[candidate];
    for (std::uint32_t lanes = state.candidate_mask[candidate]; lanes != 0;
         lanes &= lanes - 1, ++slot)
        f(static_cast<std::size_t>(std::countr_zero(lanes)), slot);
}

/// Adds up the gradients of the isects of each visible lane of a candidate block.
void gather_isects(const CpuState& state, std::size_t candidate, SplatGradients& out) {
    for (auto& row : out.v) std::fill(std::begin(row), std::end(row), 0.0f);
    for_each_visible(state, candidate, [&](std::size_t lane, std::uint32_t slot) {
        GradientSum sums{};
        if (state.groups.several || state.shared)
            sums = state.groups.sums[slot];
        else
            add_gradients(state, slot, sums);
        float sum[12];
        std::memcpy(sum, &sums, sizeof(sum));
        for (int i = 0; i < 12; ++i) out.v[i][lane] = sum[i];
    });
}

class CpuRasterizer final : public Rasterizer {
  public:
    explicit CpuRasterizer(Exchange* ranks) : ranks_(ranks) {
        const std::string set = cpu_instruction_set();
        tell_vector_bits(set == "AVX-512" ? 512 : set == "AVX2" ? 256 : set == "SCALAR" ? 32 : 128);
    }
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
    bool probe(const ForwardState& state, FrameProbe& out) const override {
        return probe_frame(static_cast<const CpuState&>(state), out);
    }

  private:
    void draw(ParameterSource& source, const Camera& camera, const RenderOptions& options,
              CpuState& state, RenderResult& result) const;
    Exchange* const ranks_;  ///< null: this process has all Gaussians
};

/// Throws FrameTooLarge where the picture cannot be allocated.
void check_picture(const Camera& camera, const RenderOptions& options, const RenderResult& result) {
    const std::uint64_t pixels = static_cast<std::uint64_t>(camera.width) *
                                 static_cast<std::uint64_t>(camera.height),
                        planes = 4u + (options.depth ? 1u : 0u) + (options.median_depth ? 1u : 0u);
    const std::uint64_t held = result.color.values.capacity_bytes() / (3 * sizeof(float));
    if (pixels > held) check_memory(camera, "picture", (pixels - held) * planes * sizeof(float));
}

/// The lists of one group: of the only one, or of one of several.
void list_group(CpuState& state, const TileGroup& group, bool gradients) {
    const Span span(Stage::emit);
    if (state.groups.several) enter_group(state, group);
    emit_isects(state, gradients);
}

/// What this thread has computed for, so that a tile is not charged for what the machine does
/// besides.
std::uint64_t own_time_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/// Space for the cost of each tile and row; rows and slots begin at 0.
void start_costs(CpuState& state, std::size_t rows, std::size_t tiles, BlendCosts& costs) {
    costs.tile_ns.resize_discard(tiles);
    costs.tile_evaluated.resize_discard(tiles);
    costs.evaluated.resize_discard(rows);
    costs.evaluated.fill(0);
    state.slot_evaluated.resize_discard(state.splats.size());
    state.slot_evaluated.fill(0);
}

void rows_from_slots(const CpuState& state, const Buffer<std::uint32_t>& of_slot,
                     Buffer<std::uint32_t>& of_row) {
    parallel_for(state.candidate_blocks.size(), 256, [&](std::size_t candidate) {
        for_each_visible(state, candidate, [&](std::size_t lane, std::uint32_t slot) {
            of_row[state.candidate_blocks[candidate] * kBlock + lane] = of_slot[slot];
        });
    });
}

/// Calls f(tile) for the tiles of a group, the fullest first.
template <class F>
void for_tiles_of(const CpuState& state, const TileGroup& group, F&& f) {
    parallel_for(state.tile_order.size(), 1, [&](std::size_t i) {
        if (group.has(state.tile_order[i])) f(state.tile_order[i]);
    });
}

/// Blends a group's tiles twice: once counting, and once more as it is always done, taking each
/// tile's time. The same picture comes out of both.
void measure_blend(CpuState& state, const TileGroup& group, BlendParams p, BlendCosts& costs) {
    p.slot_evaluated = state.slot_evaluated.data();
    p.slot_blended = state.slot_blended.data();
    for_tiles_of(state, group, [&](std::uint32_t tile) { blend_tile(p, tile); });
    p.slot_evaluated = p.slot_blended = nullptr;
    p.contributors = nullptr;
    p.blended_pairs = nullptr;
    for_tiles_of(state, group, [&](std::uint32_t tile) {
        const std::uint64_t begin = own_time_ns();
        blend_tile(p, tile);
        costs.tile_ns[tile] = static_cast<float>(own_time_ns() - begin);
    });
}

/// What start_pictures() began, once all groups are measured.
void finish_costs(const CpuState& state, RenderResult& result) {
    BlendCosts& costs = result.costs;
    costs.tile_evaluated = result.pairs_per_tile;
    for (std::size_t tile = 0; tile < costs.tile_blended.size(); ++tile)
        costs.tile_blended[tile] = static_cast<std::uint32_t>(state.blended_pairs[tile]);
    rows_from_slots(state, state.slot_evaluated, costs.evaluated);
    rows_from_slots(state, state.slot_blended, costs.blended);
}

/// What blend_tile_backward replayed of a tile: the halves of squares that forward changed.
void count_backward_pairs(CpuState& state, const BlendParams& p, std::uint32_t tile) {
    const int left = static_cast<int>(tile) % p.tiles_x * kTileSize,
              top = static_cast<int>(tile) / p.tiles_x * kTileSize;
    const int columns = std::min(kTileSize, p.width - left),
              rows = std::min(kTileSize, p.height - top);
    std::uint32_t sum = 0;
    const std::uint32_t begin = p.tile_begin[tile], end = begin + p.list_end[tile];
    for (std::uint32_t k = begin; k < end; ++k) {
        std::uint32_t pairs = 0;
        for (std::uint32_t halves = p.touched[k]; halves != 0; halves &= halves - 1)
            pairs +=
                static_cast<std::uint32_t>(half_pixels(std::countr_zero(halves), columns, rows));
        sum += pairs;
        __atomic_fetch_add(&state.slot_evaluated[p.slot_from_isect[k]], pairs, __ATOMIC_RELAXED);
    }
    state.backward.tile_evaluated[tile] = sum;
}

/// Splats as the CUDA backend's warps read them, and no work of theirs yet.
void start_warps(CpuState& state, std::size_t tiles) {
    state.warp_forms.resize_discard(state.splats.size());
    parallel_for(state.splats.size(), 4096, [&](std::size_t slot) {
        const Splat& s = state.splats[slot];
        state.warp_forms[slot] = {s.x, s.y, s.s * s.s, 2.0f * s.s * s.r, s.r * s.r + s.w * s.w,
                                  s.l};
    });
    state.tile_warps.resize_discard(tiles);
    state.tile_warps.fill({});
}

/// Space for the pictures, and for what is counted of tiles and Gaussians.
void start_pictures(CpuState& state, const Camera& camera, const RenderOptions& options,
                    std::size_t source_count, RenderResult& result) {
    const std::size_t tiles = static_cast<std::size_t>(state.tiles_x * state.tiles_y);
    result.width = camera.width;
    result.height = camera.height;
    result.tiles_x = state.tiles_x;
    result.tiles_y = state.tiles_y;
    result.color.resize(camera.width, camera.height, 3);
    result.alpha.resize(camera.width, camera.height, 1);
    if (options.depth) result.depth.resize(camera.width, camera.height, 1);
    if (options.median_depth) result.median_depth.resize(camera.width, camera.height, 1);
    result.pairs_per_tile.resize_discard(tiles);
    result.isects_per_tile.resize_discard(tiles);
    state.list_end.resize_discard(tiles);
    if (options.counters) {
        result.contributors.resize_discard(result.color.pixels());
        state.blended_pairs.resize_discard(tiles);
    }
    if (options.counters && options.warps) start_warps(state, tiles);
    BlendCosts& costs = result.costs;
    costs.tile_ns.resize_discard(0);  // of an earlier frame
    if (!options.costs) return;
    start_costs(state, source_count, tiles, costs);
    costs.tile_blended.resize_discard(tiles);
    costs.blended.resize_discard(source_count);
    costs.blended.fill(0);
    state.slot_blended.resize_discard(state.splats.size());
    state.slot_blended.fill(0);
}

/// A group that is listed, into the pictures.
void blend_group(CpuState& state, const TileGroup& group, const ProjectParams& project,
                 const Camera& camera, const RenderOptions& options, RenderResult& result) {
    const BlendParams p = picture_params(state, project, camera, options, result);
    if (options.counters && options.warps)
        for_tiles_of(state, group, [&](std::uint32_t tile) {
            count_tile_warps(p, state.warp_forms.data(), tile, state.tile_warps[tile]);
        });
    if (options.costs) return measure_blend(state, group, p, result.costs);
    for_tiles_of(state, group, [&](std::uint32_t tile) { blend_tile(p, tile); });
}

/// Adds a group, which was blended, to the counters.
void count(const CpuState& state, const TileGroup& group, const RenderOptions& options,
           RenderResult& result) {
    RenderCounters& c = result.counters;
    c.isects += state.slot_from_isect.size();
    for (std::size_t tile = group.first; tile < group.end; ++tile) {
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
        if (!options.counters) continue;
        c.blended_pairs += state.blended_pairs[tile];
        if (options.warps) c.warps += state.tile_warps[tile];
    }
}

void CpuRasterizer::forward(ParameterSource& source, const Camera& camera,
                            const RenderOptions& options, ForwardState& base,
                            RenderResult& result) {
    check_drawable(camera, options);
    check_picture(camera, options, result);
    CpuState& state = static_cast<CpuState&>(base);
    try {
        draw(source, camera, options, state, result);
    } catch (const std::bad_alloc&) {
        // A buffer that could not grow holds nothing.
        state = CpuState();
        result = RenderResult();
        refuse_memory(camera, "lists", 0, 0);
    }
}

void CpuRasterizer::draw(ParameterSource& source, const Camera& camera,
                         const RenderOptions& options, CpuState& state,
                         RenderResult& result) const {
    const ProjectParams params = make_project_params(camera, options, source.sh_degree());
    state.tiles_x = (camera.width + kTileSize - 1) / kTileSize;
    state.tiles_y = (camera.height + kTileSize - 1) / kTileSize;
    {
        const Span span(Stage::cull);
        cull_blocks(source, camera, params, state);
    }
    std::uint64_t isects = 0;
    {
        const Span span(Stage::project);
        isects = project_all(source, params, state);
    }
    RenderCounters& counters = result.counters;
    counters = {};
    counters.gaussians = source.count();
    counters.candidates = state.candidate_blocks.size() * kBlock;
    for (const std::uint32_t of_chunk : state.chunk_slots) counters.visible += of_chunk;
    if (ranks_ != nullptr) {
        CHECK(!options.costs && !options.warps, "no rank has the whole frame");
        const Span span(Stage::exchange);
        share_counts(*ranks_, counters);
        isects = share_splats(*ranks_, state);
    }
    counters.candidates = std::min(counters.candidates, counters.gaussians);
    CpuState& lists = state.shared ? state.shared->lists : state;
    choose_groups(lists, isects, params, camera, options);
    if (ranks_ != nullptr)
        keep_groups(lists, state.shared->own_tiles(ranks_->rank(), state.tiles_x));
    {
        const Span span(Stage::sort);
        sort_by_depth(lists);
    }
    start_pictures(lists, camera, options, source.count(), result);
    for (const TileGroup& group : lists.groups.list) {
        list_group(lists, group, options.gradients);
        {
            const Span span(Stage::blend);
            blend_group(lists, group, params, camera, options, result);
        }
        count(lists, group, options, result);
    }
    if (options.costs) finish_costs(lists, result);
    const Sky* sky = sky_to_draw(source, options);
    lists.groups.under_sky = sky != nullptr;
    if (sky != nullptr) {
        const Span span(Stage::blend);
        const PixelRows all{0, static_cast<std::size_t>(camera.height)};
        draw_sky(*sky, camera, options.background,
                 ranks_ ? state.shared->own_rows(ranks_->rank(), camera.height) : all,
                 state.directions, result);
    }
    if (ranks_ == nullptr) return;
    const Span span(Stage::exchange);
    join_picture(*ranks_, state, options, result);
}

/// What a group's lists need before backward, where they are no longer those of the forward pass:
/// drawn again, each pixel with the bits that it has.
void draw_again(CpuState& state, const TileGroup& group, const ProjectParams& project,
                const Camera& camera, RenderOptions options, const RenderResult& result) {
    list_group(state, group, true);
    const Span span(Stage::blend);
    options.counters = options.costs = options.median_depth = false;
    BlendParams p =
        picture_params(state, project, camera, options, const_cast<RenderResult&>(result));
    state.groups.tile_evaluated.resize_discard(state.tile_order.size());
    p.pairs_per_tile = state.groups.tile_evaluated.data();
    if (state.groups.under_sky) {
        state.groups.color.resize(camera.width, camera.height, 3);
        p.color = state.groups.color.values.data();
    }
    for_tiles_of(state, group, [&](std::uint32_t tile) { blend_tile(p, tile); });
}

/// The gradients of a group's isects.
void blend_backward(CpuState& state, const TileGroup& group, const ProjectParams& project,
                    const Camera& camera, const RenderOptions& options, const RenderResult& result,
                    const PixelGradients& gradients) {
    const Span span(Stage::blend_backward);
    state.isect_gradients.resize_discard(state.slot_from_isect.size());
    BlendBackwardParams p{};
    p.forward = picture_params(state, project, camera, options, const_cast<RenderResult&>(result));
    p.forward.emission_from_isect = state.emission_from_isect.data();
    p.v_color = gradients.color.values.data();
    p.v_alpha = gradients.alpha.values.empty() ? nullptr : gradients.alpha.values.data();
    p.v_depth = gradients.depth.values.empty() ? nullptr : gradients.depth.values.data();
    p.isect_gradients = state.isect_gradients.data();
    p.absolute = options.absolute;
    CHECK(p.v_depth == nullptr || options.depth, "depth gradients need a depth picture");
    for_tiles_of(state, group, [&](std::uint32_t tile) {
        const std::uint64_t begin = options.costs ? own_time_ns() : 0;
        blend_tile_backward(p, tile);
        if (options.costs) {
            state.backward.tile_ns[tile] = static_cast<float>(own_time_ns() - begin);
            count_backward_pairs(state, p.forward, tile);
        }
    });
}

/// The gradients of all groups, added up by slot where there are several.
void blend_all_backward(CpuState& state, const ProjectParams& params, const Camera& camera,
                        const RenderOptions& options, const RenderResult& result,
                        const PixelGradients& gradients) {
    const bool several = state.groups.several;
    if (several) {
        state.groups.sums.resize_discard(state.splats.size());
        state.groups.sums.fill({});
    }
    for (const TileGroup& group : state.groups.list) {
        if (several) draw_again(state, group, params, camera, options, result);
        blend_backward(state, group, params, camera, options, result, gradients);
        if (several) add_gradients(state);
    }
}

/// The gradients of this rank's tiles, and the sums of its Gaussians' from all ranks.
void blend_backward_shared(Exchange& ranks, CpuState& state, const ProjectParams& params,
                           const Camera& camera, const RenderOptions& options,
                           const RenderResult& result, const PixelGradients& of_head) {
    SharedFrame& shared = *state.shared;
    CpuState& lists = shared.lists;
    const auto share = [&]() -> const PixelGradients& {
        const Span span(Stage::exchange);
        return share_pixel_gradients(ranks, state, camera.width, camera.height, of_head);
    };
    const PixelGradients& gradients = share();
    begin_gradients(shared);
    for (const TileGroup& group : lists.groups.list) {
        if (lists.groups.several) draw_again(lists, group, params, camera, options, result);
        blend_backward(lists, group, params, camera, options, result, gradients);
        keep_gradients(shared);
    }
    const Span span(Stage::exchange);
    return_gradients(ranks, state);
}

void CpuRasterizer::backward(ParameterSource& source, const Camera& camera,
                             const RenderOptions& options, ForwardState& base,
                             const RenderResult& result, const PixelGradients& gradients,
                             GradientSink& sink) {
    CHECK(options.gradients, "forward() was called without gradients");
    CpuState& state = static_cast<CpuState&>(base);
    state.backward = {};
    const ProjectParams params = make_project_params(camera, options, source.sh_degree());
    if (options.costs) start_costs(state, source.count(), state.tile_order.size(), state.backward);
    if (ranks_ != nullptr)
        blend_backward_shared(*ranks_, state, params, camera, options, result, gradients);
    else
        blend_all_backward(state, params, camera, options, result, gradients);
    if (options.costs) rows_from_slots(state, state.slot_evaluated, state.backward.evaluated);
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
    return std::make_unique<cpu::CpuRasterizer>(nullptr);
}
std::unique_ptr<Rasterizer> make_rank_rasterizer(Exchange& ranks) {
    return std::make_unique<cpu::CpuRasterizer>(&ranks);
}

}  // namespace gs
