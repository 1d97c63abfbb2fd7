#include "app/lab/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace gs::lab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostFreedom = 1e4;  // beyond it is the normal distribution to four digits
constexpr int kMostNewton = 40;

/// Of cos^(freedom-1) from 0 to pi/2.
double whole_integral(double freedom) {
    return 0.5 * std::sqrt(std::numbers::pi) *
           std::exp(std::lgamma(freedom / 2) - std::lgamma((freedom + 1) / 2));
}

double mean_of_values(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
/// Of the sum of squares about their mean.
double scatter_of(std::span<const double> values) {
    const double mean = mean_of_values(values);
    double sum = 0;
    for (const double v : values) sum += (v - mean) * (v - mean);
    return sum;
}

/// The variance of a mean with its degrees of freedom.
struct MeanVariance {
    double variance = 0, freedom = 0;
};

/// Each group's replicates are the observations.
MeanVariance within(std::span<const std::vector<double>> groups) {
    double scatter = 0, freedom = 0;
    for (const auto& g : groups)
        scatter += scatter_of(g), freedom += static_cast<double>(g.size() - 1);
    const double pooled = scatter / freedom, count = static_cast<double>(groups.size());
    double sum = 0, terms = 0, alone = 0;  // of variances; of variance^2 / freedom; of single ones
    for (const auto& g : groups) {
        const auto n = static_cast<double>(g.size());
        const double v = (n > 1 ? scatter_of(g) / (n - 1) : pooled) / n;
        sum += v;
        if (n > 1)
            terms += v * v / (n - 1);
        else
            alone += v;
    }
    terms += alone * alone / freedom;  // they share one estimate
    // Single ones have no variance of their own to tell: no more than all degrees there are.
    return {sum / (count * count), terms > 0 ? std::min(sum * sum / terms, freedom) : freedom};
}

/// The groups' means are the observations.
MeanVariance between(std::span<const double> means) {
    const auto n = static_cast<double>(means.size());
    return {scatter_of(means) / (n - 1) / n, n - 1};
}

}  // namespace

double two_sided_p(double t, double freedom) {
    if (!(freedom > 0) || std::isnan(t)) return kNaN;
    // P(|T| > t) is the integral of cos^(freedom-1) from atan(t / sqrt(freedom)) to pi/2 over that
    // from 0. Below two degrees its slope at pi/2 is not finite: it is integrated in u, with u^2
    // the angle left to pi/2, which is smooth. Many degrees make it narrow.
    const double f = std::min(freedom, kMostFreedom);
    const double top = std::sqrt(0.5 * std::numbers::pi - std::atan(std::abs(t) / std::sqrt(f)));
    const int steps = 2 * static_cast<int>(50 * std::max(1.0, std::sqrt(f / 10)));
    const double h = top / steps;
    const auto value = [&](double u) {
        return u > 0 ? 2 * u * std::pow(std::sin(u * u), f - 1) : 0;
    };
    double sum = value(top);
    for (int i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4 : 2) * value(i * h);
    return std::min(1.0, sum * h / 3 / whole_integral(f));
}

double t_beyond(double chance, double freedom) {
    if (!(freedom > 0) || !(chance > 0) || chance >= 1) return kNaN;
    const double f = std::min(freedom, kMostFreedom);
    // Newton's of log p over log t, which is concave: from the second step on it comes from one
    // side.
    double t = 2;
    for (int i = 0; i < kMostNewton; ++i) {
        const double p = two_sided_p(t, f);
        const double density =
            std::pow(1 + t * t / f, -0.5 * (f + 1)) / std::sqrt(f) / whole_integral(f);
        const double step = std::log(p / chance) * p / (density * t);
        t *= std::exp(std::clamp(step, -2.0, 2.0));
        if (std::abs(step) < 1e-10) break;
    }
    return t;
}

Interval interval_of(std::span<const std::vector<double>> all) {
    std::vector<std::vector<double>> groups;
    for (const auto& g : all)
        if (!g.empty()) groups.push_back(g);
    Interval out;
    out.mean = out.low = out.high = out.p = kNaN;
    out.groups = groups.size();
    if (groups.empty()) return out;
    std::vector<double> means;
    bool replicated = false;
    for (const auto& g : groups) {
        out.replicates += g.size();
        replicated |= g.size() > 1;
        means.push_back(mean_of_values(g));
    }
    out.mean = mean_of_values(means);
    if (!replicated && means.size() < 2) return out;
    const MeanVariance v = replicated ? within(groups) : between(means);
    out.freedom = v.freedom;
    const double error = std::sqrt(v.variance);
    if (!(error > 0)) {
        out.low = out.high = out.mean;
        out.p = out.mean == 0 ? 1 : 0;
        return out;
    }
    const double half = t_beyond(0.05, v.freedom) * error;
    out.low = out.mean - half, out.high = out.mean + half;
    out.p = two_sided_p(out.mean / error, v.freedom);
    return out;
}

std::vector<double> holm(std::span<const double> p) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < p.size(); ++i)
        if (!std::isnan(p[i])) order.push_back(i);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    std::vector<double> out(p.size(), kNaN);
    double most = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        most = std::max(most, static_cast<double>(order.size() - k) * p[order[k]]);
        out[order[k]] = std::min(1.0, most);
    }
    return out;
}

}  // namespace gs::lab
