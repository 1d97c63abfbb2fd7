#include "trainer/density/density.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "trainer/density/row_arrays.h"

namespace gs {
namespace {

bool finite_row(const GaussianModel& model, std::size_t row) {
    float sum = 0;  // NaN or infinite as soon as one of them is
    for (int p = 0; p < model.planes(); ++p) sum += 0.0f * model.at(p, row);
    return sum == 0.0f;
}

Fate fate_of_row(const GaussianModel& model, const DensityStatistics& statistics,
                 const RowIdentity& identity, const DensityRules& rules, std::size_t row,
                 bool may_grow) {
    return fate_of({locked_tag(identity.tags[row]), model.mean(row), model.at(kOpacityLogits, row),
                    std::max({model.at(kLogScales, row), model.at(kLogScales + 1, row),
                              model.at(kLogScales + 2, row)}),
                    finite_row(model, row), statistics.gradient_sum[row], statistics.views[row],
                    statistics.radius_px[row]},
                   rules, may_grow);
}

Vec3f mean_of_child(const GaussianModel& model, bool long_axis, std::size_t row, std::uint64_t seed,
                    std::uint64_t step, std::uint64_t child) {
    return child_mean(
        long_axis, model.mean(row),
        {model.at(kLogScales, row), model.at(kLogScales + 1, row), model.at(kLogScales + 2, row)},
        {model.at(kQuats, row), model.at(kQuats + 1, row), model.at(kQuats + 2, row),
         model.at(kQuats + 3, row)},
        row, seed, step, child);
}

/// Decides every row. When more want to grow than `limit` rows allow, the ones pulled hardest do.
std::vector<Fate> decide(const GaussianModel& model, const DensityStatistics& statistics,
                         const RowIdentity& identity, const DensityRules& rules, std::size_t limit,
                         DensityReport& report) {
    std::vector<Fate> fates = fates_of(model, statistics, identity, rules);
    std::vector<std::uint32_t> growing;
    std::size_t survivors = 0;
    for (std::size_t row = 0; row < model.count; ++row) {
        survivors += fates[row] != Fate::remove;
        if (fates[row] == Fate::clone || fates[row] == Fate::split)
            growing.push_back(static_cast<std::uint32_t>(row));
    }
    report.wanted = growing.size();
    const std::size_t room = limit > survivors ? limit - survivors : 0;
    if (growing.size() <= room) return fates;
    const auto pull = [&](std::uint32_t row) {
        return density_pull(statistics.gradient_sum[row], statistics.views[row]);
    };
    std::sort(growing.begin(), growing.end(), [&](std::uint32_t a, std::uint32_t b) {
        const float pull_a = pull(a), pull_b = pull(b);
        return pull_a != pull_b ? pull_a > pull_b : a < b;
    });
    for (std::size_t i = room; i < growing.size(); ++i)
        fates[growing[i]] = fate_of_row(model, statistics, identity, rules, growing[i], false);
    return fates;
}

RoundRows collect(const GaussianModel& model, const RowIdentity& identity,
                  const std::vector<Fate>& fates, bool long_axis, std::uint64_t seed,
                  std::uint64_t step, DensityReport& report) {
    RoundRows rows;
    std::uint32_t born = 0;
    const auto child = [&](std::size_t row, std::uint64_t which) {
        return mean_of_child(model, long_axis, row, seed, step, which);
    };
    const auto new_id = [&] { return later_id(identity.book.next, born++); };
    for (std::size_t row = 0; row < model.count; ++row) {
        switch (fates[row]) {
            case Fate::remove:
                ++report.pruned;
                break;
            case Fate::keep:
                rows.add(row, Origin::kept, model.mean(row), identity.tags[row]);
                break;
            case Fate::clone:
                ++report.cloned;
                rows.add(row, Origin::original, model.mean(row), identity.tags[row]);
                rows.add(row, Origin::copy, model.mean(row), new_id());
                break;
            case Fate::split:
                ++report.split;
                rows.add(row, Origin::first_child, child(row, 0), new_id());
                rows.add(row, Origin::second_child, child(row, 1), new_id());
                break;
        }
    }
    return rows;
}

void place_rows(GaussianModel& model, const RoundRows& rows, const DensityRules& rules) {
    parallel_for(rows.source.size(), 4096, [&](std::size_t i) {
        become([&](int plane) -> float& { return model.at(plane, i); }, rows.origin[i],
               rows.mean[i], rules);
    });
}

}  // namespace

void DensityStatistics::add(const BlockGradients& gradients, std::uint32_t skip, int width,
                            int height) {
    const float to_ndc_x = 0.5f * static_cast<float>(width),
                to_ndc_y = 0.5f * static_cast<float>(height);
    for (std::uint32_t lanes = gradients.mask & ~skip; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
        const std::size_t row = gradients.block * kBlock + lane;
        const float x = gradients.mean2d[0][lane] * to_ndc_x,
                    y = gradients.mean2d[1][lane] * to_ndc_y;
        gradient_sum[row] += std::sqrt(x * x + y * y);
        views[row] += 1.0f;
        radius_px[row] = std::max(radius_px[row], gradients.radius_px[lane]);
    }
}

DensityRules density_rules(const TrainingSettings& settings, double extent, bool prune_large) {
    const std::optional<ClipBox> crop = crop_of(settings);
    return {settings.prune_opacity,
            settings.absgrad ? settings.densify_absgrad : settings.densify_gradient,
            settings.densify_extent * extent,
            settings.prune_extent * extent,
            settings.prune_screen_px,
            prune_large,
            settings.revised_opacity,
            settings.long_axis,
            crop.has_value(),
            crop.value_or(ClipBox{}).lo,
            crop.value_or(ClipBox{}).hi};
}

std::vector<Fate> fates_of(const GaussianModel& model, const DensityStatistics& statistics,
                           const RowIdentity& identity, const DensityRules& rules) {
    std::vector<Fate> fates(model.count);
    parallel_for(model.count, 1024, [&](std::size_t row) {
        fates[row] = fate_of_row(model, statistics, identity, rules, row, true);
    });
    return fates;
}

float reset_logit() { return std::log(kResetOpacity / (1.0f - kResetOpacity)); }

DensityReport densify_and_prune(RunArrays& arrays, const TrainingSettings& settings, double extent,
                                bool prune_large, Buffer<float>* save_reserve) {
    DensityReport report;
    GaussianModel& model = arrays.model;
    const std::uint32_t steps = arrays.adam.steps;
    RowIdentity& identity = arrays.identity;
    const DensityRules rules = density_rules(settings, extent, prune_large);
    const auto seed = static_cast<std::uint64_t>(settings.seed);
    std::size_t limit = std::max<std::size_t>(1, static_cast<std::size_t>(settings.max_gaussians));
    std::vector<Fate> fates = decide(model, arrays.statistics, identity, rules, limit, report);
    RoundRows rows = collect(model, identity, fates, rules.long_axis, seed, steps, report);
    if (const std::size_t room = reserve_rows(arrays, rows.source.size(), limit, save_reserve);
        room < rows.source.size()) {
        limit = room;
        report = {};
        report.out_of_memory = true;
        fates = decide(model, arrays.statistics, identity, rules, limit, report);
        rows = collect(model, identity, fates, rules.long_axis, seed, steps, report);
    }
    // A round never leaves an empty model: whatever made everything faint is not helped by that.
    if (!rows.source.empty()) {
        rows = in_morton_order(rows);
        rearrange(arrays, rows);
        place_rows(model, rows, rules);
        identity.book.give(report.cloned + 2 * report.split, steps);
    } else {
        report = {};
    }
    clear_round(arrays);
    return report;
}

void reset_opacity(RunArrays& arrays) {
    GaussianModel& model = arrays.model;
    const float most = reset_logit();
    float* logits = model.plane(kOpacityLogits);
    parallel_for(model.count, 4096, [&](std::size_t row) {
        if (!locked_tag(arrays.identity.tags[row])) logits[row] = std::min(logits[row], most);
    });
    const auto planes = static_cast<std::size_t>(model.planes());
    for (std::size_t block = 0; block < model.capacity / kBlock; ++block)
        std::fill_n(&arrays.adam.moments[(block * planes + kOpacityLogits) * 2 * kBlock],
                    2 * kBlock, 0.0f);
}

}  // namespace gs
