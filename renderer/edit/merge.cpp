#include "renderer/edit/merge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/check.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/try.h"
#include "renderer/edit/row_change.h"
#include "renderer/math/scalar.h"
#include "renderer/math/sh.h"
#include "renderer/scene/covariance.h"
#include "renderer/scene/point_tree.h"

namespace gs {
namespace {

constexpr std::size_t kPartners = 8;         // neighbours that a row may merge with
constexpr std::size_t kLeastInAWave = 4096;  // merges between two looks at the costs
constexpr std::size_t kShrink = 3;           // rows find new neighbours when a third is left
constexpr std::uint8_t kMostInOne = 4;       // rows that become one before that
constexpr double kMostOpacity = 0.999;       // its logit is finite

/// What costs are reckoned from.
struct Blob {
    Vec3d mean;
    Mat3d covariance;
    double log_det = 0;  ///< of the covariance
    double opacity = 0, mass = 0;
    double seen = 0;  ///< weight by mass
};

double log_det_of(const Mat3d& covariance) {
    return std::log(std::max(determinant(covariance), 1e-60));
}
/// Of the ellipsoid of one standard deviation. Variances in closed form: O. K. Smith, "Eigenvalues
/// of a symmetric 3 x 3 matrix", 1961.
double area_of(const Mat3d& s) {
    const double mean = (s.m[0][0] + s.m[1][1] + s.m[2][2]) / 3;
    Mat3d b = s;
    double squares = 0;
    for (int r = 0; r < 3; ++r) {
        b.m[r][r] -= mean;
        for (int c = 0; c < 3; ++c) squares += b.m[r][c] * b.m[r][c];
    }
    const double p = std::sqrt(squares / 6);
    const double cube = p * p * p;  // may be too small for a number
    const double turn =
        cube > 0 ? std::acos(std::clamp(determinant(b) / (2 * cube), -1.0, 1.0)) / 3 : 0;
    const double most = mean + 2 * p * std::cos(turn),
                 least = mean + 2 * p * std::cos(turn + 2 * std::numbers::pi / 3);
    const auto root = [](double variance) { return std::sqrt(std::max(variance, 0.0)); };
    return ellipsoid_area({root(most), root(3 * mean - most - least), root(least)});
}

Blob blob_of(const GaussianModel& model, std::size_t i, double weight) {
    Blob out;
    const auto at = [&](int plane) { return static_cast<double>(model.at(plane, i)); };
    out.mean = {at(kMeans), at(kMeans + 1), at(kMeans + 2)};
    out.covariance = covariance_of(model, i);
    out.log_det = log_det_of(out.covariance);
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

/// Of two that become one, the first's share: by mass, halves where both have none.
double share_of(const Blob& a, const Blob& b) {
    const double mass = a.mass + b.mass;
    return mass > 0 ? a.mass / mass : 0.5;
}

Blob joined(const Blob& a, const Blob& b) {
    Blob out{.mass = a.mass + b.mass};
    const double share = share_of(a, b);
    out.mean = share * a.mean + (1 - share) * b.mean;
    out.covariance = joint_covariance(a, b, share);
    out.log_det = log_det_of(out.covariance);
    out.opacity = std::min(kMostOpacity, out.mass / area_of(out.covariance));
    out.seen = share * a.seen + (1 - share) * b.seen;
    return out;
}

constexpr double kColorUnit =
    static_cast<double>(math::kSh0Basis) * static_cast<double>(math::kSh0Basis);

/// Products of two rows' colours, the mean over all directions.
struct ColorProducts {
    double aa = 0, ab = 0, bb = 0;
};

/// What one Gaussian in the place of two loses: the divergence of each from it in shape and place
/// (of normal distributions: half the logarithm of the ratio of determinants, as the two's own
/// forms sum to three) and the squared difference of their colours, by the root of how much they
/// are seen.
double cost_of(const Blob& a, const Blob& b, const ColorProducts& c) {
    const Blob m = joined(a, b);
    const double share = share_of(a, b);
    const double shape = 0.5 * (m.log_det - share * a.log_det - (1 - share) * b.log_det);
    const double color = (c.aa + c.bb - 2 * c.ab) / kColorUnit;
    const double cost = std::sqrt(m.seen * m.mass) * (std::max(shape, 0.0) + std::max(color, 0.0));
    return std::isfinite(cost) ? cost : std::numeric_limits<double>::max();
}

struct Pair {
    double cost = 0;
    std::uint32_t a = 0, b = 0;
    bool operator<(const Pair& o) const {
        return cost != o.cost ? cost < o.cost : a != o.a ? a < o.a : b < o.b;
    }
};

/// Rows that merge while each keeps the neighbours that it began with, and inherits those of the
/// rows that it takes in.
class Merging {
  public:
    Merging(GaussianModel& model, std::vector<Blob>& blobs)
        : model_(model),
          blobs_(blobs),
          left_(blobs.size()),
          into_(left_),
          best_(left_),
          looks_(left_, 1),
          rows_in_(left_, 1),
          neighbours_(left_ * kPartners),
          width_(static_cast<std::size_t>(model.planes() - kSh0)),
          colors_(left_ * width_) {
        // Harmonics are orthogonal: the mean product over all directions is that of coefficients.
        parallel_for(left_, 256, [&](std::size_t i) {
            for (std::size_t c = 0; c < width_; ++c)
                color_of(i)[c] = math::kSh0Basis * model.at(kSh0 + static_cast<int>(c), i) +
                                 (c < 3 ? 0.5f : 0.0f);
        });
        std::iota(into_.begin(), into_.end(), 0);
        // Nudged by less than a float's step, for many at one place would all have the same
        // neighbours, found by looking at every one of them.
        double reach = 0;
        for (const Blob& blob : blobs)
            reach = std::max(
                {reach, std::abs(blob.mean.x), std::abs(blob.mean.y), std::abs(blob.mean.z)});
        std::vector<Vec3d> places;
        places.reserve(left_);
        const auto nudge = [&](std::uint64_t axis) {
            return 1e-10 * reach * static_cast<double>(random_uniform(1, axis, places.size()));
        };
        for (const Blob& blob : blobs)
            places.push_back(blob.mean + Vec3d{nudge(0), nudge(1), nudge(2)});
        const PointTree<double> tree(places);
        parallel_for(left_, 256, [&](std::size_t i) {
            std::uint32_t rows[kPartners + 1];
            double distances[kPartners + 1];
            const std::size_t n = tree.nearest(places[i], kPartners + 1, rows, distances);
            const auto others = static_cast<std::size_t>(std::remove(rows, rows + n, i) - rows);
            const auto own = neighbours_of(i);
            std::fill(own.begin(), own.end(), i);
            std::copy_n(rows, std::min(others, kPartners), own.begin());
        });
    }
    std::size_t left() const { return left_; }

    /// Merges the cheapest pairs, each row once, `most` at most. How many.
    std::size_t merge(std::size_t most) {
        parallel_for(best_.size(), 256, [&](std::size_t i) {
            if (looks_[i]) look(i);
        });
        std::vector<Pair> pairs;
        for (const Pair& pair : best_)
            if (pair.a != pair.b) pairs.push_back(pair);
        if (const std::size_t enough = 3 * most; pairs.size() > enough) {
            std::nth_element(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(enough),
                             pairs.end());
            pairs.resize(enough);
        }
        std::sort(pairs.begin(), pairs.end());
        std::vector<Pair> merged;
        for (const Pair& pair : pairs) {
            if (merged.size() == most) break;
            if (looks_[pair.a] || looks_[pair.b]) continue;
            looks_[pair.a] = looks_[pair.b] = 1;
            rows_in_[pair.a] = static_cast<std::uint8_t>(rows_in_[pair.a] + rows_in_[pair.b]);
            merged.push_back(pair);
        }
        parallel_for(merged.size(), 64, [&](std::size_t k) { join(merged[k]); });
        parallel_for(merged.size(), 64, [&](std::size_t k) { inherit(merged[k]); });
        for (const Pair& pair : merged) best_[pair.b] = {};
        for (std::size_t i = 0; i < best_.size(); ++i)  // whose partner is another one now
            if (const Pair& p = best_[i]; p.a != p.b && (looks_[p.a] || looks_[p.b])) looks_[i] = 1;
        for (const Pair& pair : merged) looks_[pair.b] = 0;
        left_ -= merged.size();
        return merged.size();
    }
    /// The rows that are left, without those that went into others.
    void finish() {
        std::vector<std::uint32_t> rows;
        std::vector<Blob> blobs;
        for (std::size_t i = 0; i < into_.size(); ++i) {
            if (into_[i] != i) continue;
            rows.push_back(static_cast<std::uint32_t>(i));
            blobs.push_back(blobs_[i]);
        }
        model_ = gathered(model_, rows);
        blobs_ = std::move(blobs);
    }

  private:
    std::span<std::uint32_t> neighbours_of(std::size_t i) {
        return std::span(neighbours_).subspan(i * kPartners, kPartners);
    }
    std::span<float> color_of(std::size_t i) {
        return std::span(colors_).subspan(i * width_, width_);
    }
    double product(std::size_t i, std::size_t k) {
        const auto a = color_of(i), b = color_of(k);
        float sum = 0;
        for (std::size_t c = 0; c < width_; ++c) sum += a[c] * b[c];
        return static_cast<double>(sum);
    }
    /// The row that `i` is part of.
    std::uint32_t whole(std::uint32_t i) const {
        while (into_[i] != i) i = into_[i];
        return i;
    }
    /// Finds the cheapest partner of row `i` again.
    void look(std::size_t i) {
        const auto row = static_cast<std::uint32_t>(i);
        looks_[i] = 0;
        best_[i] = {};
        for (std::uint32_t& neighbour : neighbours_of(i)) {
            neighbour = whole(neighbour);
            if (neighbour == row || rows_in_[row] + rows_in_[neighbour] > kMostInOne) continue;
            const std::uint32_t a = std::min(row, neighbour), b = std::max(row, neighbour);
            const Pair pair{
                cost_of(blobs_[a], blobs_[b], {product(a, a), product(a, b), product(b, b)}), a, b};
            if (best_[i].a == best_[i].b || pair < best_[i]) best_[i] = pair;
        }
    }
    void join(const Pair& pair) {
        const auto share = static_cast<float>(share_of(blobs_[pair.a], blobs_[pair.b]));
        blobs_[pair.a] = joined(blobs_[pair.a], blobs_[pair.b]);
        for (std::size_t c = 0; c < width_; ++c) {
            float& color = color_of(pair.a)[c];
            color += (1 - share) * (color_of(pair.b)[c] - color);
        }
        merge_rows(model_, pair.a, pair.b, model_, pair.a);
        into_[pair.b] = pair.a;
    }
    /// Of both rows' neighbours, those nearest to what they have become.
    void inherit(const Pair& pair) {
        const auto [cost, a, b] = pair;
        std::array<std::pair<double, std::uint32_t>, 2 * kPartners> found;
        std::size_t n = 0;
        for (const std::uint32_t row : {a, b})
            for (const std::uint32_t neighbour : neighbours_of(row)) {
                if (neighbour == a || neighbour == b) continue;
                const Vec3d apart = blobs_[neighbour].mean - blobs_[a].mean;
                found[n++] = {dot(apart, apart), neighbour};
            }
        std::sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n));
        const auto end = std::unique(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n));
        n = std::min(static_cast<std::size_t>(end - found.begin()), kPartners);
        const auto own = neighbours_of(a);
        std::fill(own.begin(), own.end(), a);
        for (std::size_t k = 0; k < n; ++k) own[k] = found[k].second;
    }

    GaussianModel& model_;
    std::vector<Blob>& blobs_;
    std::size_t left_;
    std::vector<std::uint32_t> into_;    ///< the row that a row went into; itself while it is left
    std::vector<Pair> best_;             ///< a row and its cheapest partner; none: a = b
    std::vector<std::uint8_t> looks_;    ///< has to find its cheapest partner again
    std::vector<std::uint8_t> rows_in_;  ///< of a row that is left: that it is made of
    std::vector<std::uint32_t> neighbours_;
    std::size_t width_;          ///< coefficients of a colour
    std::vector<float> colors_;  ///< [row][coefficient]
};

/// Numbers that mean something: an opacity's logit may be infinite (a byte of 0 or 255), a scale
/// zero. Of scales beyond e^100 no area is known.
bool is_sound(const GaussianModel& model, std::size_t i) {
    for (int p = 0; p < model.planes(); ++p) {
        const float v = model.at(p, i);
        const bool scale = p >= kLogScales && p < kLogScales + 3;
        if (std::isnan(v) || (scale && v > 100)) return false;
        if (std::isinf(v) && p != kOpacityLogits && !scale) return false;
    }
    return true;
}
std::vector<std::uint32_t> worth_keeping(const GaussianModel& model,
                                         std::span<const double> weights) {
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < model.count; ++i)
        if (weights[i] > 0 && is_sound(model, i)) rows.push_back(static_cast<std::uint32_t>(i));
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
    const auto share = static_cast<float>(share_of(from_a, from_b));
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
        const std::size_t before = out.count, least = std::max(n, before / kShrink);
        Merging merging(out, blobs);
        while (merging.left() > least) {
            const std::size_t left = merging.left();
            if (progress && !progress("merge", first - left, first - n))
                return fail(ErrorKind::cancelled, "", "merging was stopped");
            if (merging.merge(std::min(left - least, std::max(kLeastInAWave, left / 16))) == 0)
                break;
        }
        merging.finish();
        if (out.count == before) break;  // one row is left
    }
    return out;
}

Result<std::vector<GaussianModel>> levels_of(const GaussianModel& model, const Progress& progress,
                                             std::size_t coarsest) {
    std::vector<GaussianModel> out = {model};
    while (out.back().count > coarsest) {
        const GaussianModel& finer = out.back();
        std::vector<double> mass(finer.count);
        parallel_for(mass.size(), 256, [&](std::size_t i) { mass[i] = blob_of(finer, i, 0).mass; });
        GS_TRY(GaussianModel next, merged_to(finer, mass, finer.count / kShrink, progress));
        out.push_back(std::move(next));
    }
    return out;
}

}  // namespace gs
