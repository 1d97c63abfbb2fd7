// The sky behind a pixel: in which direction it is seen, and its colour there. Host and device; the
// CPU and the kernels draw with it (renderer/raster/sky.h, raster/cuda/sky.cu).
#pragma once

#include "renderer/math/project.h"
#include "renderer/math/project_lens.h"
#include "renderer/math/sh.h"

namespace gs::math {

/// Sum of coefficients x bases above mid grey, not yet cut off at 0. `sh` [basis][3].
template <class T, class S>
GS_HD void sky_color(int degree, const S* sh, const T* basis, T* rgb) {
    for (int c = 0; c < 3; ++c) rgb[c] = T(0.5f);
    for (int k = 0; k < (degree + 1) * (degree + 1); ++k)
        for (int c = 0; c < 3; ++c) rgb[c] = rgb[c] + basis[k] * T(sh[3 * k + c]);
}

/// From where the light of a place of the picture (px) comes, in the world, of length 1.
template <class T>
GS_HD Vec3<T> direction_seen(const Pinhole<T>& c, Vec2<T> uv) {
    const Vec3<T> slope{c.w_from_z * (uv.x - c.cx) / c.fx, c.w_from_z * (uv.y - c.cy) / c.fy,
                        T(1.0f)};
    return transpose(c.rotation) * normalize(slope);
}
/// The same, zero where the lens sees nothing.
template <class T>
GS_HD Vec3<T> direction_seen(const LensCamera<T>& c, Vec2<T> uv) {
    const Ray<T> ray = lens_ray(c.lens, uv);
    if (!ray.valid) return {T(0.0f), T(0.0f), T(0.0f)};
    const Vec3<T> at_half =
        c.shutter.on ? turned(c.shutter, -moment_of(c.shutter, uv), ray.direction) : ray.direction;
    return transpose(c.rotation) * at_half;
}

}  // namespace gs::math
