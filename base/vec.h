// Small vectors, matrices and quaternions on any scalar: float, double, dual numbers, SIMD lanes.
// Host and device.
#pragma once

#include "base/host_device.h"

namespace gs {

template <class T>
struct Vec2 {
    T x{}, y{};
};
template <class T>
struct Vec3 {
    T x{}, y{}, z{};
};
template <class T>
struct Vec4 {
    T x{}, y{}, z{}, w{};
};
/// Rotation or orientation, w first as in the field's files; not necessarily of length 1.
template <class T>
struct Quat {
    T w{}, x{}, y{}, z{};
};
/// Row-major: m[row][column].
template <class T>
struct Mat3 {
    T m[3][3]{};
};
/// Symmetric 2x2 (xx, xy, yy) and 3x3 matrices by their upper triangles.
template <class T>
struct Sym2 {
    T xx{}, xy{}, yy{};
};
template <class T>
struct Sym3 {
    T xx{}, xy{}, xz{}, yy{}, yz{}, zz{};
};

using Vec2f = Vec2<float>;
using Vec3f = Vec3<float>;
using Vec3d = Vec3<double>;
using Vec4f = Vec4<float>;
using Quatf = Quat<float>;
using Quatd = Quat<double>;
using Mat3f = Mat3<float>;
using Mat3d = Mat3<double>;

template <class T>
GS_HD Vec2<T> operator+(Vec2<T> a, Vec2<T> b) {
    return {a.x + b.x, a.y + b.y};
}
template <class T>
GS_HD Vec2<T> operator-(Vec2<T> a, Vec2<T> b) {
    return {a.x - b.x, a.y - b.y};
}
template <class T>
GS_HD Vec2<T> operator*(T s, Vec2<T> a) {
    return {s * a.x, s * a.y};
}
template <class T>
GS_HD Vec3<T> operator+(Vec3<T> a, Vec3<T> b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
GS_HD Vec3<T> operator-(Vec3<T> a, Vec3<T> b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
GS_HD Vec3<T> operator-(Vec3<T> a) {
    return {-a.x, -a.y, -a.z};
}
template <class T>
GS_HD Vec3<T> operator*(T s, Vec3<T> a) {
    return {s * a.x, s * a.y, s * a.z};
}
template <class T>
GS_HD Vec3<T>& operator+=(Vec3<T>& a, Vec3<T> b) {
    a.x = a.x + b.x;
    a.y = a.y + b.y;
    a.z = a.z + b.z;
    return a;
}
template <class T>
GS_HD T dot(Vec3<T> a, Vec3<T> b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
GS_HD Vec3<T> cross(Vec3<T> a, Vec3<T> b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T>
GS_HD Vec3<T> operator*(const Mat3<T>& a, Vec3<T> v) {
    return {a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
            a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
            a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z};
}
template <class T>
GS_HD Mat3<T> operator*(const Mat3<T>& a, const Mat3<T>& b) {
    Mat3<T> c;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            c.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return c;
}
template <class T>
GS_HD Mat3<T> transpose(const Mat3<T>& a) {
    Mat3<T> t;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) t.m[i][j] = a.m[j][i];
    return t;
}

}  // namespace gs
