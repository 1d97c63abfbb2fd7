// Small symmetric matrices in double: eigenvectors, and the inverse root that makes coordinates in
// which every direction counts alike. Host only; used by what learns poses, and for
// the shapes of Gaussians.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace gs::math {

template <std::size_t N>
using Row = std::array<double, N>;
template <std::size_t N>
using Square = std::array<Row<N>, N>;

template <std::size_t N>
Row<N> times(const Square<N>& a, const Row<N>& v) {
    Row<N> out{};
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < N; ++j) out[i] += a[i][j] * v[j];
    return out;
}
template <std::size_t N>
Row<N> times_transposed(const Square<N>& a, const Row<N>& v) {
    Row<N> out{};
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < N; ++j) out[i] += a[j][i] * v[j];
    return out;
}

/// One rotation of Jacobi's method: a[p][q] becomes 0, v follows.
template <std::size_t N>
void rotate_away(Square<N>& a, Square<N>& v, std::size_t p, std::size_t q) {
    const double ratio = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    const double t = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::sqrt(ratio * ratio + 1));
    const double c = 1 / std::sqrt(t * t + 1), s = t * c;
    for (std::size_t k = 0; k < N; ++k) {
        const double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (std::size_t k = 0; k < N; ++k) {
        const double x = a[p][k], y = a[q][k], e = v[k][p], f = v[k][q];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
        v[k][p] = c * e - s * f;
        v[k][q] = s * e + c * f;
    }
}
/// By Jacobi's rotations: `a` becomes its eigenvalues on the diagonal, the columns of the result
/// are its eigenvectors.
template <std::size_t N>
Square<N> diagonalise(Square<N>& a) {
    Square<N> v{};
    for (std::size_t i = 0; i < N; ++i) v[i][i] = 1;
    for (int sweep = 0; sweep < 30; ++sweep)
        for (std::size_t p = 0; p < N; ++p)
            for (std::size_t q = p + 1; q < N; ++q)
                if (a[p][q] != 0) rotate_away(a, v, p, q);
    return v;
}

/// A matrix p with p p^T the inverse of a + `damping` diag(a), `a` symmetric and not negative: what
/// is added keeps directions that hardly show from going far by chance. Rows and columns whose
/// diagonal is not above zero stay out: zero in the result.
template <std::size_t N>
Square<N> inverse_root(const Square<N>& a, double damping) {
    Row<N> alone{};
    for (std::size_t i = 0; i < N; ++i)
        alone[i] = a[i][i] > 0 && std::isfinite(a[i][i]) ? 1 / std::sqrt(a[i][i]) : 0;
    Square<N> scaled = a;
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < N; ++j)
            scaled[i][j] = alone[i] * alone[j] == 0 ? 0.0 : a[i][j] * alone[i] * alone[j];
    const Square<N> v = diagonalise(scaled);
    Square<N> out{};
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < N; ++j)
            for (std::size_t k = 0; k < N; ++k)
                out[i][j] += alone[i] * v[i][k] * v[j][k] / std::sqrt(scaled[k][k] + damping);
    return out;
}

}  // namespace gs::math
