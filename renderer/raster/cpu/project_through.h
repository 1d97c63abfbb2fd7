// A block of 16 Gaussians through a camera, and back, a pack at a time: what the kernels of
// project.cpp and project_backward.cpp are made of. Camera: math::Pinhole, LensCamera or
// UnscentedCamera. Included once per instruction set, as pack.h is.
#if defined(GS_RASTER_CPU_PROJECT_THROUGH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_PROJECT_THROUGH_H_
#undef GS_RASTER_CPU_PROJECT_THROUGH_H_
#else
#define GS_RASTER_CPU_PROJECT_THROUGH_H_
#endif

#include "renderer/math/lens_intrinsics.h"
#include "renderer/math/sh.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/pack.h"
#include "renderer/raster/tile_cover.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// The block from its lane `first` on.
inline BlockView lanes_from(BlockView block, std::size_t first) {
    block.planes += first;
    return block;
}
inline Pack plane(BlockView view, int p) {
    return load(view.planes + static_cast<std::size_t>(p) * view.stride);
}
inline Vec3<Pack> plane3(BlockView view, int p) {
    return {plane(view, p), plane(view, p + 1), plane(view, p + 2)};
}
inline Quat<Pack> quat_at(BlockView view) {
    return {plane(view, kQuats), plane(view, kQuats + 1), plane(view, kQuats + 2),
            plane(view, kQuats + 3)};
}
inline Vec3<Pack> scale_at(BlockView view, float modifier) {
    const Vec3<Pack> log_scale = plane3(view, kLogScales);
    return Pack(modifier) * Vec3<Pack>{exp(log_scale.x), exp(log_scale.y), exp(log_scale.z)};
}
inline Vec3<Pack> vec3_of(Vec3f v) { return {Pack(v.x), Pack(v.y), Pack(v.z)}; }
inline math::Pinhole<Pack> broadcast(const math::Pinhole<float>& c) {
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
    out.w_from_z = Pack(c.w_from_z);
    out.w_constant = Pack(c.w_constant);
    return out;
}

/// Along which the means are seen.
inline Vec3<Pack> view_ray(const ProjectParams& params, BlockView geometry) {
    return Pack(params.camera.w_from_z) * plane3(geometry, kMeans) - vec3_of(params.ray_origin);
}
/// Colour before the clamp at zero.
inline Vec3<Pack> raw_color(int degree, const Pack* basis, BlockView sh) {
    Vec3<Pack> color{Pack(0.5f), Pack(0.5f), Pack(0.5f)};
    for (int k = 0; k < sh_bases(degree); ++k) color += basis[k] * plane3(sh, 3 * k);
    return color;
}

/// The block's lanes `first` to first + kPack; `geometry` begins at the first of them.
template <class Camera>
inline void project_pack(const Camera& camera, const ProjectParams& params, BlockView geometry,
                         std::size_t first, ProjectedBlock& out) {
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
    store(projected.mean.x, out.x + first);
    store(projected.mean.y, out.y + first);
    store(projected.depth, out.depth + first);
    store(conic.inverse.xx, out.conic_xx + first);
    store(conic.inverse.xy, out.conic_xy + first);
    store(conic.inverse.yy, out.conic_yy + first);
    // The second row of the factor comes from the covariance: the conic's own would cancel.
    const Pack half_log2e(0.5f * kLog2E), s = sqrt(half_log2e * conic.inverse.xx);
    store(s, out.s + first);
    store(half_log2e * conic.inverse.xy / s, out.r + first);
    store(sqrt(half_log2e / blurred.yy), out.w + first);
    store(-conic.inverse.xy / conic.inverse.xx, out.slope_x + first);
    store(-conic.inverse.xy / conic.inverse.yy, out.slope_y + first);
    store(Pack(kLog2E) * log_opacity, out.log2_opacity + first);
    store(limit, out.limit + first);
    store(extent.x, out.extent_x + first);
    store(extent.y, out.extent_y + first);
    store(box.x, out.box_x + first);
    store(box.y, out.box_y + first);
    std::uint32_t mask = bits_of(visible);
    if (params.clipped)
        mask &= bits_of(math::inside(vec3_of(params.clip.lo), vec3_of(params.clip.hi),
                                     plane3(geometry, kMeans)));
    out.mask |= mask << first;
}
template <class Camera>
inline void project_through(const Camera& camera, const ProjectParams& params, BlockView geometry,
                            std::size_t lanes, ProjectedBlock& out) {
    out.mask = 0;
    for (std::size_t first = 0; first < kBlock; first += kPack)
        project_pack(camera, params, lanes_from(geometry, first), first, out);
    if (lanes < kBlock) out.mask &= (1u << lanes) - 1u;
}

/// Gradients of the SH coefficients into `out`, and of the mean through the view direction as the
/// result.
inline Vec3<Pack> shade_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
                                 Vec3<Pack> v_color, PackMask active, std::size_t first,
                                 BlockGradients& out) {
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
        store(basis[k] * v_color.x, out.planes[kSh0 + 3 * k] + first);
        store(basis[k] * v_color.y, out.planes[kSh0 + 3 * k + 1] + first);
        store(basis[k] * v_color.z, out.planes[kSh0 + 3 * k + 2] + first);
    }
    return math::normalize_vjp(ray, math::sh_basis_vjp(params.sh_degree, direction, v_basis));
}

inline void store_masked(Pack x, PackMask m, float* to) { store(select(m, x, Pack(0.0f)), to); }

/// Adds the lanes of each part, in their order.
template <int N>
inline void add_lanes(const Pack (&parts)[N], PackMask active, float* out) {
    for (int i = 0; i < N; ++i) {
        alignas(kPackBytes) float lanes[kPack];
        store_masked(parts[i], active, lanes);
        for (const float lane : lanes) out[i] += lane;
    }
}
/// Of SceneMotion. `direct`: of the mean, all but what
/// reaches it through the colour; `whole`: all.
inline void sum_motion(const ProjectParams& params, BlockView geometry, Quat<Pack> v_quat,
                       Vec3<Pack> direct, Vec3<Pack> whole, PackMask active, float* out) {
    const Vec3<Pack> turn =
        cross(view_ray(params, geometry), direct) + math::quat_turn_vjp(quat_at(geometry), v_quat);
    const Pack parts[6] = {turn.x, turn.y, turn.z, whole.x, whole.y, whole.z};
    add_lanes(parts, active, out);
}

/// The block's lanes `first` to first + kPack; `geometry` and `sh` begin at the first of them.
template <class Camera>
inline void pack_backward(const Camera& camera, const ProjectParams& params, BlockView geometry,
                          BlockView sh, const SplatGradients& in, std::uint32_t mask,
                          std::size_t first, BlockGradients& out) {
    const Pack half(0.5f), zero(0.0f), blur(params.blur);
    const PackMask active = mask_from_bits(mask >> first);
    Pack v[10];
    for (int row = 0; row < 10; ++row) v[row] = load(in.v[row] + first);
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
    g.mean += shade_backward(params, geometry, sh, {v[6], v[7], v[8]}, active, first, out);
    if (params.motion) sum_motion(params, geometry, g.quat, direct, g.mean, active, out.motion);
    if constexpr (requires {
                      math::intrinsics_vjp(camera, projected, scale, quat, v_mean2d, v_cov);
                  })
        if (params.intrinsics)
            add_lanes(math::intrinsics_vjp(camera, projected, scale, quat, v_mean2d, v_cov).v,
                      active, out.intrinsics);

    store_masked(g.mean.x, active, out.planes[kMeans] + first);
    store_masked(g.mean.y, active, out.planes[kMeans + 1] + first);
    store_masked(g.mean.z, active, out.planes[kMeans + 2] + first);
    store_masked(g.scale.x * scale.x, active, out.planes[kLogScales] + first);
    store_masked(g.scale.y * scale.y, active, out.planes[kLogScales + 1] + first);
    store_masked(g.scale.z * scale.z, active, out.planes[kLogScales + 2] + first);
    store_masked(g.quat.w, active, out.planes[kQuats] + first);
    store_masked(g.quat.x, active, out.planes[kQuats + 1] + first);
    store_masked(g.quat.y, active, out.planes[kQuats + 2] + first);
    store_masked(g.quat.z, active, out.planes[kQuats + 3] + first);
    store_masked(v[0] * (Pack(1.0f) - opacity), active, out.planes[kOpacityLogits] + first);
    const Pack ln2(0.69314718f);
    const Vec2<Pack> v_shown =
        params.absolute ? Vec2<Pack>{ln2 * load(in.v[10] + first), ln2 * load(in.v[11] + first)}
                        : v_mean2d;
    store_masked(v_shown.x, active, out.mean2d[0] + first);
    store_masked(v_shown.y, active, out.mean2d[1] + first);
    const Pack largest = max(projected.cov.xx, projected.cov.yy) + blur;
    store_masked(Pack(3.0f) * sqrt(largest), active, out.radius_px + first);
}

template <class Camera>
inline void through_camera_backward(const Camera& camera, const ProjectParams& params,
                                    BlockView geometry, BlockView sh, const SplatGradients& in,
                                    std::uint32_t mask, BlockGradients& out) {
    if (params.motion) std::fill(std::begin(out.motion), std::end(out.motion), 0.0f);
    if (params.intrinsics) std::fill(std::begin(out.intrinsics), std::end(out.intrinsics), 0.0f);
    for (std::size_t first = 0; first < kBlock; first += kPack)
        pack_backward(camera, params, lanes_from(geometry, first), lanes_from(sh, first), in, mask,
                      first, out);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
