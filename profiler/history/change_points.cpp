#include "profiler/history/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "profiler/store/statistics.h"

namespace gs::history {
namespace {

constexpr std::size_t kMostBlocks = 96;
constexpr double kLeastStretch = 12;    // six values on either side
constexpr double kShrink = 0.70710678;  // of one length of stretches to the next

/// Medians of at most kMostBlocks stretches of points that have a figure, and where each begins.
struct Blocks {
    std::vector<double> values;
    std::vector<std::size_t> first;
};
Blocks blocks_of(std::span<const Point> points) {
    std::vector<std::size_t> known;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (std::isfinite(points[i].of.p50)) known.push_back(i);
    Blocks out;
    const std::size_t count = std::min(known.size(), kMostBlocks);
    for (std::size_t b = 0; b < count; ++b) {
        const std::size_t begin = b * known.size() / count, end = (b + 1) * known.size() / count;
        std::vector<double> values;
        for (std::size_t i = begin; i < end; ++i) values.push_back(points[known[i]].of.p50);
        out.values.push_back(median_of(std::move(values)));
        out.first.push_back(known[begin]);
    }
    return out;
}

/// Ranks from 1, equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i + 1;
        while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
        for (std::size_t j = i; j < end; ++j)
            ranks[order[j]] = 0.5 * static_cast<double>(i + 1 + end);
        i = end;
    }
    return ranks;
}

struct Candidate {
    std::size_t place = 0;  ///< of the first value after it
    double chance = 1;      ///< that values without a change look like this
};
/// Pettitt's test of values[begin..end). U_t = 2 sum of the first t ranks - t (n + 1).
Candidate likeliest_change(std::span<const double> values, std::size_t begin, std::size_t end) {
    const auto n = static_cast<double>(end - begin);
    const std::vector<double> ranks = ranks_of(values.subspan(begin, end - begin));
    double sum = 0, most = 0;
    Candidate out;
    for (std::size_t t = 1; t < ranks.size(); ++t) {
        sum += ranks[t - 1];
        const double u = std::abs(2 * sum - static_cast<double>(t) * (n + 1));
        if (u > most) most = u, out.place = begin + t;
    }
    out.chance = 2 * std::exp(-6 * most * most / (n * n * n + n * n));
    return out;
}

/// The test of the whole alone misses what goes up and comes down again: it is asked of stretches
/// of every length (S. Kovacs and others, "Seeded binary segmentation", Biometrika 110, 2023). As
/// many as there are ask, each by so much less may be chance.
Candidate likeliest_of_stretches(std::span<const double> values, std::size_t begin,
                                 std::size_t end) {
    Candidate best;
    double asked = 0;
    for (auto length = static_cast<double>(end - begin); length >= kLeastStretch;
         length *= kShrink) {
        const double room = static_cast<double>(end - begin) - length;
        const double steps = std::ceil(2 * room / length);
        for (double i = 0; i <= steps; ++i, ++asked) {
            const std::size_t from =
                begin + static_cast<std::size_t>(steps > 0 ? i * room / steps : 0);
            const Candidate found =
                likeliest_change(values, from, from + static_cast<std::size_t>(length));
            if (found.chance < best.chance) best = found;
        }
    }
    best.chance *= std::max(asked, 1.0);
    return best;
}

/// Appends the places of changes within values[begin..end), in order.
void split(std::span<const double> values, std::size_t begin, std::size_t end, double chance,
           std::vector<std::size_t>& places) {
    const Candidate found = likeliest_of_stretches(values, begin, end);
    if (!(found.chance < chance)) return;
    split(values, begin, found.place, chance, places);
    places.push_back(found.place);
    split(values, found.place, end, chance, places);
}

/// The point at which the change between two blocks is, from the points of both.
std::size_t point_at(std::span<const Point> points, const Blocks& blocks, std::size_t block) {
    const std::size_t end =
        block + 1 < blocks.first.size() ? blocks.first[block + 1] : points.size();
    std::vector<std::size_t> index;
    std::vector<double> values;
    for (std::size_t i = blocks.first[block - 1]; i < end; ++i) {
        if (!std::isfinite(points[i].of.p50)) continue;
        index.push_back(i);
        values.push_back(points[i].of.p50);
    }
    const std::size_t place = likeliest_change(values, 0, values.size()).place;
    return place == 0 ? blocks.first[block] : index[place];
}

}  // namespace

std::vector<Change> change_points(std::span<const Point> points, const ChangeOptions& options) {
    const Blocks blocks = blocks_of(points);
    const std::span<const double> values = blocks.values;
    std::vector<std::size_t> places;
    split(values, 0, values.size(), options.chance, places);
    std::vector<Change> out;
    // From the last kept change to the next place: what was no change joins its neighbours.
    std::size_t begin = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::size_t end = i + 1 < places.size() ? places[i + 1] : values.size();
        const auto before = values.subspan(begin, places[i] - begin),
                   after = values.subspan(places[i], end - places[i]);
        const Shift shift = shift_of(before, after);
        const double base = median_of({before.begin(), before.end()});
        const Verdict verdict = verdict_of(shift, base, options.least_effect);
        if (verdict != Verdict::slower && verdict != Verdict::faster) continue;
        out.push_back({point_at(points, blocks, places[i]), base,
                       median_of({after.begin(), after.end()}), shift, shift.estimate / base});
        begin = places[i];
    }
    return out;
}

}  // namespace gs::history
