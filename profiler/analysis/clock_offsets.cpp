#include "profiler/analysis/clock_offsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "base/nth.h"

namespace gs {
namespace {

using Calls = std::span<const CollectiveCall>;

constexpr std::int64_t kReachNs = 10'000'000'000;  ///< that wall clocks may be wrong by
constexpr std::size_t kFewest = 8;                 ///< collectives
constexpr std::size_t kVoters = 256;               ///< calls that say which offsets are likely
constexpr std::int64_t kVoteNs = 20'000'000'000;   ///< in a stretch so short that drift is little
constexpr std::size_t kMostPartners = 4096;        ///< of a voter
/// How far apart ends may be that belong together: as tight as it will go.
constexpr double kWindowsNs[] = {50e3, 300e3, 2e6, 10e6};
constexpr std::size_t kPeaks = 6;  ///< of each
constexpr double kCausalShare = 0.9;
constexpr double kMatchedShare = 0.4;  ///< of a's calls while b recorded; less is chance
constexpr double kShortNs = 10e9;      ///< no drift is seen in less
constexpr double kTimerNs = 1000;      ///< differences below this are ignored

/// A collective that both took part in.
struct Match {
    double t = 0, d = 0;  ///< when a's ended; b's end minus that
    const CollectiveCall *a = nullptr, *b = nullptr;
};
/// An offset that may be the one, and what follows from it.
struct LikelyOffset {
    double offset_ns = 0, window_ns = 0;
};
struct Fit {
    ClockOffset clock;
    double sigma = 0;
    bool causal = false;
};

double median(std::vector<double> values) { return upper_median(values); }

/// Calls of b by kind, to find the one that ended next to a time.
class Partners {
  public:
    explicit Partners(Calls b) {
        for (const CollectiveCall& call : b) by_kind_[call.kind].push_back(&call);
    }
    std::span<const CollectiveCall* const> of(std::uint64_t kind) const {
        const auto found = by_kind_.find(kind);
        return found == by_kind_.end() ? std::span<const CollectiveCall* const>()
                                       : std::span<const CollectiveCall* const>(found->second);
    }
    /// The nearest of the kind within `reach` of t; null: none.
    const CollectiveCall* nearest(std::uint64_t kind, double t, double reach) const {
        const auto all = of(kind);
        const auto next = after(all, t);
        const CollectiveCall* best = nullptr;
        // The last before t, and the first from it on.
        for (auto it = next == all.begin() ? next : std::prev(next); it != all.end() && it <= next;
             ++it) {
            const double away = std::abs(static_cast<double>((*it)->end_ns) - t);
            if (away <= reach) {
                best = *it;
                reach = away;
            }
        }
        return best;
    }
    static std::span<const CollectiveCall* const>::iterator after(
        std::span<const CollectiveCall* const> all, double t) {
        return std::lower_bound(all.begin(), all.end(), t, [](const CollectiveCall* c, double at) {
            return static_cast<double>(c->end_ns) < at;
        });
    }

  private:
    std::unordered_map<std::uint64_t, std::vector<const CollectiveCall*>> by_kind_;
};

/// Calls of a in the middle of what both have.
Calls voters(Calls a, Calls b) {
    const auto in_time = [](std::int64_t t) {
        return [t](const CollectiveCall& c) { return c.end_ns < t; };
    };
    const auto first = std::ranges::partition_point(a, in_time(b.front().end_ns - kReachNs));
    const auto last = std::partition_point(first, a.end(), in_time(b.back().end_ns + kReachNs));
    const auto count = static_cast<std::size_t>(last - first);
    Calls out = a.subspan(static_cast<std::size_t>(first - a.begin()), count);
    if (count > kVoters) out = out.subspan((count - kVoters) / 2, kVoters);
    while (out.size() > kFewest && out.back().end_ns - out.front().end_ns > kVoteNs)
        out = out.subspan(1, out.size() - 2);
    return out;
}

/// All that the offset could be if two calls were the same collective.
std::vector<double> differences(Calls a, const Partners& b) {
    std::vector<double> out;
    for (const CollectiveCall& call : a) {
        const auto all = b.of(call.kind);
        const auto t = static_cast<double>(call.end_ns);
        auto from = Partners::after(all, t - kReachNs), to = Partners::after(all, t + kReachNs);
        const auto middle = Partners::after(all, t);
        constexpr auto kHalf = static_cast<std::ptrdiff_t>(kMostPartners / 2);
        from = middle - std::min(middle - from, kHalf);
        to = middle + std::min(to - middle, kHalf);
        for (; from != to; ++from) out.push_back(static_cast<double>((*from)->end_ns) - t);
    }
    std::ranges::sort(out);
    return out;
}

/// Where most differences lie within a window.
void add_peaks(const std::vector<double>& sorted, double window, std::vector<LikelyOffset>& out) {
    std::vector<std::size_t> count(sorted.size());
    for (std::size_t i = 0, j = 0; i < sorted.size(); ++i) {
        while (j < sorted.size() && sorted[j] - sorted[i] <= window) ++j;
        count[i] = j - i;
    }
    for (std::size_t peak = 0; peak < kPeaks; ++peak) {
        const auto best = std::ranges::max_element(count);
        if (best == count.end() || *best < kFewest / 2) return;
        const auto i = static_cast<std::size_t>(best - count.begin());
        out.push_back({sorted[i + *best / 2], window});
        const double low = sorted[i] - window, high = sorted[i] + window;
        const auto from = std::ranges::lower_bound(sorted, low) - sorted.begin();
        const auto to = std::ranges::upper_bound(sorted, high) - sorted.begin();
        std::fill(count.begin() + from, count.begin() + to, 0);
    }
}

/// Follows an offset that may drift from the voters on, over all calls of a.
std::vector<Match> follow(Calls a, const CollectiveCall* start, const Partners& b,
                          const LikelyOffset& from) {
    constexpr double kPace = 0.05;  // of the way to the newest difference
    std::vector<Match> out;
    const auto walk = [&](auto begin, auto end) {
        double offset = from.offset_ns;
        const CollectiveCall* last = nullptr;
        for (auto call = begin; call != end; ++call) {
            const auto t = static_cast<double>(call->end_ns);
            const CollectiveCall* partner = b.nearest(call->kind, t + offset, from.window_ns);
            if (partner == nullptr || partner == last) continue;
            last = partner;
            const double d = static_cast<double>(partner->end_ns) - t;
            out.push_back({t, d, &*call, partner});
            offset += kPace * (d - offset);
        }
    };
    const auto middle = a.begin() + (start - a.data());
    walk(middle, a.end());
    walk(std::make_reverse_iterator(middle), a.rend());
    std::ranges::sort(out, {}, &Match::t);
    return out;
}

/// Whether as many of a's calls have a partner as must have one if the offset is right.
bool are_enough(const std::vector<Match>& matches, Calls a, Calls b, double offset) {
    if (matches.size() < kFewest) return false;
    const auto expected = std::ranges::count_if(a, [&](const CollectiveCall& call) {
        const double t = static_cast<double>(call.end_ns) + offset;
        return t >= static_cast<double>(b.front().end_ns) &&
               t <= static_cast<double>(b.back().end_ns);
    });
    return static_cast<double>(matches.size()) >= kMatchedShare * static_cast<double>(expected);
}

/// The median of the slopes between medians of pieces (Theil and Sen).
double slope_of(const std::vector<Match>& matches) {
    constexpr std::size_t kPieces = 40;
    const std::size_t pieces = std::min(kPieces, matches.size() / 3);
    std::vector<Match> points;
    for (std::size_t p = 0; p < pieces; ++p) {
        std::vector<double> t, d;
        for (std::size_t i = p * matches.size() / pieces; i < (p + 1) * matches.size() / pieces;
             ++i) {
            t.push_back(matches[i].t - matches.front().t);
            d.push_back(matches[i].d);
        }
        points.push_back({median(std::move(t)), median(std::move(d))});
    }
    std::vector<double> slopes;
    for (std::size_t i = 0; i < points.size(); ++i)
        for (std::size_t j = i + 1; j < points.size(); ++j)
            if (points[j].t > points[i].t)
                slopes.push_back((points[j].d - points[i].d) / (points[j].t - points[i].t));
    return slopes.empty() ? 0 : median(std::move(slopes));
}

/// Sets offset and sigma for the drift that is set.
void centre(const std::vector<Match>& matches, Fit& fit) {
    std::vector<double> rest;
    const auto at = static_cast<double>(fit.clock.at_ns);
    for (const Match& m : matches) rest.push_back(m.d - fit.clock.drift * (m.t - at));
    fit.clock.offset_ns = median(rest);
    for (double& r : rest) r = std::abs(r - fit.clock.offset_ns);
    fit.sigma = 1.4826 * median(std::move(rest));
}

/// Nobody leaves before the last has entered.
bool is_causal(const std::vector<Match>& matches, const ClockOffset& clock) {
    std::size_t kept = 0;
    for (const Match& m : matches) {
        const double offset =
            clock.offset_ns + clock.drift * (m.t - static_cast<double>(clock.at_ns));
        const auto apart = static_cast<double>(m.b->begin_ns - m.a->end_ns);
        const auto other = static_cast<double>(m.a->begin_ns - m.b->end_ns);
        kept += apart <= offset + clock.error_ns && other <= clock.error_ns - offset ? 1 : 0;
    }
    return static_cast<double>(kept) >= kCausalShare * static_cast<double>(matches.size());
}

/// The shortest that a rank was ever inside: who comes last is inside while the data goes round.
double transport_ns(const std::vector<Match>& matches) {
    std::vector<double> shortest;
    for (const Match& m : matches)
        shortest.push_back(static_cast<double>(
            std::min(m.a->end_ns - m.a->begin_ns, m.b->end_ns - m.b->begin_ns)));
    return nth_of(shortest, shortest.size() / 20);
}

Fit fitted(const std::vector<Match>& matches) {
    Fit fit;
    ClockOffset& clock = fit.clock;
    clock.collectives = matches.size();
    clock.at_ns = static_cast<std::int64_t>(matches[matches.size() / 2].t);
    const double stretch = matches.back().t - matches.front().t;
    const double root = std::sqrt(static_cast<double>(matches.size()));
    centre(matches, fit);
    if (stretch > kShortNs && matches.size() >= 4 * kFewest) {
        clock.drift = slope_of(matches);
        centre(matches, fit);
        clock.drift_error = 6 * std::sqrt(12.0) * std::max(fit.sigma, kTimerNs) / (stretch * root);
        if (std::abs(clock.drift) <= clock.drift_error) {
            clock.drift = 0;
            centre(matches, fit);
        }
    }
    clock.error_ns = transport_ns(matches) + 4 * fit.sigma / root + kTimerNs;
    fit.causal = is_causal(matches, clock);
    return fit;
}

/// The only fitting one, if it is certain.
std::optional<ClockOffset> choose(std::vector<Fit> fits) {
    std::size_t most = 0;
    for (const Fit& fit : fits) most = std::max(most, fit.clock.collectives);
    std::erase_if(fits, [&](const Fit& f) { return f.clock.collectives * 10 < most * 6; });
    if (fits.empty()) return std::nullopt;
    double tightest = std::numeric_limits<double>::max();
    for (const Fit& fit : fits) tightest = std::min(tightest, std::max(fit.sigma, kTimerNs));
    std::erase_if(fits, [&](const Fit& f) { return f.sigma > 2 * tightest; });
    most = 0;
    for (const Fit& fit : fits) most = std::max(most, fit.clock.collectives);
    std::erase_if(fits, [&](const Fit& f) { return f.clock.collectives * 20 < most * 19; });
    const auto nearest = std::ranges::min_element(fits, [](const Fit& x, const Fit& y) {
        return std::abs(x.clock.offset_ns) < std::abs(y.clock.offset_ns);
    });
    const ClockOffset& best = nearest->clock;
    for (const Fit& fit : fits) {
        const double apart = std::abs(fit.clock.offset_ns - best.offset_ns);
        if (apart <= best.error_ns + fit.clock.error_ns) continue;
        // As likely, but for what the wall clocks say.
        if (std::abs(fit.clock.offset_ns) < 4 * (std::abs(best.offset_ns) + best.error_ns))
            return std::nullopt;
    }
    return best;
}

}  // namespace

bool ClockOffset::differs() const { return std::abs(offset_ns) > error_ns || drift != 0; }

std::optional<ClockOffset> clock_offset(Calls a, Calls b) {
    if (a.size() < kFewest || b.size() < kFewest) return std::nullopt;
    const Calls asked = voters(a, b);
    if (asked.size() < kFewest) return std::nullopt;
    const Partners partners(b);
    const std::vector<double> all = differences(asked, partners);
    std::vector<LikelyOffset> candidates;
    for (const double window : kWindowsNs) add_peaks(all, window, candidates);
    std::vector<Fit> fits;
    for (const LikelyOffset& candidate : candidates) {
        const auto matches = follow(a, asked.data() + asked.size() / 2, partners, candidate);
        if (!are_enough(matches, a, b, candidate.offset_ns)) continue;
        const Fit fit = fitted(matches);
        if (fit.causal) fits.push_back(fit);
    }
    return choose(std::move(fits));
}

std::string clock_text(const ClockOffset& c, std::string_view other) {
    const std::string rests = fmt::format(
        "{} ({} collectives){}", other, c.collectives,
        c.drift != 0 ? fmt::format(", drift {:+.2f} ppm", c.drift * 1e6) : std::string());
    if (!c.differs()) return fmt::format("within {:.3f} ms of {}", c.error_ns * 1e-6, rests);
    return fmt::format("{:.3f} ms \u00b1 {:.3f} ms {} {}", std::abs(c.offset_ns) * 1e-6,
                       c.error_ns * 1e-6, c.offset_ns < 0 ? "behind" : "ahead of", rests);
}

}  // namespace gs
