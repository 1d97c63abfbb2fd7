#include "app/session/parts/value_kinds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "renderer/math/scalar.h"
#include "renderer/math/sh.h"

namespace gs {
namespace {

constexpr std::size_t kRowsAtOnce = 8192;

template <class F>
void fill(Buffer<float>& out, std::size_t rows, F&& value) {
    out.resize_discard(rows);
    parallel_ranges(rows, kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) out[i] = value(i);
    });
}

/// Smallest and largest log scale.
std::pair<float, float> log_scales(const GaussianModel& model, std::size_t row) {
    return std::minmax(
        {model.at(kLogScales, row), model.at(kLogScales + 1, row), model.at(kLogScales + 2, row)});
}

float second_moment(const RunArrays& run, std::size_t row) {
    float sum = 0;
    for (int p = 0; p < run.model.planes(); ++p) {
        const float v = moments_of(run.adam, run.model.planes(), row, p).v;
        sum += v * v;
    }
    return std::sqrt(sum);
}

template <class F>
void each_lane(const BlockGradients& g, Buffer<float>& by_row, F&& value) {
    for (std::uint32_t lanes = g.mask; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
        const std::size_t row = g.block * kBlock + lane;
        if (row < by_row.size()) by_row[row] = value(lane);
    }
}

}  // namespace

ValueKind kind_of(GaussianValue value) {
    switch (value) {
        case GaussianValue::none:
            break;
        case GaussianValue::opacity:
            return {"opacity", "", false};
        case GaussianValue::size:
            return {"size, largest axis", "world units", true};
        case GaussianValue::anisotropy:
            return {"anisotropy, largest by smallest axis", "ratio", true};
        case GaussianValue::sh_energy:
            return {"SH energy, degree 1 and up", "", false};
        case GaussianValue::gradient:
            return {"gradient norm", "", true};
        case GaussianValue::second_moment:
            return {"Adam's second moment, norm", "", true};
        case GaussianValue::density:
            return {"density score", "NDC", true};
        case GaussianValue::age:
            return {"age", "steps", false};
        case GaussianValue::views:
            return {"views that saw it", "steps", false};
        case GaussianValue::filter:
            return {"3D filter, standard deviation", "world units", true};
        case GaussianValue::error:
            return {"share of the error, weight x error", "px", true};
        case GaussianValue::cost:
            return {"cost, pairs evaluated", "pairs", true};
        case GaussianValue::level:
            return {"level of detail", "", false};
    }
    return {"", "", false};
}

void values_of_model(GaussianValue value, const GaussianModel& model, Buffer<float>& out) {
    out.resize_discard(0);
    if (value == GaussianValue::opacity)
        fill(out, model.count,
             [&](std::size_t i) { return math::sigmoid(model.at(kOpacityLogits, i)); });
    if (value == GaussianValue::size)
        fill(out, model.count,
             [&](std::size_t i) { return std::exp(log_scales(model, i).second); });
    if (value == GaussianValue::anisotropy)
        fill(out, model.count, [&](std::size_t i) {
            const auto [least, most] = log_scales(model, i);
            return std::exp(std::min(most - least, 30.0f));
        });
    if (value == GaussianValue::sh_energy)
        fill(out, model.count, [&](std::size_t i) {
            float energy = 0;
            for (int p = kShRest; p < model.planes(); ++p)
                energy += model.at(p, i) * model.at(p, i);
            return std::sqrt(energy);
        });
}

void values_of_run(GaussianValue value, const RunArrays& run, Buffer<float>& out) {
    const std::size_t rows = run.model.count;
    const DensityStatistics& seen = run.statistics;
    out.resize_discard(0);
    if (value == GaussianValue::second_moment)
        fill(out, rows, [&](std::size_t i) { return second_moment(run, i); });
    if (value == GaussianValue::density && seen.views.size() >= rows)
        fill(out, rows, [&](std::size_t i) {
            return seen.views[i] > 0 ? seen.gradient_sum[i] / seen.views[i]
                                     : std::numeric_limits<float>::quiet_NaN();
        });
    if (value == GaussianValue::views && seen.views.size() >= rows)
        fill(out, rows, [&](std::size_t i) { return seen.views[i]; });
    if (value == GaussianValue::filter && run.filter.size() >= rows)
        fill(out, rows, [&](std::size_t i) { return run.filter[i]; });
    if (value == GaussianValue::age)
        fill(out, rows, [&](std::size_t i) {
            const std::uint32_t born =
                run.identity.book.birth_step(id_of_tag(run.identity.tags[i]));
            return static_cast<float>(run.adam.steps) - static_cast<float>(born);
        });
}

void values_of_levels(std::span<const LevelRun> runs, std::size_t rows, Buffer<float>& out) {
    out.resize_discard(rows);
    out.fill(std::numeric_limits<float>::quiet_NaN());
    std::size_t row = 0;
    for (const LevelRun& run : runs)
        for (; row < std::min(run.end, rows); ++row)
            if (run.level != kEveryLevel) out[row] = static_cast<float>(run.level);
}

void GradientNorms::take(const BlockGradients& g) {
    each_lane(g, by_row_, [&](std::size_t lane) {
        float sum = 0;
        for (const auto& plane : g.planes) sum += plane[lane] * plane[lane];
        return std::sqrt(sum);
    });
}

void ErrorShares::take(const BlockGradients& g) {
    each_lane(g, by_row_, [&](std::size_t lane) {
        float sum = 0;
        for (int c = 0; c < 3; ++c) sum += g.planes[kSh0 + c][lane];
        return sum / (3 * math::kSh0Basis);
    });
}

}  // namespace gs
