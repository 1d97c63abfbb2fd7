// Intervals of time as sorted, disjoint sets: unions over streams and threads, what of one lies
// inside another, what is missing. Every operation is one walk over its inputs. Used by the
// breakdown of iterations and by the insights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gs {

struct Interval {
    std::int64_t begin = 0, end = 0;
    std::int64_t length() const { return end - begin; }
    bool operator==(const Interval&) const = default;
};

/// Sorted by begin; neither overlapping nor touching; none empty.
using Intervals = std::vector<Interval>;

/// Adds what lies at or after the last begin in `set`; `more.begin` must not be before it. Empty
/// ones are left out.
void append(Intervals& set, Interval more);
Intervals union_of(std::span<const Interval> a, std::span<const Interval> b);
/// Of many sets, pairwise: each element is looked at once per doubling.
Intervals union_of(std::vector<Intervals> sets);
Intervals intersection_of(std::span<const Interval> a, std::span<const Interval> b);
/// What of `whole` is not in `set`.
Intervals gaps_of(std::span<const Interval> set, Interval whole);
std::int64_t length_of(std::span<const Interval> set);
/// How much of `whole` is in `set`: O(log n + what it overlaps).
std::int64_t length_within(std::span<const Interval> set, Interval whole);
/// The parts of `set` that are in `whole`.
Intervals clipped(std::span<const Interval> set, Interval whole);

}  // namespace gs
