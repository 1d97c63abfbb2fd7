#include "panels/widgets/curve_shape.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

/// Seconds at the end of each point of `step_ms`, each the mean of the steps since the one before.
std::vector<double> seconds_of(std::span<const CurvePoint> step_ms) {
    std::vector<double> out;
    // A run whose first steps are not known begins where they are.
    const auto step_of = [&](std::size_t i) { return static_cast<double>(step_ms[i].step); };
    double seconds = 0, before = 0;
    if (step_ms.size() > 1) before = std::max(0.0, 2 * step_of(0) - step_of(1));
    for (const CurvePoint& p : step_ms) {
        const auto step = static_cast<double>(p.step);
        if (std::isfinite(p.value))
            seconds += static_cast<double>(p.value) / 1000 * (step - before);
        before = step;
        out.push_back(seconds);
    }
    return out;
}

double seconds_at(double step, std::span<const CurvePoint> step_ms,
                  const std::vector<double>& seconds) {
    const auto after = std::lower_bound(
        step_ms.begin(), step_ms.end(), step,
        [](const CurvePoint& p, double s) { return static_cast<double>(p.step) < s; });
    if (step_ms.empty()) return 0;
    if (after == step_ms.end()) return seconds.back();
    const auto i = static_cast<std::size_t>(after - step_ms.begin());
    const double first = i == 0 ? 0 : static_cast<double>(step_ms[i - 1].step),
                 last = static_cast<double>(after->step), before = i == 0 ? 0 : seconds[i - 1];
    return before + (seconds[i] - before) * (step - first) / std::max(last - first, 1e-9);
}

}  // namespace

std::vector<CurvePoint> smoothed(std::span<const CurvePoint> points, double weight) {
    std::vector<CurvePoint> out(points.begin(), points.end());
    double sum = 0, weights = 0;
    for (CurvePoint& p : out) {
        if (!std::isfinite(p.value)) continue;
        sum = weight * sum + (1 - weight) * static_cast<double>(p.value);
        weights = weight * weights + (1 - weight);
        if (weight > 0) p.value = static_cast<float>(sum / weights);
    }
    return out;
}

CurveBand band_of(std::span<const CurvePoint> points, double weight) {
    CurveBand out{{points.begin(), points.end()}, {points.begin(), points.end()}};
    const auto reach = static_cast<std::size_t>(1 / std::max(1 - weight, 1e-3));
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t first = i > reach ? i - reach : 0;
        for (std::size_t k = first; k <= i; ++k) {
            if (!std::isfinite(points[k].value)) continue;
            out.low[i].value = std::min(out.low[i].value, points[k].value);
            out.high[i].value = std::max(out.high[i].value, points[k].value);
        }
    }
    return out;
}

double seconds_at(double step, std::span<const CurvePoint> step_ms) {
    return seconds_at(step, step_ms, seconds_of(step_ms));
}

std::vector<CurvePoint> over_time(std::span<const CurvePoint> points,
                                  std::span<const CurvePoint> step_ms) {
    const std::vector<double> seconds = seconds_of(step_ms);
    std::vector<CurvePoint> out(points.begin(), points.end());
    for (CurvePoint& p : out)
        p.step = static_cast<float>(seconds_at(static_cast<double>(p.step), step_ms, seconds));
    return out;
}

}  // namespace gs
