// A block of 16 Gaussians through a camera, and back: what the kernels of project.cpp,
// project_backward.cpp and project_unscented.cpp are made of. Camera: math::Pinhole, LensCamera or
// UnscentedCamera. Like project_lanes.h it takes on the instruction set of the kernel that it is
// flattened into.
#pragma once

#include "renderer/raster/cpu/project_lanes.h"
#include "renderer/raster/tile_cover.h"

namespace gs::cpu {

template <class Camera>
inline void project_through(const Camera& camera, const ProjectParams& params, BlockView geometry,
                            std::size_t lanes, ProjectedBlock& out) {
    const auto projected =
        math::project(camera, plane3(geometry, kMeans), scale_at(geometry, params.scale_modifier),
                      quat_at(geometry));
    const Pack blur(params.blur);
    const auto conic = math::conic_of(projected.cov, projected.det, blur);
    Pack opacity = math::sigmoid(plane(geometry, kOpacityLogits));
    if (params.antialiased) opacity = opacity * conic.compensation;
    const Pack log_opacity = log(opacity);
    const Pack limit = Pack(2.0f) * (log_opacity - Pack(params.log_alpha_min));
    const Sym2<Pack> blurred{projected.cov.xx + blur, projected.cov.xy, projected.cov.yy + blur};
    const Vec2<Pack> extent{sqrt(limit * blurred.xx), sqrt(limit * blurred.yy)};
    const Vec2<Pack> box = profile_box(params.rules, blurred, extent);

    const math::FrameBounds<Pack> frame{Pack(params.rules.near_plane), Pack(params.width),
                                        Pack(params.height)};
    const PackMask visible = math::visible(frame, projected, conic, blur, limit, box);
    store(projected.mean.x, out.x);
    store(projected.mean.y, out.y);
    store(projected.depth, out.depth);
    store(conic.inverse.xx, out.conic_xx);
    store(conic.inverse.xy, out.conic_xy);
    store(conic.inverse.yy, out.conic_yy);
    // The second row of the factor comes from the covariance: the conic's own would cancel.
    const Pack half_log2e(0.5f * kLog2E), s = sqrt(half_log2e * conic.inverse.xx);
    store(s, out.s);
    store(half_log2e * conic.inverse.xy / s, out.r);
    store(sqrt(half_log2e / blurred.yy), out.w);
    store(-conic.inverse.xy / conic.inverse.xx, out.slope_x);
    store(-conic.inverse.xy / conic.inverse.yy, out.slope_y);
    store(Pack(kLog2E) * log_opacity, out.log2_opacity);
    store(limit, out.limit);
    store(extent.x, out.extent_x);
    store(extent.y, out.extent_y);
    store(box.x, out.box_x);
    store(box.y, out.box_y);
    out.mask = bits_of(visible);
    if (params.clipped)
        out.mask &= bits_of(math::inside(vec3_of(params.clip.lo), vec3_of(params.clip.hi),
                                         plane3(geometry, kMeans)));
    if (lanes < kBlock) out.mask &= (1u << lanes) - 1u;
}

/// Gradients of the SH coefficients into `out`, and of the mean through the view direction as the
/// result.
inline Vec3<Pack> shade_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
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

inline void store_masked(Pack x, PackMask m, float* to) { store(select(m, x, Pack(0.0f)), to); }

/// Sums over the lanes of SceneMotion's parts. `direct`: of the mean, all but what reaches it
/// through the colour; `whole`: all.
inline void sum_motion(const ProjectParams& params, BlockView geometry, Quat<Pack> v_quat,
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
inline void through_camera_backward(const Camera& camera, const ProjectParams& params,
                                    BlockView geometry, BlockView sh, const SplatGradients& in,
                                    std::uint32_t mask, BlockGradients& out) {
    const Pack half(0.5f), zero(0.0f), blur(params.blur);
    const PackMask active = mask_from_bits(mask);
    Pack v[10];
    for (int row = 0; row < 10; ++row) v[row] = load(in.v[row]);
    const Vec3<Pack> mean = plane3(geometry, kMeans),
                     scale = scale_at(geometry, params.scale_modifier);
    const Quat<Pack> quat = quat_at(geometry);
    const auto forward = math::trace(camera, mean, scale, quat);
    const math::Projection<Pack>& projected = forward.projection;
    const auto conic = math::conic_of(projected.cov, projected.det, blur);
    const Pack opacity = math::sigmoid(plane(geometry, kOpacityLogits));

    // ln alpha = ln opacity - 0.5 (xx dx^2 + yy dy^2) - xy dx dy, d = pixel - mean.
    const Vec2<Pack> v_mean2d{conic.inverse.xx * v[1] + conic.inverse.xy * v[2],
                              conic.inverse.xy * v[1] + conic.inverse.yy * v[2]};
    const Sym2<Pack> v_conic{-half * v[3], -v[4], -half * v[5]};
    const Pack v_compensation = params.antialiased ? v[0] / conic.compensation : zero;
    const Sym2<Pack> v_cov =
        math::conic_of_vjp(projected.cov, projected.det, blur, v_conic, v_compensation);
    auto g = math::trace_vjp(camera, forward, mean, scale, quat, v_mean2d, v_cov, v[9]);
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
    const Pack ln2(0.69314718f);
    const Vec2<Pack> told =
        params.absolute ? Vec2<Pack>{ln2 * load(in.v[10]), ln2 * load(in.v[11])} : v_mean2d;
    store_masked(told.x, active, out.mean2d[0]);
    store_masked(told.y, active, out.mean2d[1]);
    const Pack largest = max(projected.cov.xx, projected.cov.yy) + blur;
    store_masked(Pack(3.0f) * sqrt(largest), active, out.radius_px);
}

}  // namespace gs::cpu
