#include "trainer/density/relocation.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

/// Draws living rows in proportion to their opacity and pull, none more often than it may be
/// shared.
class Draws {
  public:
    explicit Draws(const RelocationInput& in) : in_(in), shares_(in.fates.size(), 1) {
        sums_.reserve(in.fates.size());
        for (std::size_t row = 0; row < in.fates.size(); ++row) {
            if (in.fates[row] != Fate::remove && !locked_tag(in.tags[row]))
                total_ += static_cast<std::uint64_t>(
                    1 +
                    1e6 * pull_of(row) * static_cast<double>(opacity_of(in.opacity_logits[row])));
            sums_.push_back(total_);
        }
    }
    /// kNobody: every place is full.
    std::uint32_t draw(std::uint32_t id) {
        if (total_ == 0) return kNobody;
        constexpr std::uint64_t kTries = 16;
        std::size_t row = 0;
        for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
            const std::uint64_t bits =
                random_bits(in_.seed, kRelocationStream + in_.step, id * kTries + attempt);
            row = row_at(bits % total_);
            if (has_room(row)) return take(row);
        }
        for (std::size_t i = 1; i < sums_.size(); ++i)
            if (const std::size_t next = (row + i) % sums_.size(); alive(next) && has_room(next))
                return take(next);
        return kNobody;
    }
    std::uint8_t shares(std::size_t row) const { return shares_[row]; }

  private:
    std::size_t row_at(std::uint64_t at) const {
        return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), at) -
                                        sums_.begin());
    }
    /// A few that pull beyond measure do not take all.
    double pull_of(std::size_t row) const {
        constexpr float kMost = 100;
        return in_.pulls.empty() ? 1 : static_cast<double>(std::min(in_.pulls[row], kMost));
    }
    bool alive(std::size_t row) const { return sums_[row] != (row == 0 ? 0 : sums_[row - 1]); }
    bool has_room(std::size_t row) const {
        return shares_[row] < most_shares(opacity_of(in_.opacity_logits[row]));
    }
    std::uint32_t take(std::size_t row) {
        ++shares_[row];
        return static_cast<std::uint32_t>(row);
    }

    const RelocationInput& in_;
    std::vector<std::uint64_t> sums_;  ///< of weights, by row, its own included
    std::vector<std::uint8_t> shares_;
    std::uint64_t total_ = 0;
};

/// Everybody that shares a place looks like a part of who was there.
void share_places(GaussianModel& model, const RoundRows& rows, const SharingRules& rules) {
    parallel_for(rows.source.size(), 4096, [&](std::size_t i) {
        share_place([&](int plane) -> float& { return model.at(plane, i); }, rows.share[i],
                    id_of_tag(rows.tag[i]), rules);
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
    const std::size_t count = in.fates.size();
    RelocationPlan out;
    DensityReport& report = out.report;
    Draws draws(in);
    std::uint32_t born = 0;
    std::vector<std::uint32_t> target(count, kNobody), added;
    std::vector<std::uint32_t> new_tag(count, 0);
    for (std::size_t row = 0; row < count; ++row) {
        if (in.fates[row] != Fate::remove) continue;
        ++report.dead;
        const std::uint32_t id = later_id(in.next_id, born);
        target[row] = draws.draw(id);
        if (target[row] == kNobody) continue;
        new_tag[row] = id;
        ++born;
        ++report.relocated;
    }
    for (std::size_t more = rows_after_relocation(count, in.limit) - count; more > 0; --more) {
        const std::uint32_t from = draws.draw(later_id(in.next_id, born));
        if (from == kNobody) break;
        added.push_back(from);
        ++born;
    }
    report.added = added.size();
    const auto add = [&](std::size_t source, Origin origin, std::uint32_t tag,
                         std::uint8_t came = 0) {
        out.rows.add(source, origin, {in.mean[0][source], in.mean[1][source], in.mean[2][source]},
                     tag);
        out.rows.share.push_back(draws.shares(source) | came);
    };
    for (std::size_t row = 0; row < count; ++row) {
        if (target[row] != kNobody)
            add(target[row], Origin::copy, new_tag[row], kNewcomer);
        else
            add(row, draws.shares(row) > 1 ? Origin::copy : Origin::kept, in.tags[row]);
    }
    for (std::uint32_t i = 0; i < added.size(); ++i)
        add(added[i], Origin::copy,
            later_id(in.next_id, static_cast<std::uint32_t>(report.relocated) + i), kNewcomer);
    return out;
}

DensityReport relocate(RunArrays& arrays, const TrainingSettings& settings, double extent,
                       Buffer<float>* save_reserve) {
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
    const auto planned = [&](std::size_t limit) {
        return plan_relocation({fates,
                                plane(kOpacityLogits),
                                {plane(kMeans), plane(kMeans + 1), plane(kMeans + 2)},
                                identity.tags.span(),
                                pulls,
                                identity.book.next,
                                static_cast<std::uint64_t>(settings.seed),
                                steps,
                                limit});
    };
    const auto limit = static_cast<std::size_t>(settings.max_gaussians);
    RelocationPlan plan = planned(limit);
    const std::size_t wanted = plan.rows.source.size();
    const std::size_t room = reserve_rows(arrays, wanted, limit, save_reserve);
    if (room < wanted) plan = planned(room);
    plan.report.out_of_memory = room < wanted;
    const RoundRows rows = in_morton_order(plan.rows);
    rearrange(arrays, rows);
    share_places(model, rows, sharing_rules(settings, steps));
    identity.book.give(plan.report.relocated + plan.report.added, steps);
    clear_round(arrays);
    return plan.report;
}

}  // namespace gs
