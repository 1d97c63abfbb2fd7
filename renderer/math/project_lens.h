// A 3D Gaussian through any lens: what project.h does for pinholes, with the lens's own Jacobian
// (Zwicker et al. 2001 for any camera). Renderers take Pinhole or LensCamera as a template
// argument.
#pragma once

#include "renderer/math/lens.h"
#include "renderer/math/project.h"

namespace gs::math {

/// Camera constants, broadcast to the scalar type.
template <class T>
struct LensCamera {
    Mat3<T> rotation;  ///< camera_from_world
    Vec3<T> translation;
    Lens<T> lens;
};
template <class T, class S>
GS_HD LensCamera<T> lens_camera_cast(const LensCamera<S>& from) {
    const auto cast = [](S x) { return number<T>(static_cast<double>(x)); };
    LensCamera<T> to;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) to.rotation.m[i][j] = cast(from.rotation.m[i][j]);
    to.translation = {cast(from.translation.x), cast(from.translation.y), cast(from.translation.z)};
    to.lens = lens_cast<T>(from.lens);
    return to;
}

template <class T>
GS_HD Footprint<T> footprint(const LensCamera<T>& cam, Vec3<T> c, Vec2<T> at, Quat<T> quat) {
    const Jacobian<T> jacobian = lens_jacobian_at(cam.lens, c, at);
    Footprint<T> f;
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            f.a[i][k] = jacobian.j[i][0] * cam.rotation.m[0][k] +
                        jacobian.j[i][1] * cam.rotation.m[1][k] +
                        jacobian.j[i][2] * cam.rotation.m[2][k];
    set_factors(f, quat);
    return f;
}

/// Mean and 2D covariance, as project() of a pinhole. `depth` is what the lens has for it
/// (lens_depth), and -1 where the lens does not see the mean: behind any near plane.
template <class T>
GS_HD Projection<T> project(const LensCamera<T>& cam, Vec3<T> mean, Vec3<T> scale, Quat<T> quat) {
    Projection<T> out;
    out.camera = cam.rotation * mean + cam.translation;
    const OnPicture<T> on = lens_project(cam.lens, out.camera);
    out.mean = on.uv;
    out.depth = select(on.valid, lens_depth(cam.lens, out.camera), T(-1.0f));
    const Vec2<T> at = bounded_place(cam.lens, base_place(cam.lens.base, out.camera));
    set_covariance(out, footprint(cam, out.camera, at, quat), scale);
    return out;
}

/// As project_vjp() of a pinhole. `v_depth` is with respect to Projection::depth.
template <class T>
GS_HD ProjectionGradients<T> project_vjp(const LensCamera<T>& cam, Vec3<T> mean, Vec3<T> scale,
                                         Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov, T v_depth) {
    const Vec3<T> c = cam.rotation * mean + cam.translation;
    const Vec2<T> at = bounded_place(cam.lens, base_place(cam.lens.base, c));
    const FootprintGradients<T> v = covariance_vjp(footprint(cam, c, at, quat), scale, v_cov);
    T v_j[2][3];
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            v_j[i][k] = v.a[i][0] * cam.rotation.m[k][0] + v.a[i][1] * cam.rotation.m[k][1] +
                        v.a[i][2] * cam.rotation.m[k][2];
    Vec3<T> v_c = lens_vjp_at(cam.lens, c, at, v_mean2d, v_j);
    if (cam.lens.by_distance)
        v_c += (v_depth / sqrt(dot(c, c))) * c;
    else
        v_c.z = v_c.z + v_depth;
    return {transpose(cam.rotation) * v_c,
            {v.scale[0], v.scale[1], v.scale[2]},
            quat_to_rotation_vjp(quat, v.r)};
}

}  // namespace gs::math
