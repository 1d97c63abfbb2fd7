#include "profiler/analysis/intervals.h"

#include <algorithm>

namespace gs {
namespace {

/// The first that ends after t.
auto first_after(std::span<const Interval> set, std::int64_t t) {
    return std::upper_bound(set.begin(), set.end(), t,
                            [](std::int64_t time, const Interval& i) { return time < i.end; });
}

}  // namespace

void append(Intervals& set, Interval more) {
    if (more.end <= more.begin) return;
    if (set.empty() || set.back().end < more.begin)
        set.push_back(more);
    else
        set.back().end = std::max(set.back().end, more.end);
}

Intervals union_of(std::span<const Interval> a, std::span<const Interval> b) {
    Intervals out;
    out.reserve(a.size() + b.size());
    std::size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
        const bool first = j == b.size() || (i < a.size() && a[i].begin <= b[j].begin);
        append(out, first ? a[i++] : b[j++]);
    }
    return out;
}

Intervals union_of(std::vector<Intervals> sets) {
    if (sets.empty()) return {};
    for (std::size_t step = 1; step < sets.size(); step *= 2)
        for (std::size_t i = 0; i + step < sets.size(); i += 2 * step)
            sets[i] = union_of(sets[i], sets[i + step]);
    return std::move(sets.front());
}

Intervals intersection_of(std::span<const Interval> a, std::span<const Interval> b) {
    Intervals out;
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        append(out, {std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)});
        if (a[i].end < b[j].end)
            ++i;
        else
            ++j;
    }
    return out;
}

Intervals gaps_of(std::span<const Interval> set, Interval whole) {
    Intervals out;
    std::int64_t at = whole.begin;
    for (auto i = first_after(set, whole.begin); i != set.end() && i->begin < whole.end; ++i) {
        append(out, {at, std::min(i->begin, whole.end)});
        at = std::max(at, i->end);
    }
    append(out, {at, whole.end});
    return out;
}

std::int64_t length_of(std::span<const Interval> set) {
    std::int64_t sum = 0;
    for (const Interval& i : set) sum += i.length();
    return sum;
}

std::int64_t length_within(std::span<const Interval> set, Interval whole) {
    std::int64_t sum = 0;
    for (auto i = first_after(set, whole.begin); i != set.end() && i->begin < whole.end; ++i)
        sum += std::min(i->end, whole.end) - std::max(i->begin, whole.begin);
    return sum;
}

Intervals clipped(std::span<const Interval> set, Interval whole) {
    Intervals out;
    for (auto i = first_after(set, whole.begin); i != set.end() && i->begin < whole.end; ++i)
        append(out, {std::max(i->begin, whole.begin), std::min(i->end, whole.end)});
    return out;
}

}  // namespace gs
