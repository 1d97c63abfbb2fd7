// A camera of flat arrays (tensor_ops.h) as renderer/math takes it: tensor_entry.h sends Gaussians
// through it, cpu/tensor_rays.cpp sends rays out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "renderer/math/project_lens.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {

/// In double. Depth is camera z.
using View = math::LensCamera<double>;

/// gsplat's limit of a fisheye: no farther from the axis than the farthest corner is of an
/// undistorted one, and in front.
GS_HD inline double widest_fisheye(const math::Lens<double>& c, int width, int height) {
    constexpr double kQuarterTurn = 1.57079632679489662;
    const double x = std::max(width - c.cx, c.cx), y = std::max(height - c.cy, c.cy),
                 corner = std::sqrt(x * x + y * y);
    return std::min(kQuarterTurn, std::max(corner / c.fx, corner / c.fy));
}
/// What `viewmats` and `Ks` say, to a camera that has the rest. `bounded`: with the bounds of EWA's
/// slopes, as make_pinhole; else without any.
GS_HD inline void place_view(const CameraInput& in, std::size_t view, bool bounded, View& to) {
    const float *m = in.viewmats + 16 * view, *k = in.Ks + 9 * view;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) to.rotation.m[i][j] = m[4 * i + j];
    to.translation = {m[3], m[7], m[11]};
    math::Lens<double>& lens = to.lens;
    lens.fx = k[0], lens.fy = k[4], lens.cx = k[2], lens.cy = k[5];
    if (in.model == CameraModel::ftheta) {
        // gsplat's polynomials are of pixels, and its principal point is from a pixel's centre.
        lens.fx = lens.fy = 1;
        lens.cx += 0.5, lens.cy += 0.5;
    }
    if (in.model == CameraModel::opencv_fisheye) {
        const double widest = widest_fisheye(lens, in.width, in.height);
        lens.limit_squared = std::min(lens.limit_squared, widest * widest);
    }
    if (!bounded) return;
    const double margin_x = 0.15 * in.width / lens.fx, margin_y = 0.15 * in.height / lens.fy;
    lens.a_lo = -lens.cx / lens.fx - margin_x;
    lens.a_hi = (in.width - lens.cx) / lens.fx + margin_x;
    lens.b_lo = -lens.cy / lens.fy - margin_y;
    lens.b_hi = (in.height - lens.cy) / lens.fy + margin_y;
}

/// The rest: the lens by model and distortion. Reads nothing else.
View bare_view(const CameraInput& in, std::size_t view);
/// All of it, and the shutter. `bounded`: see place_view().
View view_of(const CameraInput& in, std::size_t view, bool bounded);
std::vector<View> views_of(const CameraInput& in, std::size_t count, bool bounded);

/// Of a place of the picture (px), when it is read. World axes.
CameraRay ray_of(const View& view, Vec2<double> uv);

}  // namespace gs::tensor
