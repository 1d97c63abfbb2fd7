// Dual: a value and its derivative with respect to one chosen input. Running f on duals gives the
// exact directional derivative that f_vjp must agree with. Has every operation of math/scalar.h,
// found by argument.
#pragma once

#include <cmath>

namespace gs::test {

struct Dual {
    double value = 0, slope = 0;

    Dual() = default;
    Dual(double v) : value(v) {}  // implicit: constants have no slope
    Dual(double v, double s) : value(v), slope(s) {}

    Dual& operator+=(Dual b) { return *this = {value + b.value, slope + b.slope}; }
    Dual& operator-=(Dual b) { return *this = {value - b.value, slope - b.slope}; }
    Dual& operator*=(Dual b) {
        return *this = {value * b.value, slope * b.value + value * b.slope};
    }
    Dual& operator/=(Dual b) {
        return *this = {value / b.value, (slope * b.value - value * b.slope) / (b.value * b.value)};
    }
};

// clang-format off
inline Dual operator+(Dual a, Dual b) { return a += b; }
inline Dual operator-(Dual a, Dual b) { return a -= b; }
inline Dual operator*(Dual a, Dual b) { return a *= b; }
inline Dual operator/(Dual a, Dual b) { return a /= b; }
inline Dual operator-(Dual a) { return {-a.value, -a.slope}; }
inline Dual operator+(Dual a) { return a; }
inline bool operator<(Dual a, Dual b)  { return a.value < b.value; }
inline bool operator>(Dual a, Dual b)  { return a.value > b.value; }
inline bool operator<=(Dual a, Dual b) { return a.value <= b.value; }
inline bool operator>=(Dual a, Dual b) { return a.value >= b.value; }
inline bool operator==(Dual a, Dual b) { return a.value == b.value; }
inline bool operator!=(Dual a, Dual b) { return a.value != b.value; }

inline Dual select(bool m, Dual a, Dual b) { return m ? a : b; }
inline Dual min(Dual a, Dual b) { return a.value < b.value ? a : b; }
inline Dual max(Dual a, Dual b) { return a.value > b.value ? a : b; }
inline Dual abs(Dual a) { return a.value < 0 ? -a : a; }
inline Dual sqrt(Dual a) { const double r = std::sqrt(a.value); return {r, a.slope / (2 * r)}; }
inline Dual exp(Dual a)  { const double e = std::exp(a.value); return {e, a.slope * e}; }
inline Dual exp2(Dual a) { const double e = std::exp2(a.value); return {e, a.slope * e * 0.69314718055994530942}; }
inline Dual log(Dual a)  { return {std::log(a.value), a.slope / a.value}; }
inline Dual sin(Dual a)  { return {std::sin(a.value), a.slope * std::cos(a.value)}; }
inline Dual cos(Dual a)  { return {std::cos(a.value), -a.slope * std::sin(a.value)}; }
inline Dual atan2(Dual y, Dual x) { return {std::atan2(y.value, x.value), (y.slope * x.value - x.slope * y.value) / (x.value * x.value + y.value * y.value)}; }
inline Dual log2(Dual a) { return {std::log2(a.value), a.slope / (a.value * 0.69314718055994530942)}; }
// clang-format on

}  // namespace gs::test
