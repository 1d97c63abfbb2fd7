// Projection and its backward for a block of 16 Gaussians: renderer/math run on packs of 16 floats.
// Each kernel is flattened: the mathematics is inlined into it and compiled for its instruction
// set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/project.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include <bit>

#include "renderer/math/sh.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/pack.h"
#include "renderer/raster/tile_cover.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

HWY_INLINE Pack plane(BlockView view, int p) {
    return load(view.planes + static_cast<std::size_t>(p) * view.stride);
}
HWY_INLINE Vec3<Pack> plane3(BlockView view, int p) {
    return {plane(view, p), plane(view, p + 1), plane(view, p + 2)};
}
HWY_INLINE Quat<Pack> quat_at(BlockView view) {
    return {plane(view, kQuats), plane(view, kQuats + 1), plane(view, kQuats + 2),
            plane(view, kQuats + 3)};
}
HWY_INLINE Vec3<Pack> scale_at(BlockView view, float modifier) {
    const Vec3<Pack> log_scale = plane3(view, kLogScales);
    return Pack(modifier) * Vec3<Pack>{exp(log_scale.x), exp(log_scale.y), exp(log_scale.z)};
}
HWY_INLINE math::Pinhole<Pack> broadcast(const math::Pinhole<float>& c) {
    math::Pinhole<Pack> out;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) out.rotation.m[i][j] = Pack(c.rotation.m[i][j]);
    out.translation = {Pack(c.translation.x), Pack(c.translation.y), Pack(c.translation.z)};
    out.fx = Pack(c.fx);
    out.fy = Pack(c.fy);
    out.cx = Pack(c.cx);
    out.cy = Pack(c.cy);
    out.x_lo = Pack(c.x_lo);
    out.x_hi = Pack(c.x_hi);
    out.y_lo = Pack(c.y_lo);
    out.y_hi = Pack(c.y_hi);
    return out;
}

HWY_FLATTEN void ProjectBlock(const ProjectParams& params, BlockView geometry, std::size_t lanes,
                              ProjectedBlock& out) {
    const math::Pinhole<Pack> camera = broadcast(params.camera);
    const Pack alpha_min(params.rules.alpha_min), zero(0.0f);
    const auto projected =
        math::project(camera, plane3(geometry, kMeans), scale_at(geometry, params.scale_modifier),
                      quat_at(geometry));
    const Pack blur(params.blur);
    const auto conic = math::conic_of(projected.cov, projected.det, blur);
    Pack opacity = math::sigmoid(plane(geometry, kOpacityLogits));
    if (params.antialiased) opacity = opacity * conic.compensation;
    const Pack limit = Pack(2.0f) * log(opacity / alpha_min);
    const Sym2<Pack> blurred{projected.cov.xx + blur, projected.cov.xy, projected.cov.yy + blur};
    const Vec2<Pack> extent{sqrt(limit * blurred.xx), sqrt(limit * blurred.yy)};
    const Vec2<Pack> box = profile_box(params.rules, blurred, extent);

    // Every condition is false for NaN, so poison parameters fall out here.
    const Pack depth = projected.camera.z;
    PackMask visible = both(depth > Pack(params.rules.near_plane), depth < Pack(1e10f));
    visible = both(visible, both(conic.det > zero, conic.det < Pack(1e30f)));
    visible =
        both(visible, both(limit > zero, both(blurred.xx < Pack(1e15f), blurred.yy < Pack(1e15f))));
    visible = both(visible, both(projected.mean.x + box.x > zero,
                                 projected.mean.x - box.x < Pack(params.width)));
    visible = both(visible, both(projected.mean.y + box.y > zero,
                                 projected.mean.y - box.y < Pack(params.height)));
    visible = both(visible, both(conic.inverse.xx > zero, conic.inverse.yy > zero));

    store(projected.mean.x, out.x);
    store(projected.mean.y, out.y);
    store(depth, out.depth);
    store(conic.inverse.xx, out.conic_xx);
    store(conic.inverse.xy, out.conic_xy);
    store(conic.inverse.yy, out.conic_yy);
    store(Pack(kLog2E) * log(opacity), out.log2_opacity);
    store(limit, out.limit);
    store(extent.x, out.extent_x);
    store(extent.y, out.extent_y);
    store(box.x, out.box_x);
    store(box.y, out.box_y);
    out.mask = bits_of(visible);
    if (lanes < kBlock) out.mask &= (1u << lanes) - 1u;
}

HWY_INLINE Vec3<Pack> view_ray(const ProjectParams& params, BlockView geometry) {
    return plane3(geometry, kMeans) -
           Vec3<Pack>{Pack(params.position.x), Pack(params.position.y), Pack(params.position.z)};
}
/// Colour before the clamp at zero.
HWY_INLINE Vec3<Pack> raw_color(int degree, const Pack* basis, BlockView sh) {
    Vec3<Pack> color{Pack(0.5f), Pack(0.5f), Pack(0.5f)};
    for (int k = 0; k < sh_bases(degree); ++k) color += basis[k] * plane3(sh, 3 * k);
    return color;
}

HWY_FLATTEN void ShadeBlock(const ProjectParams& params, BlockView geometry, BlockView sh,
                            ProjectedBlock& out) {
    Pack basis[16];
    math::sh_basis(params.sh_degree, math::normalize(view_ray(params, geometry)), basis);
    const Vec3<Pack> color = raw_color(params.sh_degree, basis, sh);
    store(max(color.x, Pack(0.0f)), out.color[0]);
    store(max(color.y, Pack(0.0f)), out.color[1]);
    store(max(color.z, Pack(0.0f)), out.color[2]);
    // False for NaN, Inf and absurd numbers: a Gaussian with such coefficients draws nothing.
    out.mask &= bits_of(dot(color, color) < Pack(1e30f));
}

/// Gradients of the SH coefficients into `out`, and of the mean through the view direction as the
/// result.
HWY_INLINE Vec3<Pack> shade_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
                                     Vec3<Pack> v_color, PackMask active, BlockGradients& out) {
    const Pack zero(0.0f);
    Pack basis[16], v_basis[16];
    const Vec3<Pack> ray = view_ray(params, geometry), direction = math::normalize(ray);
    math::sh_basis(params.sh_degree, direction, basis);
    const Vec3<Pack> raw = raw_color(params.sh_degree, basis, sh);
    v_color = {select(both(active, raw.x >= zero), v_color.x, zero),
               select(both(active, raw.y >= zero), v_color.y, zero),
               select(both(active, raw.z >= zero), v_color.z, zero)};
    for (int k = 0; k < sh_bases(params.sh_degree); ++k) {
        v_basis[k] = dot(plane3(sh, 3 * k), v_color);
        store(basis[k] * v_color.x, out.planes[kSh0 + 3 * k]);
        store(basis[k] * v_color.y, out.planes[kSh0 + 3 * k + 1]);
        store(basis[k] * v_color.z, out.planes[kSh0 + 3 * k + 2]);
    }
    return math::normalize_vjp(ray, math::sh_basis_vjp(params.sh_degree, direction, v_basis));
}

HWY_INLINE void store_masked(Pack x, PackMask m, float* to) { store(select(m, x, Pack(0.0f)), to); }

HWY_FLATTEN void ProjectBlockBackward(const ProjectParams& params, BlockView geometry, BlockView sh,
                                      const SplatGradients& in, std::uint32_t mask,
                                      BlockGradients& out) {
    const math::Pinhole<Pack> camera = broadcast(params.camera);
    const Pack half(0.5f), zero(0.0f), blur(params.blur);
    const PackMask active = mask_from_bits(mask);
    Pack v[10];
    for (int row = 0; row < 10; ++row) v[row] = load(in.v[row]);
    const Vec3<Pack> mean = plane3(geometry, kMeans),
                     scale = scale_at(geometry, params.scale_modifier);
    const Quat<Pack> quat = quat_at(geometry);
    const auto projected = math::project(camera, mean, scale, quat);
    const auto conic = math::conic_of(projected.cov, projected.det, blur);
    const Pack opacity = math::sigmoid(plane(geometry, kOpacityLogits));

    // ln alpha = ln opacity - 0.5 (xx dx^2 + yy dy^2) - xy dx dy, d = pixel - mean.
    const Vec2<Pack> v_mean2d{conic.inverse.xx * v[1] + conic.inverse.xy * v[2],
                              conic.inverse.xy * v[1] + conic.inverse.yy * v[2]};
    const Sym2<Pack> v_conic{-half * v[3], -v[4], -half * v[5]};
    const Pack v_compensation = params.antialiased ? v[0] / conic.compensation : zero;
    const Sym2<Pack> v_cov =
        math::conic_of_vjp(projected.cov, projected.det, blur, v_conic, v_compensation);
    auto g = math::project_vjp(camera, mean, scale, quat, v_mean2d, v_cov, v[9]);
    g.mean += shade_backward(params, geometry, sh, {v[6], v[7], v[8]}, active, out);

    store_masked(g.mean.x, active, out.planes[kMeans]);
    store_masked(g.mean.y, active, out.planes[kMeans + 1]);
    store_masked(g.mean.z, active, out.planes[kMeans + 2]);
    store_masked(g.scale.x * scale.x, active, out.planes[kLogScales]);
    store_masked(g.scale.y * scale.y, active, out.planes[kLogScales + 1]);
    store_masked(g.scale.z * scale.z, active, out.planes[kLogScales + 2]);
    store_masked(g.quat.w, active, out.planes[kQuats]);
    store_masked(g.quat.x, active, out.planes[kQuats + 1]);
    store_masked(g.quat.y, active, out.planes[kQuats + 2]);
    store_masked(g.quat.z, active, out.planes[kQuats + 3]);
    store_masked(v[0] * (Pack(1.0f) - opacity), active, out.planes[kOpacityLogits]);
    store_masked(v_mean2d.x, active, out.mean2d[0]);
    store_masked(v_mean2d.y, active, out.mean2d[1]);
    const Pack largest = max(projected.cov.xx, projected.cov.yy) + blur;
    store_masked(Pack(3.0f) * sqrt(largest), active, out.radius_px);
}

const char* InstructionSet() { return hwy::TargetName(HWY_TARGET); }

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(ProjectBlock);
HWY_EXPORT(ShadeBlock);
HWY_EXPORT(ProjectBlockBackward);
void project_block(const ProjectParams& params, BlockView geometry, std::size_t lanes,
                   ProjectedBlock& out) {
    HWY_DYNAMIC_DISPATCH(ProjectBlock)(params, geometry, lanes, out);
}
void shade_block(const ProjectParams& params, BlockView geometry, BlockView sh,
                 ProjectedBlock& block) {
    HWY_DYNAMIC_DISPATCH(ShadeBlock)(params, geometry, sh, block);
}
void project_block_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
                            const SplatGradients& in, std::uint32_t mask, BlockGradients& out) {
    HWY_DYNAMIC_DISPATCH(ProjectBlockBackward)(params, geometry, sh, in, mask, out);
    // SH gradients of lanes that were not visible are zero times the basis: NaN where the mean is.
    // (Selecting in the kernel trips g++ 12.)
    for (std::uint32_t hidden = ~mask & 0xFFFFu; hidden != 0; hidden &= hidden - 1)
        for (int p = kSh0; p < plane_count(params.sh_degree); ++p)
            out.planes[p][std::countr_zero(hidden)] = 0.0f;
}
HWY_EXPORT(InstructionSet);
const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(InstructionSet)(); }
}  // namespace gs::cpu

namespace gs {
std::string cpu_instruction_set() { return cpu::instruction_set(); }
}  // namespace gs
#endif
