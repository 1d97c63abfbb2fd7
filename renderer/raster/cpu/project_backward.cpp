// The backward of projection for a block of 16 Gaussians: renderer/math run on packs of 16 floats,
// flattened as projection is (project.cpp).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/project_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include <bit>

#include "renderer/raster/cpu/project_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

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

/// Sums over the lanes of SceneMotion's parts. `direct`: of the mean, all but what reaches it
/// through the colour; `whole`: all.
HWY_INLINE void sum_motion(const ProjectParams& params, BlockView geometry, Quat<Pack> v_quat,
                           Vec3<Pack> direct, Vec3<Pack> whole, PackMask active, float* out) {
    const Vec3<Pack> turn =
        cross(view_ray(params, geometry), direct) + math::quat_turn_vjp(quat_at(geometry), v_quat);
    const Pack parts[6] = {turn.x, turn.y, turn.z, whole.x, whole.y, whole.z};
    for (int i = 0; i < 6; ++i) {
        alignas(64) float lanes[kBlock];
        store_masked(parts[i], active, lanes);
        out[i] = 0.0f;
        for (const float lane : lanes) out[i] += lane;
    }
}

template <class Camera>
HWY_INLINE void through_camera_backward(const Camera& camera, const ProjectParams& params,
                                        BlockView geometry, BlockView sh, const SplatGradients& in,
                                        std::uint32_t mask, BlockGradients& out) {
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
    const Vec3<Pack> direct = g.mean;
    g.mean += shade_backward(params, geometry, sh, {v[6], v[7], v[8]}, active, out);
    if (params.motion) sum_motion(params, geometry, g.quat, direct, g.mean, active, out.motion);

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

HWY_FLATTEN void ProjectBlockBackward(const ProjectParams& params, BlockView geometry, BlockView sh,
                                      const SplatGradients& in, std::uint32_t mask,
                                      BlockGradients& out) {
    through_camera_backward(broadcast(params.camera), params, geometry, sh, in, mask, out);
}
HWY_FLATTEN void ProjectBlockBackwardByLens(const ProjectParams& params, BlockView geometry,
                                            BlockView sh, const SplatGradients& in,
                                            std::uint32_t mask, BlockGradients& out) {
    through_camera_backward(*params.lens, params, geometry, sh, in, mask, out);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(ProjectBlockBackward);
HWY_EXPORT(ProjectBlockBackwardByLens);
void project_block_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
                            const SplatGradients& in, std::uint32_t mask, BlockGradients& out) {
    if (params.lens == nullptr)
        HWY_DYNAMIC_DISPATCH(ProjectBlockBackward)(params, geometry, sh, in, mask, out);
    else
        HWY_DYNAMIC_DISPATCH(ProjectBlockBackwardByLens)(params, geometry, sh, in, mask, out);
    // SH gradients of lanes that were not visible are zero times the basis: NaN where the mean is.
    // (Selecting in the kernel trips g++ 12.)
    for (std::uint32_t hidden = ~mask & 0xFFFFu; hidden != 0; hidden &= hidden - 1)
        for (int p = kSh0; p < plane_count(params.sh_degree); ++p)
            out.planes[p][std::countr_zero(hidden)] = 0.0f;
}
}  // namespace gs::cpu
#endif
