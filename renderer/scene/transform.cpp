#include "renderer/scene/transform.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "renderer/math/sh.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/covariance.h"

namespace gs {
namespace {

constexpr std::size_t kGrain = 4096;
constexpr Mat3d kIdentity{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

// The nearest orthogonal matrix: Newton's iteration of the polar decomposition. Singular input
// gives the identity.
Mat3d nearest_orthogonal(Mat3d a) {
    for (int step = 0; step < 60; ++step) {
        const double d = determinant(a);
        if (!(std::abs(d) > 1e-300)) return kIdentity;
        Mat3d next;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                const double cofactor = a.m[i1][j1] * a.m[i2][j2] - a.m[i1][j2] * a.m[i2][j1];
                next.m[i][j] = 0.5 * (a.m[i][j] + cofactor / d);
            }
        a = next;
    }
    return a;
}

// x with a x = b for `columns` right sides, by elimination; a [n][n], b [n][columns], destroyed.
void solve(std::vector<double>& a, std::vector<double>& b, int n, int columns) {
    const auto at = [](int row, int column, int width) {
        return static_cast<std::size_t>(row * width + column);
    };
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int r = k + 1; r < n; ++r)
            if (std::abs(a[at(r, k, n)]) > std::abs(a[at(pivot, k, n)])) pivot = r;
        for (int c = 0; c < n; ++c) std::swap(a[at(k, c, n)], a[at(pivot, c, n)]);
        for (int c = 0; c < columns; ++c) std::swap(b[at(k, c, columns)], b[at(pivot, c, columns)]);
        for (int r = 0; r < n; ++r) {
            if (r == k) continue;
            const double factor = a[at(r, k, n)] / a[at(k, k, n)];
            for (int c = k; c < n; ++c) a[at(r, c, n)] -= factor * a[at(k, c, n)];
            for (int c = 0; c < columns; ++c) b[at(r, c, columns)] -= factor * b[at(k, c, columns)];
        }
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < columns; ++c) b[at(r, c, columns)] /= a[at(r, r, n)];
}

// Directions spread evenly over the sphere (a Fibonacci spiral).
Vec3d direction(int i, int n) {
    const double z = 1 - (2.0 * i + 1) / n, r = std::sqrt(1 - z * z), angle = i * 2.399963229728653;
    return {r * std::cos(angle), r * std::sin(angle), z};
}

struct Parts {
    Mat3d rotation;  // orthogonal
    double scale;    // of a similarity
    bool similar;    // linear = scale * rotation, not mirrored
};
Parts parts_of(const Mat3d& linear) {
    Parts out{nearest_orthogonal(linear), std::cbrt(std::abs(determinant(linear))),
              determinant(linear) > 0};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            out.similar =
                out.similar &&
                std::abs(linear.m[i][j] - out.scale * out.rotation.m[i][j]) <= 1e-6 * out.scale;
    return out;
}

// The covariance goes through the linear part and is taken apart again.
void reshape(GaussianModel& model, std::size_t i, const Mat3d& linear) {
    Mat3d shape = linear * rotation_from_quat(quat_of(model, i));
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            shape.m[r][c] *= std::exp(static_cast<double>(model.at(kLogScales + c, i)));
    set_covariance(model, i, shape * transpose(shape));
}

void turn_harmonics(GaussianModel& model, std::size_t i,
                    const std::vector<std::vector<double>>& matrices) {
    for (int degree = 1, first = 0; degree <= model.sh_degree; first += 2 * degree + 1, ++degree) {
        const int n = 2 * degree + 1;
        const std::vector<double>& m = matrices[static_cast<std::size_t>(degree - 1)];
        for (int channel = 0; channel < 3; ++channel) {
            double in[7];
            for (int k = 0; k < n; ++k) in[k] = model.at(kShRest + 3 * (first + k) + channel, i);
            for (int r = 0; r < n; ++r) {
                double sum = 0;
                for (int k = 0; k < n; ++k) sum += m[static_cast<std::size_t>(r * n + k)] * in[k];
                model.at(kShRest + 3 * (first + r) + channel, i) = static_cast<float>(sum);
            }
        }
    }
}

}  // namespace

Affine operator*(const Affine& a, const Affine& b) {
    return {a.linear * b.linear, a.linear * b.translation + a.translation};
}

std::vector<std::vector<double>> sh_rotation(const Mat3d& rotation) {
    constexpr int kDirections = 32;
    std::vector<std::vector<double>> out;
    for (int degree = 1; degree <= 3; ++degree) {
        const int n = 2 * degree + 1, first = degree * degree;
        // Least squares over the directions: (Y^T Y) A = Y^T Y', with Y' the bases seen from the
        // old direction.
        std::vector<double> normal(static_cast<std::size_t>(n * n), 0.0), right(normal);
        for (int i = 0; i < kDirections; ++i) {
            const Vec3d d = direction(i, kDirections);
            double now[16], before[16];
            math::sh_basis(3, d, now);
            math::sh_basis(3, transpose(rotation) * d, before);
            for (int r = 0; r < n; ++r)
                for (int c = 0; c < n; ++c) {
                    normal[static_cast<std::size_t>(r * n + c)] += now[first + r] * now[first + c];
                    right[static_cast<std::size_t>(r * n + c)] +=
                        now[first + r] * before[first + c];
                }
        }
        solve(normal, right, n, n);
        out.push_back(std::move(right));
    }
    return out;
}

void transform_rows(GaussianModel& model, std::size_t first, std::size_t count,
                    const Affine& affine) {
    if (count == 0) return;
    const Parts parts = parts_of(affine.linear);
    const auto matrices = sh_rotation(parts.rotation);
    const Quatd turn = parts.similar ? quat_from_rotation(parts.rotation) : Quatd{1, 0, 0, 0};
    const auto growth = static_cast<float>(std::log(parts.scale));
    parallel_for(count, kGrain, [&](std::size_t r) {
        const std::size_t i = first + r;
        const Vec3f p = model.mean(i);
        const Vec3d moved = affine.linear * Vec3d{p.x, p.y, p.z} + affine.translation;
        model.at(kMeans, i) = static_cast<float>(moved.x);
        model.at(kMeans + 1, i) = static_cast<float>(moved.y);
        model.at(kMeans + 2, i) = static_cast<float>(moved.z);
        if (parts.similar) {
            set_quat(model, i, product(turn, quat_of(model, i)));
            for (int c = 0; c < 3; ++c) model.at(kLogScales + c, i) += growth;
        } else {
            reshape(model, i, affine.linear);
        }
        turn_harmonics(model, i, matrices);
    });
}

Sky turned(const Sky& sky, const Mat3d& linear) {
    // As the colour of one Gaussian.
    GaussianModel one(1, 3);
    for (int n = 0; n < Sky::kNumbers; ++n)
        one.at(kSh0 + n, 0) = sky.sh[static_cast<std::size_t>(n)];
    transform_rows(one, 0, 1, {linear, {}});
    Sky out{.degree = sky.degree};
    for (int n = 0; n < 3 * sh_bases(sky.degree); ++n)
        out.sh[static_cast<std::size_t>(n)] = one.at(kSh0 + n, 0);
    return out;
}

}  // namespace gs
