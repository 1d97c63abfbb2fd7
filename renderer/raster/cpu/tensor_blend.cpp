// Splats of flat arrays into pictures: each image's splats go through the stages of the CPU
// backend (cover, sort, emit), then the kernels of tensor_tile.cpp. Along rays the boxes of radii
// stand in for what ellipses cover.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/parallel.h"
#include "renderer/raster/cpu/tensor_rays.h"

namespace gs::tensor {
namespace {

using cpu::ChannelParams, cpu::CpuState, cpu::ProjectedBlock, cpu::Splat;

struct ImageLists {
    CpuState state;
    Buffer<std::uint32_t> entry_from_slot;
    Buffer<cpu::RayBody> bodies;  ///< [slot], along rays
};
class Lists final : public BlendLists {
  public:
    std::vector<ImageLists> images;
};

/// What cover_block reads of one entry; false: it draws nothing.
bool set_lane(const BlendInput& in, std::size_t e, std::size_t lane, ProjectedBlock& b) {
    FlatSplat s;
    if (!flat_splat(in, e, s)) return false;
    b.x[lane] = s.mean.x, b.y[lane] = s.mean.y;
    b.conic_xx[lane] = s.conic.xx, b.conic_xy[lane] = s.conic.xy, b.conic_yy[lane] = s.conic.yy;
    b.s[lane] = s.s, b.r[lane] = s.r, b.w[lane] = s.w;
    b.slope_x[lane] = s.slope_x, b.slope_y[lane] = s.slope_y;
    b.log2_opacity[lane] = s.log2_opacity, b.limit[lane] = s.limit;
    b.extent_x[lane] = b.box_x[lane] = s.extent.x;
    b.extent_y[lane] = b.box_y[lane] = s.extent.y;
    return true;
}
float ordered(float depth) { return std::bit_cast<float>(ordered_bits(depth)); }
Splat splat_of(const ProjectedBlock& b, std::size_t lane, float depth) {
    return {b.x[lane], b.y[lane], b.s[lane], b.r[lane],      b.w[lane],       b.log2_opacity[lane],
            0,         0,         0,         ordered(depth), b.slope_x[lane], b.slope_y[lane]};
}

/// One chunk of kSlotsPerChunk entries of an image, from `first` on; as project_chunk.
void cover_chunk(const BlendInput& in, const cpu::ProjectParams& params, std::size_t first,
                 std::size_t end, std::size_t chunk, ImageLists& lists) {
    CpuState& state = lists.state;
    std::vector<cpu::TileSpan>& spans = state.spans[chunk];
    std::uint32_t slot = static_cast<std::uint32_t>(chunk * cpu::kSlotsPerChunk);
    std::uint64_t emission = 0;
    for (std::size_t begin = first; begin < end; begin += kBlock) {
        ProjectedBlock block{};
        for (std::size_t lane = 0; lane < std::min(kBlock, end - begin); ++lane)
            block.mask |= static_cast<std::uint32_t>(set_lane(in, begin + lane, lane, block))
                          << lane;
        cpu::Coverage coverage[kBlock];
        cpu::cover_block(params, block, spans, coverage);
        for (std::uint32_t lanes = block.mask; lanes != 0; lanes &= lanes - 1, ++slot) {
            const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
            state.splats[slot] = splat_of(block, lane, in.depths[begin + lane]);
            lists.entry_from_slot[slot] = static_cast<std::uint32_t>(begin + lane);
            coverage[lane].emission = static_cast<std::uint32_t>(emission);
            emission += coverage[lane].isects;
            state.coverage[slot] = coverage[lane];
        }
    }
    state.chunk_emission[chunk] = static_cast<std::uint32_t>(std::min(emission, cpu::kMostIsects));
    state.chunk_slots[chunk] = slot - static_cast<std::uint32_t>(chunk * cpu::kSlotsPerChunk);
}

/// As cover_chunk.
void box_chunk(const BlendInput& in, std::size_t first, std::size_t end, std::size_t chunk,
               ImageLists& lists) {
    CpuState& state = lists.state;
    std::uint32_t slot = static_cast<std::uint32_t>(chunk * cpu::kSlotsPerChunk);
    std::uint64_t emission = 0;
    for (std::size_t e = first; e < end; ++e) {
        if (!set_body(in, e, lists.bodies[slot])) continue;
        cpu::Coverage coverage = box_coverage(in, e, state, state.spans[chunk]);
        if (coverage.isects == 0) continue;
        coverage.emission = static_cast<std::uint32_t>(emission);
        emission += coverage.isects;
        state.coverage[slot] = coverage;
        state.splats[slot] = {};
        state.splats[slot].depth = ordered(in.depths[e]);
        lists.entry_from_slot[slot] = static_cast<std::uint32_t>(e);
        ++slot;
    }
    state.chunk_emission[chunk] = static_cast<std::uint32_t>(std::min(emission, cpu::kMostIsects));
    state.chunk_slots[chunk] = slot - static_cast<std::uint32_t>(chunk * cpu::kSlotsPerChunk);
}

cpu::ProjectParams cover_params(const BlendInput& in) {
    cpu::ProjectParams params{};
    params.width = static_cast<float>(in.width);
    params.height = static_cast<float>(in.height);
    params.rules = rules_of(Compatibility::tight);
    params.rules.alpha_max = in.alpha_max;
    return params;
}

void list_image(const BlendInput& in, std::size_t image, bool gradients, ImageLists& lists) {
    CpuState& state = lists.state;
    const auto begin = static_cast<std::size_t>(in.first[image]),
               end = static_cast<std::size_t>(in.first[image + 1]);
    const std::size_t blocks = (end - begin + kBlock - 1) / kBlock;
    const std::size_t chunks = (blocks + cpu::kBlocksPerChunk - 1) / cpu::kBlocksPerChunk;
    state.tiles_x = (in.width + kTileSize - 1) / kTileSize;
    state.tiles_y = (in.height + kTileSize - 1) / kTileSize;
    state.chunk_slots.resize_discard(chunks);
    state.chunk_emission.resize_discard(chunks);
    state.splats.resize_discard(chunks * cpu::kSlotsPerChunk);
    state.coverage.resize_discard(chunks * cpu::kSlotsPerChunk);
    lists.entry_from_slot.resize_discard(chunks * cpu::kSlotsPerChunk);
    if (in.rays != nullptr) lists.bodies.resize_discard(chunks * cpu::kSlotsPerChunk);
    state.spans.resize(chunks);
    const cpu::ProjectParams params = cover_params(in);
    parallel_for(chunks, 1, [&](std::size_t chunk) {
        const std::size_t from = begin + chunk * cpu::kSlotsPerChunk,
                          to = std::min(end, from + cpu::kSlotsPerChunk);
        if (in.rays != nullptr)
            box_chunk(in, from, to, chunk, lists);
        else
            cover_chunk(in, params, from, to, chunk, lists);
    });
    const std::uint64_t isects =
        std::accumulate(state.chunk_emission.begin(), state.chunk_emission.end(), std::uint64_t{0});
    if (isects > cpu::kMostIsects)
        throw std::length_error("the picture has more than 4 G (Gaussian, tile) pairs");
    std::exclusive_scan(state.chunk_emission.begin(), state.chunk_emission.end(),
                        state.chunk_emission.begin(), 0u);
    cpu::sort_by_depth(state);
    cpu::emit_isects(state, gradients);
    state.list_end.resize_discard(state.tile_order.size());
    if (gradients) state.touched.resize_discard(state.slot_from_isect.size());
    state.spans.clear();  // what only lists are made with
    for (auto* done : {&state.part_tile_counts, &state.depth_keys, &state.slot_from_rank})
        *done = {};
}

ChannelParams channel_params(const BlendInput& in, std::size_t image, const ImageLists& lists,
                             const float* colors, const float* alphas) {
    const CpuState& state = lists.state;
    const std::size_t pixels =
        static_cast<std::size_t>(in.width) * static_cast<std::size_t>(in.height);
    ChannelParams p{};
    p.lists.splats = state.splats.data();
    p.lists.slot_from_isect = state.slot_from_isect.data();
    p.lists.emission_from_isect = state.emission_from_isect.data();
    p.lists.tile_begin = state.tile_begin.data();
    p.lists.tiles_x = state.tiles_x;
    p.lists.width = in.width;
    p.lists.height = in.height;
    p.lists.rules = cover_params(in).rules;
    p.lists.log2_alpha_min = std::log2(kLeastAlpha32);
    p.lists.transmittance_min = p.lists.rules.transmittance_min;
    // Written by the forward pass alone.
    p.lists.list_end = const_cast<std::uint32_t*>(state.list_end.data());
    p.lists.touched = const_cast<std::uint32_t*>(state.touched.data());
    p.entry_from_slot = lists.entry_from_slot.data();
    p.bodies = lists.bodies.data();
    p.channels = in.channels;
    p.colors = in.colors;
    p.background = in.backgrounds == nullptr ? nullptr : in.backgrounds + image * in.channels;
    p.picture = const_cast<float*>(colors) + image * pixels * in.channels;
    p.alpha = const_cast<float*>(alphas) + image * pixels;
    return p;
}

/// Calls f(params, tile) for all tiles, with their rays where there are any.
template <class F>
void for_each_tile(const BlendInput& in, std::size_t image, const CpuState& state,
                   const ChannelParams& params, F&& f) {
    math::LensCamera<double> view{};
    if (in.rays != nullptr) view = view_of(*in.rays, image, false);
    parallel_for(state.tile_order.size(), 1, [&](std::size_t i) {
        const std::uint32_t tile = state.tile_order[i];
        if (in.rays == nullptr) return f(params, tile);
        cpu::PixelRays rays;
        set_rays(view, in, tile, state.tiles_x, rays);
        ChannelParams of_tile = params;
        of_tile.rays = &rays;
        f(of_tile, tile);
    });
}

/// A splat's sums over its isects, to its entry's gradients.
void put_body(const BlendInput& in, std::size_t e, const std::vector<double>& sum, BodySums& of_row,
              PoseSums& of_view, const BlendGradients& out) {
    out.opacities[e] = static_cast<float>(sum[cpu::kRayV] / static_cast<double>(in.opacities[e]));
    BodySums here;
    std::copy_n(&sum[cpu::kRayArm], 3, here.arm);
    std::copy_n(&sum[cpu::kRayWhitening], 9, here.whitening);
    for (std::size_t k = 0; k < 3; ++k) of_row.arm[k] += here.arm[k];
    for (std::size_t k = 0; k < 9; ++k) of_row.whitening[k] += here.whitening[k];
    if (out.viewmats != nullptr) add_to_view(*in.rays, row_of(*in.rays, e), here, of_view);
    for (std::size_t k = 0; k < in.channels; ++k)
        out.colors[e * in.channels + k] = static_cast<float>(sum[cpu::kRayChannels + k]);
}
/// The same of a splat in the picture.
void put_splat(const BlendInput& in, std::size_t e, const std::vector<double>& sum,
               const BlendGradients& out) {
    put_shape(in, e, sum.data(), out);
    for (std::size_t k = 0; k < in.channels; ++k)
        out.colors[e * in.channels + k] = static_cast<float>(sum[kChannels + k]);
}
void gather_chunk(const BlendInput& in, const ImageLists& lists, const Buffer<float>& sums,
                  std::size_t chunk, std::vector<BodySums>& rows, PoseSums& view,
                  const BlendGradients& out) {
    const CpuState& state = lists.state;
    const std::size_t stride = cpu::sums_before_channels(in.rays != nullptr) + in.channels;
    std::vector<double> sum(stride);
    for (std::uint32_t i = 0; i < state.chunk_slots[chunk]; ++i) {
        const std::size_t slot = chunk * cpu::kSlotsPerChunk + i;
        const std::size_t first = state.chunk_emission[chunk] + state.coverage[slot].emission;
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t e = first; e < first + state.coverage[slot].isects; ++e)
            for (std::size_t k = 0; k < stride; ++k) sum[k] += sums[e * stride + k];
        const std::size_t entry = lists.entry_from_slot[slot];
        if (in.rays != nullptr)
            put_body(in, entry, sum, rows[row_of(*in.rays, entry)], view, out);
        else
            put_splat(in, entry, sum, out);
    }
}
void clear(const BlendInput& in, const BlendGradients& out) {
    const auto entries = static_cast<std::size_t>(in.first.back());
    if (in.rays == nullptr) {
        std::fill_n(out.means2d, 2 * entries, 0.0f);
        std::fill_n(out.conics, 3 * entries, 0.0f);
    }
    std::fill_n(out.opacities, entries, 0.0f);
    std::fill_n(out.colors, in.channels * entries, 0.0f);
    if (out.absolute != nullptr) std::fill_n(out.absolute, 2 * entries, 0.0f);
}

}  // namespace

std::unique_ptr<const BlendLists> blend(const BlendInput& in, float* colors, float* alphas,
                                        bool gradients) {
    auto all = std::make_unique<Lists>();
    all->images.resize(gradients ? in.images() : 1);
    for (std::size_t image = 0; image < in.images(); ++image) {
        ImageLists& lists = all->images[gradients ? image : 0];
        list_image(in, image, gradients, lists);
        const ChannelParams p = channel_params(in, image, lists, colors, alphas);
        for_each_tile(in, image, lists.state, p, cpu::blend_channels);
    }
    return gradients ? std::move(all) : nullptr;
}

void blend_vjp(const BlendInput& in, const BlendLists& base, const BlendSeeds& seeds,
               const BlendGradients& out) {
    const auto& all = static_cast<const Lists&>(base);
    const std::size_t pixels =
        static_cast<std::size_t>(in.width) * static_cast<std::size_t>(in.height);
    clear(in, out);
    std::vector<BodySums> rows(in.rays != nullptr ? in.rays->sizes.rows() : 0);
    Buffer<float> sums;
    for (std::size_t image = 0; image < in.images(); ++image) {
        const ImageLists& lists = all.images[image];
        sums.resize_discard(lists.state.slot_from_isect.size() *
                            (cpu::sums_before_channels(in.rays != nullptr) + in.channels));
        cpu::ChannelBackwardParams p{};
        p.forward = channel_params(in, image, lists, seeds.colors, seeds.alphas);
        if (seeds.v_colors != nullptr) p.v_picture = seeds.v_colors + image * pixels * in.channels;
        if (seeds.v_alphas != nullptr) p.v_alpha = seeds.v_alphas + image * pixels;
        p.sums = sums.data();
        for_each_tile(in, image, lists.state, p.forward,
                      [&](const ChannelParams& forward, std::uint32_t tile) {
                          cpu::ChannelBackwardParams of_tile = p;
                          of_tile.forward = forward;
                          cpu::blend_channels_backward(of_tile, tile);
                      });
        std::vector<PoseSums> views(lists.state.chunks());
        parallel_for(views.size(), 1, [&](std::size_t chunk) {
            gather_chunk(in, lists, sums, chunk, rows, views[chunk], out);
        });
        if (out.viewmats != nullptr) put_view(*in.rays, image, views, out.viewmats);
    }
    parallel_for(rows.size(), 256,
                 [&](std::size_t row) { put_body_row(*in.rays, row, rows[row], out); });
}

}  // namespace gs::tensor
