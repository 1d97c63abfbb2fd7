// Real spherical harmonics to degree 3 in the order and signs of 3DGS files, and the colour they
// give. Source: Kerbl et al. 2023 (constants as in every trainer since; sh_bases.npz checks them).
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"

namespace gs::math {

inline constexpr float kSh0Basis = 0.28209479177387814f;

/// basis[0 .. (degree + 1)^2 - 1] in direction `d` (length 1).
template <class T>
GS_HD void sh_basis(int degree, Vec3<T> d, T* basis) {
    basis[0] = T(kSh0Basis);
    if (degree < 1) return;
    const T c1 = T(0.4886025119029199f);
    basis[1] = -c1 * d.y;
    basis[2] = c1 * d.z;
    basis[3] = -c1 * d.x;
    if (degree < 2) return;
    const T xx = d.x * d.x, yy = d.y * d.y, zz = d.z * d.z, xy = d.x * d.y, yz = d.y * d.z,
            xz = d.x * d.z;
    basis[4] = T(1.0925484305920792f) * xy;
    basis[5] = T(-1.0925484305920792f) * yz;
    basis[6] = T(0.31539156525205005f) * (T(2.0f) * zz - xx - yy);
    basis[7] = T(-1.0925484305920792f) * xz;
    basis[8] = T(0.5462742152960396f) * (xx - yy);
    if (degree < 3) return;
    basis[9] = T(-0.5900435899266435f) * d.y * (T(3.0f) * xx - yy);
    basis[10] = T(2.890611442640554f) * xy * d.z;
    basis[11] = T(-0.4570457994644658f) * d.y * (T(4.0f) * zz - xx - yy);
    basis[12] = T(0.3731763325901154f) * d.z * (T(2.0f) * zz - T(3.0f) * xx - T(3.0f) * yy);
    basis[13] = T(-0.4570457994644658f) * d.x * (T(4.0f) * zz - xx - yy);
    basis[14] = T(1.445305721320277f) * d.z * (xx - yy);
    basis[15] = T(-0.5900435899266435f) * d.x * (xx - T(3.0f) * yy);
}

/// Gradient with respect to `d` of sum_k v_basis[k] * basis[k](d).
template <class T>
GS_HD Vec3<T> sh_basis_vjp(int degree, Vec3<T> d, const T* v_basis) {
    Vec3<T> v{T(0.0f), T(0.0f), T(0.0f)};
    if (degree < 1) return v;
    const T c1 = T(0.4886025119029199f);
    v = {-c1 * v_basis[3], -c1 * v_basis[1], c1 * v_basis[2]};
    if (degree < 2) return v;
    const T x = d.x, y = d.y, z = d.z;
    {
        const T a = T(1.0925484305920792f), b = T(0.31539156525205005f) * v_basis[6],
                c = T(0.5462742152960396f) * v_basis[8];
        const T v4 = a * v_basis[4], v5 = -a * v_basis[5], v7 = -a * v_basis[7], two = T(2.0f);
        v.x = v.x + v4 * y + v7 * z - two * b * x + two * c * x;
        v.y = v.y + v4 * x + v5 * z - two * b * y - two * c * y;
        v.z = v.z + v5 * y + v7 * x + T(4.0f) * b * z;
    }
    if (degree < 3) return v;
    const T xx = x * x, yy = y * y, zz = z * z, xy = x * y, yz = y * z, xz = x * z;
    const T two = T(2.0f), three = T(3.0f), four = T(4.0f), six = T(6.0f), eight = T(8.0f);
    const T v9 = T(-0.5900435899266435f) * v_basis[9], v10 = T(2.890611442640554f) * v_basis[10];
    const T v11 = T(-0.4570457994644658f) * v_basis[11], v12 = T(0.3731763325901154f) * v_basis[12];
    const T v13 = T(-0.4570457994644658f) * v_basis[13], v14 = T(1.445305721320277f) * v_basis[14];
    const T v15 = T(-0.5900435899266435f) * v_basis[15];
    v.x = v.x + six * xy * v9 + yz * v10 - two * xy * v11 - six * xz * v12 +
          (four * zz - three * xx - yy) * v13 + two * xz * v14 + three * (xx - yy) * v15;
    v.y = v.y + three * (xx - yy) * v9 + xz * v10 + (four * zz - xx - three * yy) * v11 -
          six * yz * v12 - two * xy * v13 - two * yz * v14 - six * xy * v15;
    v.z = v.z + xy * v10 + eight * yz * v11 + (six * zz - three * xx - three * yy) * v12 +
          eight * xz * v13 + (xx - yy) * v14;
    return v;
}

/// v / |v|.
template <class T>
GS_HD Vec3<T> normalize(Vec3<T> v) {
    return (T(1.0f) / sqrt(dot(v, v))) * v;
}
/// Gradient with respect to v of normalize(v).
template <class T>
GS_HD Vec3<T> normalize_vjp(Vec3<T> v, Vec3<T> v_out) {
    const T inverse = T(1.0f) / sqrt(dot(v, v));
    const Vec3<T> unit = inverse * v;
    return inverse * (v_out - dot(unit, v_out) * unit);
}

}  // namespace gs::math
