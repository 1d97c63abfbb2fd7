// Project: where the Gaussians of the candidate blocks fall, and which tiles they touch. The
// kernels are renderer/math run on packs of floats, for a block of 16 Gaussians. Each kernel is
// flattened: the mathematics is inlined into it and compiled for its instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/project.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "renderer/math/unscented.h"
#include "renderer/raster/cpu/project_through.h"
#include "renderer/scene/camera_lens.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

HWY_FLATTEN void ProjectBlock(const ProjectParams& params, BlockView geometry, std::size_t lanes,
                              ProjectedBlock& out) {
    project_through(broadcast(params.camera), params, geometry, lanes, out);
}
HWY_FLATTEN void ProjectBlockByLens(const ProjectParams& params, BlockView geometry,
                                    std::size_t lanes, ProjectedBlock& out) {
    project_through(math::lens_camera_cast<Pack>(*params.lens), params, geometry, lanes, out);
}

HWY_FLATTEN void ProjectBlockUnscented(const ProjectParams& params, BlockView geometry,
                                       std::size_t lanes, ProjectedBlock& out) {
    const math::UnscentedCamera<Pack> camera{math::lens_camera_cast<Pack>(*params.lens)};
    project_through(camera, params, geometry, lanes, out);
}

HWY_FLATTEN void ShadeBlock(const ProjectParams& params, BlockView geometry, BlockView sh,
                            ProjectedBlock& out) {
    std::uint32_t drawn = 0;
    for (std::size_t first = 0; first < kBlock; first += kPack) {
        Pack basis[16];
        math::sh_basis(params.sh_degree,
                       math::normalize(view_ray(params, lanes_from(geometry, first))), basis);
        const Vec3<Pack> color = raw_color(params.sh_degree, basis, lanes_from(sh, first));
        store(max(color.x, Pack(0.0f)), out.color[0] + first);
        store(max(color.y, Pack(0.0f)), out.color[1] + first);
        store(max(color.z, Pack(0.0f)), out.color[2] + first);
        drawn |= bits_of(dot(color, color) < Pack(1e30f)) << first;
    }
    // False for NaN, Inf and absurd numbers: a Gaussian with such coefficients draws nothing.
    out.mask &= drawn;
}

std::int64_t InstructionSet() { return HWY_TARGET; }

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(ProjectBlock);
HWY_EXPORT(ProjectBlockByLens);
HWY_EXPORT(ProjectBlockUnscented);
HWY_EXPORT(ShadeBlock);
namespace {

void project_block(const ProjectParams& params, BlockView geometry, std::size_t lanes,
                   ProjectedBlock& out) {
    if (params.lens == nullptr)
        HWY_DYNAMIC_DISPATCH(ProjectBlock)(params, geometry, lanes, out);
    else if (params.unscented)
        HWY_DYNAMIC_DISPATCH(ProjectBlockUnscented)(params, geometry, lanes, out);
    else
        HWY_DYNAMIC_DISPATCH(ProjectBlockByLens)(params, geometry, lanes, out);
}
/// The words of a block's rows; those behind the last are each Gaussian as it is.
struct BlockTint {
    std::uint32_t words[kBlock];
    BlockTint(std::span<const std::uint32_t> tint, std::size_t block) {
        const std::size_t first = block * kBlock;
        for (std::size_t lane = 0; lane < kBlock; ++lane)
            words[lane] = first + lane < tint.size() ? tint[first + lane] : GaussianTint::kOwn;
    }
    std::uint32_t hidden_lanes() const {
        std::uint32_t lanes = 0;
        for (std::size_t lane = 0; lane < kBlock; ++lane)
            lanes |= static_cast<std::uint32_t>(GaussianTint::hidden(words[lane])) << lane;
        return lanes;
    }
    void colour(ProjectedBlock& out) const {
        for (std::size_t lane = 0; lane < kBlock; ++lane)
            for (int c = 0; c < 3; ++c)
                out.color[c][lane] = GaussianTint::shown(out.color[c][lane], words[lane], c);
    }
};

void write_splat(const ProjectedBlock& b, std::size_t lane, Splat& out) {
    out.x = b.x[lane];
    out.y = b.y[lane];
    out.s = b.s[lane];
    out.r = b.r[lane];
    out.w = b.w[lane];
    out.l = b.log2_opacity[lane];
    out.red = b.color[0][lane];
    out.green = b.color[1][lane];
    out.blue = b.color[2][lane];
    out.depth = b.depth[lane];
    out.slope_x = b.slope_x[lane];
    out.slope_y = b.slope_y[lane];
}

void project_chunk(ParameterSource& source, const ProjectParams& params, CpuState& state,
                   std::size_t chunk) {
    alignas(64) float geometry_scratch[kGeometryPlanes * kBlock], sh_scratch[48 * kBlock];
    std::vector<TileSpan>& spans = state.spans[chunk];
    spans.clear();
    std::uint32_t slot = static_cast<std::uint32_t>(chunk * kSlotsPerChunk);
    std::uint64_t emission = 0;
    const std::size_t begin = chunk * kBlocksPerChunk,
                      end = std::min(begin + kBlocksPerChunk, state.candidate_blocks.size());
    for (std::size_t candidate = begin; candidate < end; ++candidate) {
        const std::size_t block = state.candidate_blocks[candidate];
        const BlockView geometry = source.geometry(block, geometry_scratch);
        ProjectedBlock projected;
        project_block(params, geometry, std::min(kBlock, source.count() - block * kBlock),
                      projected);
        hide_block(params, block, projected);
        Coverage coverage[kBlock];
        cover_block(params, projected, spans, coverage);
        if (projected.mask != 0)
            shade_block(params, geometry, source.sh(block, sh_scratch), block, projected);
        state.candidate_mask[candidate] = projected.mask;
        state.candidate_slot[candidate] = slot;
        for (std::uint32_t lanes = projected.mask; lanes != 0; lanes &= lanes - 1, ++slot) {
            const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
            write_splat(projected, lane, state.splats[slot]);
            coverage[lane].emission = static_cast<std::uint32_t>(emission);
            emission += coverage[lane].isects;
            state.coverage[slot] = coverage[lane];
        }
    }
    // More than fit count as the most; project_all() then adds one, so that groups are drawn.
    state.chunk_emission[chunk] = static_cast<std::uint32_t>(std::min(emission, kMostIsects));
    state.chunk_slots[chunk] = slot - static_cast<std::uint32_t>(chunk * kSlotsPerChunk);
}

}  // namespace

void hide_block(const ProjectParams& params, std::size_t block, ProjectedBlock& out) {
    if (!params.tint.empty()) out.mask &= ~BlockTint(params.tint, block).hidden_lanes();
}
void shade_block(const ProjectParams& params, BlockView geometry, BlockView sh, std::size_t block,
                 ProjectedBlock& out) {
    HWY_DYNAMIC_DISPATCH(ShadeBlock)(params, geometry, sh, out);
    if (!params.tint.empty()) BlockTint(params.tint, block).colour(out);
}

ProjectParams make_project_params(const Camera& camera, const RenderOptions& options,
                                  int model_sh_degree) {
    ProjectParams p{};
    p.camera = pinhole_of(camera);
    if (draws_through_lens(camera, options)) {
        const auto lens = math::make_lens_camera<double>(camera);
        p.lens =
            std::make_shared<const math::LensCamera<float>>(math::lens_camera_cast<float>(lens));
        p.unscented = draws_unscented(camera, options);
        p.cone = view_cone(camera, lens.lens);
    }
    p.wrap = wrap_width(camera);
    p.ray_origin = ray_origin(camera);
    p.width = static_cast<float>(camera.width);
    p.height = static_cast<float>(camera.height);
    p.rules = rules_for(options);
    p.log_alpha_min = std::log(p.rules.alpha_min);
    p.blur = options.blur;
    p.scale_modifier = options.scale_modifier;
    p.antialiased = options.antialiased;
    p.sh_degree = used_sh_degree(options, model_sh_degree);
    p.motion = options.motion;
    p.intrinsics = options.intrinsics;
    p.absolute = options.absolute;
    p.clipped = options.clip.has_value();
    p.clip = options.clip.value_or(ClipBox{});
    if (options.tint) p.tint = options.tint->words.span();
    return p;
}

std::uint64_t project_all(ParameterSource& source, const ProjectParams& params, CpuState& state) {
    const std::size_t candidates = state.candidate_blocks.size(),
                      chunks = (candidates + kBlocksPerChunk - 1) / kBlocksPerChunk;
    state.candidate_mask.resize_discard(candidates);
    state.candidate_slot.resize_discard(candidates);
    state.chunk_slots.resize_discard(chunks);
    state.splats.resize_discard(chunks * kSlotsPerChunk);
    state.coverage.resize_discard(chunks * kSlotsPerChunk);
    state.chunk_emission.resize_discard(chunks);
    if (state.spans.size() < chunks) state.spans.resize(chunks);
    parallel_for(chunks, 1,
                 [&](std::size_t chunk) { project_chunk(source, params, state, chunk); });
    std::uint64_t isects = 0;
    for (const std::uint32_t of_chunk : state.chunk_emission.span())
        isects += of_chunk + (of_chunk == kMostIsects ? 1u : 0u);
    // From each chunk's isects to its first emission.
    std::exclusive_scan(state.chunk_emission.begin(), state.chunk_emission.end(),
                        state.chunk_emission.begin(), 0u);
    return isects;
}

HWY_EXPORT(InstructionSet);
std::int64_t instruction_set() { return HWY_DYNAMIC_DISPATCH(InstructionSet)(); }
}  // namespace gs::cpu
#endif
