// Jet: a number with its first and second derivatives by three inputs. The oracle runs a lens's
// formula on it, and so owns its derivatives: none is written out by hand. Has the operations of
// math/scalar.h that lenses use, found by argument.
#pragma once

#include <cmath>

namespace gs::reference {

struct Jet {
    double value = 0, slope[3] = {}, bend[3][3] = {};

    Jet() = default;
    Jet(double v) : value(v) {}  // implicit: constants have no slope
    /// Input number `axis` at `v`.
    static Jet input(double v, int axis) {
        Jet j(v);
        j.slope[axis] = 1;
        return j;
    }
};

/// f(a) of f's value and first two derivatives at a.value.
inline Jet through(const Jet& a, double f, double f1, double f2) {
    Jet out(f);
    for (int i = 0; i < 3; ++i) {
        out.slope[i] = f1 * a.slope[i];
        for (int j = 0; j < 3; ++j)
            out.bend[i][j] = f1 * a.bend[i][j] + f2 * a.slope[i] * a.slope[j];
    }
    return out;
}
/// x a + y b + constant part `value`.
inline Jet combined(double value, double x, const Jet& a, double y, const Jet& b) {
    Jet out(value);
    for (int i = 0; i < 3; ++i) {
        out.slope[i] = x * a.slope[i] + y * b.slope[i];
        for (int j = 0; j < 3; ++j) out.bend[i][j] = x * a.bend[i][j] + y * b.bend[i][j];
    }
    return out;
}
inline Jet operator+(const Jet& a, const Jet& b) { return combined(a.value + b.value, 1, a, 1, b); }
inline Jet operator-(const Jet& a, const Jet& b) {
    return combined(a.value - b.value, 1, a, -1, b);
}
inline Jet operator-(const Jet& a) { return combined(-a.value, -1, a, 0, a); }
inline Jet operator*(const Jet& a, const Jet& b) {
    Jet out = combined(a.value * b.value, b.value, a, a.value, b);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            out.bend[i][j] += a.slope[i] * b.slope[j] + a.slope[j] * b.slope[i];
    return out;
}
inline Jet operator/(const Jet& a, const Jet& b) {
    const double v = 1 / b.value;
    return a * through(b, v, -v * v, 2 * v * v * v);
}
inline bool operator<(const Jet& a, const Jet& b) { return a.value < b.value; }
inline bool operator>(const Jet& a, const Jet& b) { return a.value > b.value; }
inline bool operator<=(const Jet& a, const Jet& b) { return a.value <= b.value; }
inline bool operator>=(const Jet& a, const Jet& b) { return a.value >= b.value; }
inline Jet select(bool m, const Jet& a, const Jet& b) { return m ? a : b; }
inline Jet min(const Jet& a, const Jet& b) { return a < b ? a : b; }
inline Jet max(const Jet& a, const Jet& b) { return a > b ? a : b; }
inline Jet sqrt(const Jet& a) {
    const double r = std::sqrt(a.value);
    return through(a, r, 0.5 / r, -0.25 / (r * a.value));
}
inline Jet sin(const Jet& a) {
    const double s = std::sin(a.value);
    return through(a, s, std::cos(a.value), -s);
}
inline Jet cos(const Jet& a) {
    const double c = std::cos(a.value);
    return through(a, c, -std::sin(a.value), -c);
}
/// The angle's slopes are those of (x dy - y dx) / (x^2 + y^2): of atan(y / x) or its other half.
inline Jet atan2(const Jet& y, const Jet& x) {
    const double angle = std::atan2(y.value, x.value);
    const bool flat = std::abs(y.value) <= std::abs(x.value);
    const Jet q = flat ? y / x : x / y;
    const double below = 1 / (1 + q.value * q.value), sign = flat ? 1 : -1;
    return through(q, angle, sign * below, -sign * 2 * q.value * below * below);
}

}  // namespace gs::reference
