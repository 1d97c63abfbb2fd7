#include "profiler/analysis/counterpart.h"

#include <algorithm>

namespace gs {
namespace {

constexpr std::ptrdiff_t kMostLooked = 20'000;  // spans of a row

using Spans = std::span<const TraceSpan>;

/// The nearest in a row that `wanted` takes: behind `t` when `later`, else before it; null: none.
template <class Wanted>
const TraceSpan* nearest(Spans row, std::int64_t t, bool later, const Wanted& wanted) {
    const auto from = std::ranges::lower_bound(row, t, {}, &TraceSpan::begin_ns);
    if (later) {
        const auto stop = from + std::min(row.end() - from, kMostLooked);
        const auto found = std::find_if(from, stop, wanted);
        return found != stop ? &*found : nullptr;
    }
    const auto begin = std::make_reverse_iterator(from);
    const auto stop = begin + std::min(row.rend() - begin, kMostLooked);
    const auto found = std::find_if(begin, stop, wanted);
    return found != stop ? &*found : nullptr;
}

}  // namespace

Pass pass_of(const TraceStore& trace, const TraceSpan& span) {
    if (!span.has_payload || span.category == 0) return Pass::neither;
    const std::string_view category = trace.names().category(span.name, span.category);
    return category == "forward"                              ? Pass::forward
           : category == "backward" || category == "autograd" ? Pass::backward
                                                              : Pass::neither;
}

FoundSpan counterpart_of(const TraceStore& trace, std::size_t track, const TraceSpan& span) {
    const Pass pass = pass_of(trace, span);
    FoundSpan best;
    if (pass == Pass::neither) return best;
    const Pass other = pass == Pass::forward ? Pass::backward : Pass::forward;
    const auto wanted = [&](const TraceSpan& s) {
        return s.payload == span.payload && pass_of(trace, s) == other;
    };
    const bool later = pass == Pass::forward;
    const auto& tracks = trace.tracks();
    for (std::uint32_t t = 0; t < tracks.size(); ++t) {
        if (tracks[t].process != tracks[track].process || tracks[t].kind != TrackKind::thread)
            continue;
        for (std::size_t row = 0; row < tracks[t].rows.size(); ++row) {
            const TraceSpan* found =
                nearest(tracks[t].rows[row].view(), span.begin_ns, later, wanted);
            if (found == nullptr) continue;
            const bool nearer =
                best.span == nullptr || (later ? found->begin_ns < best.span->begin_ns
                                               : found->begin_ns > best.span->begin_ns);
            if (nearer) best = {found, t, row};
        }
    }
    return best;
}

ForwardRanges::ForwardRanges(const TraceStore& trace) {
    const auto& tracks = trace.tracks();
    for (std::uint32_t t = 0; t < tracks.size(); ++t) {
        if (tracks[t].kind != TrackKind::thread) continue;
        for (std::size_t row = 0; row < tracks[t].rows.size(); ++row)
            for (const TraceSpan& span : tracks[t].rows[row].view())
                if (pass_of(trace, span) == Pass::forward)
                    by_number_[{tracks[t].process, span.payload}].push_back({&span, t, row});
    }
    for (auto& [number, ranges] : by_number_)
        std::ranges::stable_sort(ranges, [](const FoundSpan& a, const FoundSpan& b) {
            return a.span->begin_ns < b.span->begin_ns;
        });
}

FoundSpan ForwardRanges::of(std::uint32_t process, const TraceSpan& backward) const {
    const auto found = by_number_.find({process, backward.payload});
    if (found == by_number_.end()) return {};
    const auto& ranges = found->second;
    const auto before = [](const FoundSpan& r, std::int64_t time) {
        return r.span->begin_ns < time;
    };
    const auto next = std::lower_bound(ranges.begin(), ranges.end(), backward.begin_ns, before);
    if (next == ranges.begin()) return {};
    return *std::lower_bound(ranges.begin(), next, (next - 1)->span->begin_ns, before);
}

}  // namespace gs
