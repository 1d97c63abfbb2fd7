#include "trainer/density/relocation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/rng.h"
#include "trainer/density/row_arrays.h"

namespace gs {
namespace {

constexpr std::uint64_t kRelocationStream = 0x4D43000000000000ull;  ///< + step
constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

float opacity_of(float logit) {
    return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
}

/// What draws look at, of each row.
struct DrawnFrom {
    std::vector<std::uint32_t> weights;  ///< how often it is drawn; 0: never
    std::vector<std::uint8_t> most;      ///< Gaussians that may share its place; 0: it is dead
};
/// In proportion to opacity and pull. A few that pull beyond measure do not take all.
DrawnFrom drawn_from(const RelocationInput& in) {
    constexpr float kMost = 100;
    const std::size_t count = in.fates.size();
    DrawnFrom out{std::vector<std::uint32_t>(count), std::vector<std::uint8_t>(count)};
    for (std::size_t row = 0; row < count; ++row) {
        if (in.fates[row] == Fate::remove) continue;
        const float opacity = opacity_of(in.opacity_logits[row]);
        const double pull =
            in.pulls.empty() ? 1 : static_cast<double>(std::min(in.pulls[row], kMost));
        out.most[row] = static_cast<std::uint8_t>(most_shares(opacity));
        if (!locked_tag(in.tags[row]))
            out.weights[row] =
                static_cast<std::uint32_t>(1 + 1e6 * pull * static_cast<double>(opacity));
    }
    return out;
}

/// A Gaussian that comes to the place of row `source`. `place`: RoundRows::place.
struct Newcomer {
    std::uint32_t source, place, tag;
};
struct Drawn {
    std::vector<std::uint8_t> shares;  ///< by row: Gaussians that share its place; 0: it moved away
    std::vector<Newcomer> newcomers;   ///< by source
    DensityReport report;
};

/// Draws rows by their weights, none more often than it may be shared.
class Draws {
  public:
    Draws(const DrawnFrom& from, std::uint64_t seed, std::uint64_t step)
        : most_(from.most), seed_(seed), step_(step), shares_(from.most.size(), 1) {
        sums_.reserve(from.weights.size());
        for (const std::uint32_t weight : from.weights) sums_.push_back(total_ += weight);
    }
    /// kNobody: every place is full.
    std::uint32_t draw(std::uint32_t id) {
        if (total_ == 0) return kNobody;
        constexpr std::uint64_t kTries = 16;
        std::size_t row = 0;
        for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
            const std::uint64_t bits =
                random_bits(seed_, kRelocationStream + step_, id * kTries + attempt);
            row = row_at(bits % total_);
            if (has_room(row)) return take(row);
        }
        for (std::size_t i = 1; i < sums_.size(); ++i)
            if (const std::size_t next = (row + i) % sums_.size(); alive(next) && has_room(next))
                return take(next);
        return kNobody;
    }
    void move_away(std::size_t row) { shares_[row] = 0; }
    std::vector<std::uint8_t> take_shares() { return std::move(shares_); }

  private:
    std::size_t row_at(std::uint64_t at) const {
        return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), at) -
                                        sums_.begin());
    }
    bool alive(std::size_t row) const { return sums_[row] != (row == 0 ? 0 : sums_[row - 1]); }
    bool has_room(std::size_t row) const { return shares_[row] < most_[row]; }
    std::uint32_t take(std::size_t row) {
        ++shares_[row];
        return static_cast<std::uint32_t>(row);
    }

    const std::vector<std::uint8_t>& most_;
    const std::uint64_t seed_, step_;
    std::vector<std::uint64_t> sums_;  ///< of weights, by row, its own included
    std::vector<std::uint8_t> shares_;
    std::uint64_t total_ = 0;
};

/// Of all rows of the run.
Drawn draw(const DrawnFrom& from, std::uint64_t seed, std::uint64_t step, std::uint32_t next_id,
           std::size_t limit) {
    const std::size_t count = from.most.size();
    Drawn out;
    DensityReport& report = out.report;
    Draws draws(from, seed, step);
    const auto came = [&](std::size_t place) {
        const std::uint32_t id =
            later_id(next_id, static_cast<std::uint32_t>(out.newcomers.size()));
        const std::uint32_t to = draws.draw(id);
        if (to != kNobody) out.newcomers.push_back({to, static_cast<std::uint32_t>(place), id});
        return to != kNobody;
    };
    for (std::size_t row = 0; row < count; ++row) {
        if (from.most[row] != 0) continue;
        ++report.dead;
        if (!came(row)) continue;
        draws.move_away(row);
        ++report.relocated;
    }
    const std::size_t after = rows_after_relocation(count, limit);
    while (count + report.added < after && came(count + report.added)) ++report.added;
    out.shares = draws.take_shares();
    std::sort(out.newcomers.begin(), out.newcomers.end(), [](const Newcomer& a, const Newcomer& b) {
        return std::tie(a.source, a.place) < std::tie(b.source, b.place);
    });
    return out;
}

/// The rows that come of those of `in`, the first of which is the run's `first_row`. `shares`: of
/// them; `newcomers`: to them.
RoundRows list_rows(const RelocationInput& in, std::size_t first_row,
                    const std::vector<std::uint8_t>& shares,
                    const std::vector<Newcomer>& newcomers) {
    RoundRows rows;
    const auto mean = [&](std::size_t row) {
        return Vec3f{in.mean[0][row], in.mean[1][row], in.mean[2][row]};
    };
    for (std::size_t row = 0; row < shares.size(); ++row)
        if (shares[row] > 0)
            rows.add(row, shares[row] > 1 ? Origin::copy : Origin::kept, mean(row), in.tags[row],
                     first_row + row, shares[row]);
    for (const Newcomer& newcomer : newcomers) {
        const std::size_t row = newcomer.source - first_row;
        rows.add(row, Origin::copy, mean(row), newcomer.tag, newcomer.place,
                 static_cast<std::uint8_t>(shares[row] | kNewcomer));
    }
    return rows;
}

/// Everybody that shares a place looks like a part of who was there.
void share_places(RunArrays& arrays, const RoundRows& rows, const SharingRules& rules) {
    parallel_for(arrays.model.count, 4096, [&](std::size_t i) {
        share_place([&](int plane) -> float& { return arrays.model.at(plane, i); }, rows.share[i],
                    id_of_tag(arrays.identity.tags[i]), rules);
    });
}

}  // namespace

std::size_t rows_after_relocation(std::size_t rows, std::size_t limit) {
    return std::max(rows, std::min(limit, rows + rows / 20));
}

DensityRules relocation_rules(const TrainingSettings& settings, double extent) {
    DensityRules rules = density_rules(settings, extent, false);
    rules.densify_gradient = std::numeric_limits<double>::infinity();
    rules.revised_opacity = false;
    return rules;
}

std::vector<float> relocation_pulls(const TrainingSettings& settings,
                                    std::span<const float> gradient_sum,
                                    std::span<const float> views) {
    if (!settings.relocate_by_pull) return {};
    const auto enough =
        static_cast<float>(std::max(1e-12, density_rules(settings, 1.0, false).densify_gradient));
    std::vector<float> out(views.size());
    for (std::size_t row = 0; row < out.size(); ++row)
        out[row] = density_pull(gradient_sum[row], views[row]) / enough;
    return out;
}

SharingRules sharing_rules(const TrainingSettings& settings, std::uint64_t step) {
    return {settings.prune_opacity, settings.relocate_spread,
            static_cast<std::uint64_t>(settings.seed), step};
}

RelocationPlan plan_relocation(const RelocationInput& in) {
    const Drawn drawn = draw(drawn_from(in), in.seed, in.step, in.next_id, in.limit);
    return {list_rows(in, 0, drawn.shares, drawn.newcomers), drawn.report};
}

DensityReport relocate(RunArrays& arrays, const TrainingSettings& settings, double extent,
                       Buffer<float>* save_reserve, Exchange& ranks) {
    GaussianModel& model = arrays.model;
    const DensityStatistics& statistics = arrays.statistics;
    RowIdentity& identity = arrays.identity;
    const std::uint32_t steps = arrays.adam.steps;
    const DensityRules rules = relocation_rules(settings, extent);
    const std::vector<Fate> fates = fates_of(model, statistics, identity, rules);
    const std::vector<float> pulls =
        relocation_pulls(settings, {statistics.gradient_sum.data(), model.count},
                         {statistics.views.data(), model.count});
    const auto plane = [&](int p) { return std::span<const float>(model.plane(p), model.count); };
    const auto input = [&] {  // rows move in memory when storage grows
        return RelocationInput{fates,
                               plane(kOpacityLogits),
                               {plane(kMeans), plane(kMeans + 1), plane(kMeans + 2)},
                               identity.tags.span(),
                               pulls};
    };
    const std::size_t first_row = among(ranks, model.count).first;
    DrawnFrom from = drawn_from(input());
    from = {joined_at_head(ranks, from.weights), joined_at_head(ranks, from.most)};
    DensityReport report;
    const auto planned = [&](std::size_t limit) {
        Drawn drawn;
        if (ranks.head())
            drawn = draw(from, static_cast<std::uint64_t>(settings.seed), steps, identity.book.next,
                         limit);
        report = drawn.report;
        const std::vector<std::uint8_t> shares = parted_from_head(ranks, drawn.shares, model.count);
        std::size_t came = 0;
        for (const std::uint8_t share : shares) came += share > 1 ? share - 1u : 0u;
        return list_rows(input(), first_row, shares,
                         parted_from_head(ranks, drawn.newcomers, came));
    };
    const auto limit = static_cast<std::size_t>(settings.max_gaussians);
    RoundRows rows = planned(limit);
    const std::size_t wanted = among(ranks, rows.size()).all,
                      room = reserve_rows(arrays, wanted, limit, ranks, save_reserve);
    if (room < wanted) rows = planned(room);
    report.out_of_memory = room < wanted;
    from = {};
    rows = rearrange(arrays, in_morton_order(rows, ranks), ranks);
    share_places(arrays, rows, sharing_rules(settings, steps));
    if (ranks.head()) identity.book.give(report.relocated + report.added, steps);
    clear_round(arrays);
    return report;
}

}  // namespace gs
