// LoopLane::judge(): groups of names that come once in each other's gaps are candidates; from the
// finest one that most of the row belongs to, it moves outward to what holds several turns of it.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "profiler/store/loop_lane.h"

namespace gs {
namespace {

using Tally = LoopLane::Tally;

constexpr std::uint64_t kLeast = 4;       ///< occurrences: three gaps
constexpr std::uint64_t kLeastPlain = 8;  ///< the same, where no name says anything
constexpr std::size_t kMostJudged = 32;
constexpr double kSame = 0.8;     ///< of the gaps: an optional range in one turn of five
constexpr double kAlways = 0.95;  ///< of the gaps, of what may come a varying number of times
constexpr double kCover = 0.6;
constexpr double kCoverPlain = 0.65;  ///< two equal pairs at random stay below
constexpr double kAbsentGaps = 16;    ///< usual gaps after which a name is gone
constexpr double kAlmostAll = 0.9;
constexpr double kEqualGaps = 0.02;
constexpr int kMostOptimizers = 8, kMostLayers = 128;

/// How often one name comes between two of another.
struct Held {
    int times = 0;     ///< the commonest number
    double share = 0;  ///< of the gaps, those that hold this number
    double any = 0;    ///< of the gaps, those that hold any
    bool steady() const { return times >= 1 && share >= kSame; }
    bool once() const { return times == 1 && share >= kSame; }
};

struct Judged {
    const Tally* of = nullptr;
    std::vector<std::uint64_t> at;  ///< its newest occurrences, ascending
    double rate = 0;                ///< a range of the row
    double runs = 0;                ///< the same, twenty in a row counted as one
};

Judged judged(const Tally& tally) {
    Judged out{.of = &tally, .at = {}};
    const std::size_t kept = tally.kept();
    for (std::size_t i = 0; i < kept; ++i)
        out.at.push_back(tally.ring[(tally.count - kept + i) % LoopLane::kRing]);
    std::size_t runs = 1;
    for (std::size_t i = 1; i < kept; ++i) runs += out.at[i] > out.at[i - 1] + 1 ? 1 : 0;
    const auto reach = static_cast<double>(out.at.back() - out.at.front());
    out.rate = static_cast<double>(kept - 1) / reach;
    out.runs = static_cast<double>(runs) / reach;
    return out;
}

Held commonest(std::vector<int> counts) {
    Held out;
    out.any = static_cast<double>(std::ranges::count_if(counts, [](int n) { return n > 0; })) /
              static_cast<double>(counts.size());
    std::ranges::sort(counts);
    std::size_t most = 0;
    for (auto from = counts.begin(); from != counts.end();) {
        const auto end = std::upper_bound(from, counts.end(), *from);
        if (const auto n = static_cast<std::size_t>(end - from); n > most) {
            most = n;
            out.times = *from;
        }
        from = end;
    }
    out.share = static_cast<double>(most) / static_cast<double>(counts.size());
    return out;
}

Held held_by(const Judged& outer, const Judged& inner) {
    // Gaps before the oldest occurrence that is remembered of the other say nothing.
    const std::uint64_t from = inner.of->count > inner.at.size() ? inner.at.front() : 0;
    std::vector<int> counts;
    auto next = inner.at.begin();
    for (std::size_t i = 1; i < outer.at.size(); ++i) {
        while (next != inner.at.end() && *next <= outer.at[i - 1]) ++next;
        int count = 0;
        for (; next != inner.at.end() && *next < outer.at[i]; ++next) ++count;
        if (outer.at[i - 1] >= from) counts.push_back(count);
    }
    if (counts.size() + 1 >= kLeast) return commonest(std::move(counts));
    // The other comes so often that what is remembered of it does not reach over a gap: then gaps
    // of equal length, in ranges, hold equal numbers of it.
    std::vector<double> gaps;
    for (std::size_t i = 1; i < outer.at.size(); ++i)
        gaps.push_back(static_cast<double>(outer.at[i] - outer.at[i - 1]));
    std::vector<double> sorted = gaps;
    std::ranges::sort(sorted);
    const double middle = sorted[sorted.size() / 2];
    const auto equal = std::ranges::count_if(
        gaps, [&](double gap) { return std::abs(gap - middle) <= kEqualGaps * middle; });
    return {static_cast<int>(std::lround(inner.rate / outer.rate)),
            static_cast<double>(equal) / static_cast<double>(gaps.size()), 1.0};
}

using Group = std::vector<std::size_t>;  // indices of names

class Judgement {
  public:
    explicit Judgement(const LoopLane& lane) : lane_(lane) {
        choose_names();
        for (const Judged& a : names_)
            for (const Judged& b : names_) held_.push_back(&a == &b ? Held{} : held_by(a, b));
        for (const Judged& name : names_) all_runs_ += name.runs;
        // Of two names at random one may not come for a while.
        for (const Tally& t : lane.tallies())
            if (t.count >= kLeast && !lane.is_live(t) && lane.is_live(t, kAbsentGaps))
                all_runs_ += lane.pace(t);
    }
    std::optional<FoundLoop> loop() const;

  private:
    void choose_names();
    std::vector<Group> groups() const;
    std::vector<Group> candidates() const;
    Group outermost(const std::vector<Group>& from, bool& ambiguous) const;
    bool moves_outward(const Group& to, const Group& from, const Held& holds) const;
    double cover(const Group& group) const;
    std::size_t marker_of(const Group& group) const;
    FoundLoop described(const Group& group, bool ambiguous) const;

    const Tally& tally(std::size_t name) const { return *names_[name].of; }
    const Held& held(std::size_t outer, std::size_t inner) const {
        return held_[outer * names_.size() + inner];
    }
    bool alternate(std::size_t a, std::size_t b) const {
        return a == b || (held(a, b).once() && held(b, a).once());
    }
    bool has(const Group& group, std::uint16_t words) const {
        return std::ranges::any_of(group, [&](std::size_t n) { return tally(n).has(words); });
    }
    bool is_aside(const Group& group) const {
        return std::ranges::all_of(group, [&](std::size_t n) { return tally(n).has(kSideWord); });
    }
    bool updates(const Group& group) const { return group.size() > 1 && has(group, kEndsTurn); }
    /// Its names come in each other's gaps nearly always.
    bool is_firm(const Group& group) const {
        return std::ranges::all_of(group, [&](std::size_t a) {
            return std::ranges::all_of(
                group, [&](std::size_t b) { return a == b || held(a, b).share >= kAlways; });
        });
    }
    double rate(const Group& group) const {
        std::vector<double> rates;
        for (const std::size_t n : group) rates.push_back(names_[n].rate);
        std::ranges::sort(rates);
        return rates[rates.size() / 2];
    }

    const LoopLane& lane_;
    std::vector<Judged> names_;
    std::vector<Held> held_;  // [outer][inner]
    double all_runs_ = 0;
};

void Judgement::choose_names() {
    std::vector<const Tally*> live;
    for (const Tally& t : lane_.tallies())
        if (t.count >= kLeast && lane_.is_live(t)) live.push_back(&t);
    const auto says_it = [](const Tally* t) { return t->has(kTrainingWords); };
    if (std::ranges::none_of(live, says_it))
        std::erase_if(live, [](const Tally* t) { return t->count < kLeastPlain; });
    std::ranges::sort(live, [&](const Tally* a, const Tally* b) {
        return says_it(a) != says_it(b) ? says_it(a) : a->first_ns < b->first_ns;
    });
    if (live.size() > kMostJudged) live.resize(kMostJudged);
    for (const Tally* t : live) names_.push_back(judged(*t));
}

/// The name that most alternate with, and those; then the same among the rest.
std::vector<Group> Judgement::groups() const {
    std::vector<Group> out;
    Group left(names_.size());
    for (std::size_t n = 0; n < left.size(); ++n) left[n] = n;
    while (!left.empty()) {
        const auto partners = [&](std::size_t a) {
            return std::ranges::count_if(left, [&](std::size_t b) { return alternate(a, b); });
        };
        std::size_t best = left.front();
        for (const std::size_t n : left) {
            const auto more = partners(n) - partners(best);
            if (more > 0 || (more == 0 && tally(n).first_ns < tally(best).first_ns)) best = n;
        }
        const auto rest = std::stable_partition(left.begin(), left.end(),
                                                [&](std::size_t n) { return alternate(best, n); });
        out.emplace_back(left.begin(), rest);
        left.erase(left.begin(), rest);
    }
    return out;
}

/// How much of the row's ranges, or of its time, belongs to a group and what it holds.
double Judgement::cover(const Group& group) const {
    const bool update = has(group, kEndsTurn);
    double runs = 0, busy = 0, aside = 0;
    std::size_t inside = 0;
    bool others_aside = true;
    for (std::size_t n = 0; n < names_.size(); ++n) {
        const bool own = std::ranges::find(group, n) != group.end();
        const auto holders = std::ranges::count_if(group, [&](std::size_t a) {
            return held(a, n).steady() || (update && held(a, n).any >= kAlways);
        });
        if (own || 2 * static_cast<std::size_t>(holders) > group.size()) {
            ++inside;
            runs += names_[n].runs;
            busy += static_cast<double>(tally(n).busy_ns);
        }
        if (n == group.front()) continue;
        others_aside = others_aside && tally(n).has(kSideWord);
        if (tally(n).has(kSideWord)) aside += static_cast<double>(tally(n).count);
    }
    const double of_time = busy / std::max(static_cast<double>(lane_.busy_ns()), 1.0);
    if (inside > 1) return std::max(runs / all_runs_, of_time);
    // A name by itself must be nearly all there is.
    const double of_ranges = static_cast<double>(tally(group.front()).count) /
                             std::max(static_cast<double>(lane_.ranges()) - aside, 1.0);
    const bool alone = of_ranges >= kCover && (others_aside || of_time > kAlmostAll);
    return alone ? std::max(of_ranges, of_time) : 0;
}

/// From the finest to the rarest.
std::vector<Group> Judgement::candidates() const {
    const std::vector<Group> all = groups();
    std::vector<Group> out;
    for (const Group& g : all)
        if (!is_aside(g) &&
            (has(g, kOptimizerHook) || cover(g) >= (has(g, kTrainingWords) ? kCover : kCoverPlain)))
            out.push_back(g);
    if (out.empty()) return out;
    // What comes a fixed number of times in one of them may be the loop itself.
    for (const Group& g : all) {
        if (is_aside(g) || std::ranges::find(out, g) != out.end()) continue;
        if (std::ranges::any_of(out, [&](const Group& outer) {
                const Held& h = held(outer.front(), g.front());
                return h.steady() && h.times > 1;
            }))
            out.push_back(g);
    }
    std::ranges::stable_sort(out,
                             [&](const Group& a, const Group& b) { return rate(a) > rate(b); });
    return out;
}

bool Judgement::moves_outward(const Group& to, const Group& from, const Held& holds) const {
    if (has(to, kEndsTurn)) return true;
    if (has(to, kLoaderHook) && has(from, kOptimizerHook) && holds.times <= kMostOptimizers)
        return true;
    return to.size() > 1 && to.size() >= from.size() && is_firm(to) && holds.times <= kMostLayers;
}

Group Judgement::outermost(const std::vector<Group>& from, bool& ambiguous) const {
    Group current = from.front();
    bool outer = false;
    for (std::size_t i = 1; i < from.size(); ++i) {
        const Group& next = from[i];
        Held holds = held(next.front(), current.front());
        // The number of small turns in one of the optimizer's may vary.
        if (has(next, kEndsTurn) && holds.any >= kAlways && holds.times >= 1 &&
            names_[current.front()].rate > 1.5 * names_[next.front()].rate)
            holds = {std::max(holds.times, 2), 1, holds.any};
        if (holds.times < 2) {
            if (!updates(current) && (updates(next) || next.size() > current.size()))
                current = next;
            continue;
        }
        if (holds.share < kSame) continue;
        ambiguous = true;
        const bool loader =
            has(next, kLoaderHook) && !has(current, kLoaderHook) && holds.times <= kMostOptimizers;
        if ((outer || updates(current)) && !loader) continue;
        if (!moves_outward(next, current, holds)) continue;
        outer = has(next, kEndsTurn | kLoaderHook);
        current = next;
    }
    return current;
}

/// The optimizer, which runs for nothing else (an evaluation has none); else the rarest, else the
/// first.
std::size_t Judgement::marker_of(const Group& group) const {
    for (const std::size_t n : group)
        if (tally(n).has(kOptimizerHook)) return n;
    std::uint64_t least = tally(group.front()).count;
    for (const std::size_t n : group) least = std::min(least, tally(n).count);
    const std::uint64_t slack = std::max<std::uint64_t>(1, least / 100);
    const auto cost = [&](std::size_t n) {
        return std::make_tuple(tally(n).count > least + slack, tally(n).has(kSideWord),
                               tally(n).first_ns);
    };
    return *std::ranges::min_element(
        group, [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
}

FoundLoop Judgement::described(const Group& group, bool ambiguous) const {
    const Tally& marker = tally(marker_of(group));
    FoundLoop out{.marker = marker.key,
                  .bare = marker.bare,
                  .members = {},
                  .name = marker.text,
                  .turns = marker.count,
                  .first_ns = marker.first_ns};
    for (const std::size_t n : group) out.members.push_back(tally(n).key);
    const bool only_data =
        std::ranges::all_of(group, [&](std::size_t n) { return tally(n).has(kDataWord); });
    const bool requests = has(group, kRequestWord);
    out.standing = has(group, kOptimizerHook)             ? 5
                   : has(group, kLoaderHook)              ? 4
                   : requests                             ? 1
                   : has(group, kUpdateWord | kTrainWord) ? 3
                   : only_data                            ? 1
                                                          : 2;
    out.kind = out.is_training() ? LoopKind::loop
               : requests        ? LoopKind::requests
                                 : LoopKind::recurring;
    out.updates = updates(group);
    out.ends_turn = group.size() > 1 && marker.has(kEndsTurn);
    out.confidence = std::max(cover(group), has(group, kOptimizerHook) ? kCover : 0.0) *
                     (out.is_training() ? 0.95 : 0.8) * (group.size() > 1 ? 1.0 : 0.7) *
                     (ambiguous && !out.is_training() ? 0.8 : 1.0) *
                     (marker.count >= kLeastPlain ? 1.0 : 0.8);
    return out;
}

std::optional<FoundLoop> Judgement::loop() const {
    if (names_.empty()) return {};
    const std::vector<Group> from = candidates();
    if (from.empty()) return {};
    bool ambiguous = false;
    FoundLoop out = described(outermost(from, ambiguous), ambiguous);
    if (!out.is_training() && lane_.find(out.marker)->count < kLeastPlain) return {};
    return out;
}

}  // namespace

std::optional<FoundLoop> LoopLane::judge() const { return Judgement(*this).loop(); }

}  // namespace gs
