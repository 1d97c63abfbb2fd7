#include "trainer/density/density.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
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

/// `run_row`: `row` among those of all ranks.
Vec3f mean_of_child(const GaussianModel& model, bool long_axis, std::size_t row,
                    std::size_t run_row, std::uint64_t seed, std::uint64_t step,
                    std::uint64_t child) {
    return child_mean(
        long_axis, model.mean(row),
        {model.at(kLogScales, row), model.at(kLogScales + 1, row), model.at(kLogScales + 2, row)},
        {model.at(kQuats, row), model.at(kQuats + 1, row), model.at(kQuats + 2, row),
         model.at(kQuats + 3, row)},
        run_row, seed, step, child);
}

/// Of all ranks' `pulls`, the `room` (fewer than there are) hardest: 1 for each own one of them, 0
/// for the others. Of equal ones the first.
std::vector<std::uint8_t> hardest(const std::vector<float>& pulls, std::size_t room,
                                  Exchange& ranks) {
    const std::vector<float> all = joined_at_head(ranks, pulls);
    std::vector<std::uint8_t> grows(all.size());
    std::vector<std::uint32_t> order(all.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(ranks.head() ? room : 0);
    std::nth_element(order.begin(), end, order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return all[a] != all[b] ? all[a] > all[b] : a < b;
    });
    std::for_each(order.begin(), end, [&](std::uint32_t i) { grows[i] = 1; });
    return parted_from_head(ranks, grows, pulls.size());
}

/// Decides every row. When more want to grow than `limit` rows allow, the ones pulled hardest do.
std::vector<Fate> decide(const RunArrays& arrays, const DensityRules& rules, std::size_t limit,
                         Exchange& ranks, DensityReport& report) {
    const GaussianModel& model = arrays.model;
    const DensityStatistics& statistics = arrays.statistics;
    const RowIdentity& identity = arrays.identity;
    std::vector<Fate> fates = fates_of(model, statistics, identity, rules);
    std::vector<std::uint32_t> growing;
    std::size_t own_survivors = 0;
    for (std::size_t row = 0; row < model.count; ++row) {
        own_survivors += fates[row] != Fate::remove;
        if (fates[row] == Fate::clone || fates[row] == Fate::split)
            growing.push_back(static_cast<std::uint32_t>(row));
    }
    const std::size_t survivors = among(ranks, own_survivors).all,
                      room = limit > survivors ? limit - survivors : 0;
    report.wanted = among(ranks, growing.size()).all;
    if (report.wanted <= room) return fates;
    std::vector<float> pulls;
    for (const std::uint32_t row : growing)
        pulls.push_back(density_pull(statistics.gradient_sum[row], statistics.views[row]));
    const std::vector<std::uint8_t> grows = hardest(pulls, room, ranks);
    for (std::size_t i = 0; i < growing.size(); ++i)
        if (grows[i] == 0)
            fates[growing[i]] = fate_of_row(model, statistics, identity, rules, growing[i], false);
    return fates;
}

/// The rows that come of this rank's. `report`: counts are of all ranks'.
RoundRows collect(const RunArrays& arrays, const std::vector<Fate>& fates, bool long_axis,
                  std::uint64_t seed, Exchange& ranks, DensityReport& report) {
    const GaussianModel& model = arrays.model;
    const RowIdentity& identity = arrays.identity;
    struct Counts {
        std::size_t rows = 0, removed = 0, clones = 0, splits = 0;
        std::uint32_t next_id = 0;  ///< the head's
    } own;
    own.rows = model.count;
    own.next_id = identity.book.next;
    for (const Fate fate : fates) {
        own.removed += fate == Fate::remove;
        own.clones += fate == Fate::clone;
        own.splits += fate == Fate::split;
    }
    const std::vector<Counts> counts = of_each(ranks, own);
    const std::uint32_t next_id = counts[0].next_id;
    report.pruned = report.cloned = report.split = 0;
    std::size_t first_row = 0, born = 0, listed = 0;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        const Counts& of = counts[rank];
        report.pruned += of.removed;
        report.cloned += of.clones;
        report.split += of.splits;
        if (rank >= static_cast<std::size_t>(ranks.rank())) continue;
        first_row += of.rows;
        born += of.clones + 2 * of.splits;
        listed += of.rows - of.removed + of.clones + of.splits;
    }
    RoundRows rows;
    const auto add = [&](std::size_t row, Origin how, Vec3f mean, std::uint32_t tag) {
        rows.add(row, how, mean, tag, listed++);
    };
    const auto new_id = [&] { return later_id(next_id, static_cast<std::uint32_t>(born++)); };
    const auto add_child = [&](std::size_t row, Origin which) {
        const Vec3f mean = mean_of_child(model, long_axis, row, first_row + row, seed,
                                         arrays.adam.steps, which == Origin::second_child ? 1 : 0);
        add(row, which, mean, new_id());
    };
    for (std::size_t row = 0; row < model.count; ++row) {
        const Vec3f mean = model.mean(row);
        switch (fates[row]) {
            case Fate::remove:
                break;
            case Fate::keep:
                add(row, Origin::kept, mean, identity.tags[row]);
                break;
            case Fate::clone:
                add(row, Origin::original, mean, identity.tags[row]);
                add(row, Origin::copy, mean, new_id());
                break;
            case Fate::split:
                add_child(row, Origin::first_child);
                add_child(row, Origin::second_child);
                break;
        }
    }
    return rows;
}

/// `rows`: as rearrange() gives them.
void place_rows(GaussianModel& model, const RoundRows& rows, const DensityRules& rules) {
    parallel_for(model.count, 4096, [&](std::size_t i) {
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
                                bool prune_large, Buffer<float>* save_reserve, Exchange& ranks) {
    DensityReport report;
    const DensityRules rules = density_rules(settings, extent, prune_large);
    const auto limit = std::max<std::size_t>(1, static_cast<std::size_t>(settings.max_gaussians));
    const auto planned = [&](std::size_t most) {
        const std::vector<Fate> fates = decide(arrays, rules, most, ranks, report);
        return collect(arrays, fates, rules.long_axis, static_cast<std::uint64_t>(settings.seed),
                       ranks, report);
    };
    RoundRows rows = planned(limit);
    std::size_t wanted = among(ranks, rows.size()).all;
    if (const std::size_t room = reserve_rows(arrays, wanted, limit, ranks, save_reserve);
        room < wanted) {
        rows = planned(room);
        report.out_of_memory = true;
        wanted = among(ranks, rows.size()).all;
    }
    // A round never leaves an empty model: whatever made everything faint is not helped by that.
    if (wanted > 0) {
        rows = rearrange(arrays, in_morton_order(rows, ranks), ranks);
        place_rows(arrays.model, rows, rules);
        if (ranks.head())
            arrays.identity.book.give(report.cloned + 2 * report.split, arrays.adam.steps);
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
    each_moment_column(
        [&](auto column, int plane) {
            if (plane != kOpacityLogits) return;
            for (std::size_t row = 0; row < model.capacity; ++row) column[row] = {};
        },
        arrays);
}

}  // namespace gs
