#include "renderer/edit/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/edit/row_change.h"
#include "renderer/math/scalar.h"
#include "renderer/math/sh.h"
#include "renderer/scene/covariance.h"
#include "renderer/scene/point_tree.h"

namespace gs {
namespace {

constexpr std::size_t kPartners = 8;         // neighbours that a row may merge with
constexpr std::size_t kLeastInAWave = 4096;  // merges between two looks at the costs
constexpr double kMostOpacity = 0.999;       // its logit is finite

/// What costs are reckoned from.
struct Blob {
    Vec3d mean, color;
    Mat3d covariance;
    double det = 0, opacity = 0, mass = 0;
    double seen = 0;  ///< weight by mass
};

double inverse_form(const Mat3d& s, double det, Vec3d d) {
    // d^T s^-1 d by cofactors; s symmetric.
    const double c00 = s.m[1][1] * s.m[2][2] - s.m[1][2] * s.m[1][2],
                 c01 = s.m[0][2] * s.m[1][2] - s.m[0][1] * s.m[2][2],
                 c02 = s.m[0][1] * s.m[1][2] - s.m[0][2] * s.m[1][1],
                 c11 = s.m[0][0] * s.m[2][2] - s.m[0][2] * s.m[0][2],
                 c12 = s.m[0][1] * s.m[0][2] - s.m[0][0] * s.m[1][2],
                 c22 = s.m[0][0] * s.m[1][1] - s.m[0][1] * s.m[0][1];
    return (c00 * d.x * d.x + c11 * d.y * d.y + c22 * d.z * d.z +
            2 * (c01 * d.x * d.y + c02 * d.x * d.z + c12 * d.y * d.z)) /
           det;
}
Mat3d sum(const Mat3d& a, const Mat3d& b) {
    Mat3d out = a;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) out.m[r][c] += b.m[r][c];
    return out;
}
/// Of the integral over space of the two fields' product.
double overlap(const Blob& a, const Blob& b) {
    const Mat3d s = sum(a.covariance, b.covariance);
    const double det = determinant(s);
    constexpr double kTwoPi = 2 * std::numbers::pi;
    if (!(det > 0)) return 0;
    return a.opacity * b.opacity * dot(a.color, b.color) * kTwoPi * std::sqrt(kTwoPi) *
           std::sqrt(a.det * b.det / det) * std::exp(-0.5 * inverse_form(s, det, a.mean - b.mean));
}

Vec3d scales_of(const Mat3d& covariance) {
    const ShapeAxes shape = axes_of(covariance);
    const double(&v)[3] = shape.variances;
    return {std::sqrt(std::max(v[0], 0.0)), std::sqrt(std::max(v[1], 0.0)),
            std::sqrt(std::max(v[2], 0.0))};
}

Blob blob_of(const GaussianModel& model, std::size_t i, double weight) {
    Blob out;
    const auto at = [&](int plane) { return static_cast<double>(model.at(plane, i)); };
    out.mean = {at(kMeans), at(kMeans + 1), at(kMeans + 2)};
    const double basis = static_cast<double>(math::kSh0Basis);
    out.color = {0.5 + basis * at(kSh0), 0.5 + basis * at(kSh0 + 1), 0.5 + basis * at(kSh0 + 2)};
    out.covariance = covariance_of(model, i);
    out.det = determinant(out.covariance);
    out.opacity = math::sigmoid(at(kOpacityLogits));
    out.mass = out.opacity * ellipsoid_area({std::exp(at(kLogScales)), std::exp(at(kLogScales + 1)),
                                             std::exp(at(kLogScales + 2))});
    out.seen = weight / std::max(out.mass, 1e-300);
    return out;
}

Mat3d joint_covariance(const Blob& a, const Blob& b, double share_a) {
    const double share_b = 1 - share_a;
    const Vec3d d = a.mean - b.mean;
    const double along[3] = {d.x, d.y, d.z};
    Mat3d out;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            out.m[r][c] = share_a * a.covariance.m[r][c] + share_b * b.covariance.m[r][c] +
                          share_a * share_b * along[r] * along[c];
    return out;
}

Blob joined(const Blob& a, const Blob& b) {
    Blob out;
    out.mass = a.mass + b.mass;
    const double share = a.mass / out.mass;
    out.mean = share * a.mean + (1 - share) * b.mean;
    out.color = share * a.color + (1 - share) * b.color;
    out.covariance = joint_covariance(a, b, share);
    out.det = determinant(out.covariance);
    out.opacity = std::min(kMostOpacity, out.mass / ellipsoid_area(scales_of(out.covariance)));
    out.seen = share * a.seen + (1 - share) * b.seen;
    return out;
}

/// How much the field changes, squared, where it is seen.
double cost_of(const Blob& a, const Blob& b) {
    const Blob m = joined(a, b);
    const double field = overlap(a, a) + overlap(b, b) + overlap(m, m) +
                         2 * (overlap(a, b) - overlap(a, m) - overlap(b, m));
    const Vec3d apart = a.color - b.color;
    const double cost =
        m.seen * (std::max(field, 0.0) + 4e-6 * std::numbers::pi * dot(apart, apart));
    return std::isfinite(cost) ? cost : std::numeric_limits<double>::max();
}

struct Pair {
    double cost = 0;
    std::uint32_t a = 0, b = 0;
    bool operator<(const Pair& o) const {
        return cost != o.cost ? cost < o.cost : a != o.a ? a < o.a : b < o.b;
    }
};

/// Every row with its cheapest partners among the nearest, cheapest pairs first.
std::vector<Pair> pairs_of(const std::vector<Blob>& blobs) {
    std::vector<Vec3d> places;
    places.reserve(blobs.size());
    for (const Blob& blob : blobs) places.push_back(blob.mean);
    const PointTree<double> tree(places);
    constexpr std::size_t kKept = 3;
    std::vector<Pair> found(blobs.size() * kKept, {std::numeric_limits<double>::infinity(), 0, 0});
    parallel_for(blobs.size(), 256, [&](std::size_t i) {
        std::uint32_t rows[kPartners + 1];
        double distances[kPartners + 1];
        const std::size_t n = tree.nearest(places[i], kPartners + 1, rows, distances);
        std::vector<Pair> own;
        for (std::size_t k = 0; k < n; ++k) {
            if (rows[k] == i) continue;
            const auto row = static_cast<std::uint32_t>(i);
            const std::uint32_t a = std::min(row, rows[k]), b = std::max(row, rows[k]);
            own.push_back({cost_of(blobs[a], blobs[b]), a, b});
        }
        std::sort(own.begin(), own.end());
        std::copy_n(own.begin(), std::min(kKept, own.size()),
                    found.begin() + static_cast<std::ptrdiff_t>(i * kKept));
    });
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::uint32_t> worth_keeping(const GaussianModel& model,
                                         std::span<const double> weights) {
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < model.count; ++i) {
        float all = 0;
        for (int p = 0; p < model.planes(); ++p) all += 0.0f * model.at(p, i);
        if (all == 0.0f && weights[i] > 0) rows.push_back(static_cast<std::uint32_t>(i));
    }
    return rows;
}

}  // namespace

double ellipsoid_area(Vec3d s) {
    constexpr double p = 1.6075;
    const double mean =
        (std::pow(s.x * s.y, p) + std::pow(s.x * s.z, p) + std::pow(s.y * s.z, p)) / 3;
    return 4 * std::numbers::pi * std::pow(mean, 1 / p);
}

void merge_rows(const GaussianModel& model, std::size_t a, std::size_t b, GaussianModel& out,
                std::size_t row) {
    const Blob from_a = blob_of(model, a, 0), from_b = blob_of(model, b, 0),
               one = joined(from_a, from_b);
    const auto share = static_cast<float>(from_a.mass / one.mass);
    for (int p = kSh0; p < model.planes(); ++p)
        out.at(p, row) = share * model.at(p, a) + (1 - share) * model.at(p, b);
    out.at(kMeans, row) = static_cast<float>(one.mean.x);
    out.at(kMeans + 1, row) = static_cast<float>(one.mean.y);
    out.at(kMeans + 2, row) = static_cast<float>(one.mean.z);
    out.at(kOpacityLogits, row) = static_cast<float>(std::log(one.opacity / (1 - one.opacity)));
    set_covariance(out, row, one.covariance);
}

Result<GaussianModel> merged_to(const GaussianModel& model, std::span<const double> weights,
                                std::size_t n, const Progress& progress) {
    CHECK(weights.size() == model.count, "{} weights for {} rows", weights.size(), model.count);
    const std::vector<std::uint32_t> rows = worth_keeping(model, weights);
    GaussianModel out = gathered(model, rows);
    std::vector<Blob> blobs(rows.size());
    parallel_for(rows.size(), 256,
                 [&](std::size_t i) { blobs[i] = blob_of(out, i, weights[rows[i]]); });
    const std::size_t first = out.count;
    while (out.count > n) {
        if (progress && !progress("merge", first - out.count, first - n))
            return fail(ErrorKind::cancelled, "", "merging was stopped");
        const std::size_t most = std::min(out.count - n, std::max(kLeastInAWave, out.count / 16));
        std::vector<std::uint8_t> gone(out.count), taken(out.count);
        std::size_t merged = 0;
        for (const Pair& pair : pairs_of(blobs)) {
            if (merged == most || pair.a == pair.b) break;
            if (taken[pair.a] || taken[pair.b]) continue;
            taken[pair.a] = taken[pair.b] = gone[pair.b] = 1;
            blobs[pair.a] = joined(blobs[pair.a], blobs[pair.b]);
            merge_rows(out, pair.a, pair.b, out, pair.a);
            ++merged;
        }
        if (merged == 0) break;  // one row is left
        std::vector<std::uint32_t> left;
        std::vector<Blob> next;
        for (std::size_t i = 0; i < out.count; ++i) {
            if (gone[i]) continue;
            left.push_back(static_cast<std::uint32_t>(i));
            next.push_back(blobs[i]);
        }
        out = gathered(out, left);
        blobs = std::move(next);
    }
    return out;
}

}  // namespace gs
