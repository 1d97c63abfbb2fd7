// The 3D filter of Mip-Splatting at one Gaussian: widened by f along every axis, and fainter by
// what that adds to its volume. trainer/adam/mip_filter.h says what f is and who draws through it.
// Source: Yu et al. 2024, equation 9.
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"

namespace gs::math {

/// (s / s')^2 of one axis, s' = sqrt(s^2 + f^2). 0, not NaN, where s is nothing beside f.
template <class T>
GS_HD T mip_share(T s, T f) {
    const T t = f / s;
    return T(1.0f) / (T(1.0f) + t * t);
}
/// The same from s', where s is no longer at hand: 1e-7 off, so 0 where s is nothing beside f.
template <class T>
GS_HD T mip_share_of_drawn(T drawn, T f) {
    const T t = f / drawn;
    return T(1.0f) - t * t;
}
template <class T>
GS_HD Vec3<T> mip_scale(Vec3<T> s, T f) {
    return {sqrt(s.x * s.x + f * f), sqrt(s.y * s.y + f * f), sqrt(s.z * s.z + f * f)};
}
/// o' / o = prod(s / s').
template <class T>
GS_HD T mip_kept(Vec3<T> s, T f) {
    return sqrt(mip_share(s.x, f)) * sqrt(mip_share(s.y, f)) * sqrt(mip_share(s.z, f));
}
/// d loss / d ln s of one axis, of those with respect to ln s' and ln o'.
template <class T>
GS_HD T mip_log_scale_vjp(T share, T v_log_scale, T v_log_opacity) {
    return v_log_scale * share + v_log_opacity * (T(1.0f) - share);
}

}  // namespace gs::math
