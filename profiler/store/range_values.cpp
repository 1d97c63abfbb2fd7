#include "profiler/store/range_values.h"

#include <algorithm>

#include "profiler/store/name_book.h"
#include "profiler/store/timeline.h"

namespace gs {
namespace {

constexpr std::size_t kMostInside =
    4096;  ///< values of ranges inside one that adds more at its end

std::size_t count_before(const SlidingArray<TraceValue>& values, std::int64_t t) {
    const auto view = values.view();
    return static_cast<std::size_t>(
        std::lower_bound(view.begin(), view.end(), t,
                         [](const TraceValue& v, std::int64_t time) { return v.begin_ns < time; }) -
        view.begin());
}

}  // namespace

std::span<const TraceValue> RangeValues::of(std::size_t track, std::int64_t begin_ns,
                                            std::size_t depth) const {
    if (track >= by_track_.size()) return {};
    const auto view = by_track_[track].view();
    std::size_t first = count_before(by_track_[track], begin_ns);
    const auto is_it = [&](std::size_t i) {
        return i < view.size() && view[i].begin_ns == begin_ns && view[i].depth == depth;
    };
    while (first < view.size() && view[first].begin_ns == begin_ns && !is_it(first)) ++first;
    std::size_t end = first;
    while (is_it(end)) ++end;
    return view.subspan(first, end - first);
}

void RangeValues::add(std::uint32_t track, const TraceValue& value) {
    if (track == kNoTrack) return;
    if (track >= by_track_.size()) by_track_.resize(track + 1);
    SlidingArray<TraceValue>& values = by_track_[track];
    if (values.empty() || values.back().begin_ns <= value.begin_ns) return values.push_back(value);
    // After those of its own range, before those of ranges that began inside.
    const auto view = values.view();
    std::size_t place = view.size();
    const std::size_t least = place - std::min(place, kMostInside);
    while (place > least && view[place - 1].begin_ns > value.begin_ns) --place;
    const auto of_another = [&](std::size_t i) {
        return view[i].begin_ns == value.begin_ns && view[i].depth > value.depth;
    };
    while (place > least && of_another(place - 1)) --place;
    if (place > least || least == 0)
        values.insert(std::span<const std::size_t>(&place, 1), [&](std::size_t) { return value; });
}

std::size_t RangeValues::bytes_before(std::int64_t t) const {
    std::size_t count = 0;
    for (const auto& values : by_track_) count += count_before(values, t);
    return count * sizeof(TraceValue);
}

void RangeValues::forget_before(std::int64_t t) {
    for (auto& values : by_track_) values.drop_front(count_before(values, t));
}

void RangeValues::mark_names(std::vector<bool>& used) const {
    for (const auto& values : by_track_)
        for (const TraceValue& v : values.view()) {
            used[v.name] = true;
            if (v.kind == PayloadKind::name) used[v.value] = true;
        }
}

void RangeValues::renumber(const Renumbering& to) {
    keep_those(by_track_, to.track);
    for (auto& values : by_track_)
        for (TraceValue& v : values.items()) {
            v.name = to.name(v.name);
            if (v.kind == PayloadKind::name) v.value = to.name(static_cast<std::uint32_t>(v.value));
        }
}

std::size_t RangeValues::bytes() const {
    std::size_t sum = by_track_.size() * sizeof(SlidingArray<TraceValue>);
    for (const auto& values : by_track_) sum += values.bytes();
    return sum;
}

RangeValues RangeValues::excerpt(std::int64_t begin_ns, std::int64_t end_ns) const {
    RangeValues out;
    for (const auto& values : by_track_)
        out.by_track_.push_back(filtered(values, [&](const TraceValue& v) {
            return v.begin_ns >= begin_ns && v.begin_ns <= end_ns;
        }));
    return out;
}

std::string value_text(const NameBook& names, const TraceValue& value) {
    return value.kind == PayloadKind::name
               ? std::string(names.text(static_cast<std::uint32_t>(value.value)))
               : payload_text(value.value, value.kind);
}

}  // namespace gs
