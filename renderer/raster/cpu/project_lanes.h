// A block of 16 Gaussians as the mathematics takes it, for projection (project.cpp) and its
// backward (project_backward.cpp): planes, camera and view rays on packs. Like Pack itself, it
// takes on the instruction set of the kernel it is flattened into.
#pragma once

#include "renderer/math/sh.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/pack.h"

namespace gs::cpu {

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

}  // namespace gs::cpu
