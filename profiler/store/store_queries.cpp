// TraceStore's questions about the timeline. Everything here is a search in rows that are in order.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "profiler/store/store.h"

namespace gs {

std::string payload_text(const TraceSpan& span) {
    if (!span.has_payload) return {};
    if (span.payload_kind == PayloadKind::real)
        return fmt::format("{:.6g}", std::bit_cast<double>(span.payload));
    if (span.payload_kind == PayloadKind::signed_whole)
        return std::to_string(std::bit_cast<std::int64_t>(span.payload));
    return std::to_string(span.payload);
}

std::string_view TraceStore::category(const TraceSpan& span) const {
    if (span.category == 0) return {};
    const auto found = categories_.find({std::string(domain(span.name)), span.category});
    return found == categories_.end() ? std::string_view() : std::string_view(found->second);
}

Stage TraceStore::gpu_stage(std::uint32_t name) const {
    if (name >= names_.size()) return Stage::other;
    if (gpu_stages_.size() < names_.size()) gpu_stages_.resize(names_.size(), kStageCount);
    std::uint16_t& known = gpu_stages_[name];
    if (known == kStageCount)
        known = static_cast<std::uint16_t>(names_[name].stage != Stage::other
                                               ? names_[name].stage
                                               : stage_map_.stage_of(names_[name].text));
    return static_cast<Stage>(known);
}

void TraceStore::set_stage_map(StageMap map) {
    stage_map_ = std::move(map);
    gpu_stages_.clear();
}

std::int64_t TraceStore::begin_ns() const {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.rows)
            if (!row.empty()) begin = std::min(begin, row.view().front().begin_ns);
    return begin == std::numeric_limits<std::int64_t>::max() ? 0 : begin;
}

void TraceStore::visible(std::size_t track, std::size_t row, std::int64_t t0, std::int64_t t1,
                         std::int64_t merge_ns, std::vector<DrawnSpan>& out) const {
    if (track >= tracks_.size() || row >= tracks_[track].rows.size()) return;
    const std::span<const TraceSpan> spans = tracks_[track].rows[row].view();
    const auto first_ending_after = [&](auto from, std::int64_t t) {
        return std::upper_bound(from, spans.end(), t, [](std::int64_t time, const TraceSpan& s) {
            return time < s.end_ns;
        });
    };
    auto at = first_ending_after(spans.begin(), t0);
    while (at != spans.end() && at->begin_ns <= t1) {
        DrawnSpan drawn{at->begin_ns,
                        at->end_ns,
                        at->payload,
                        at->name,
                        1,
                        at->has_payload,
                        static_cast<std::uint32_t>(at - spans.begin())};
        auto next = at + 1;
        if (at->length_ns() < merge_ns) {
            // Everything that ends within this pixel becomes one block.
            next = std::max(next, first_ending_after(next, at->begin_ns + merge_ns));
            drawn.count = static_cast<std::uint32_t>(next - at);
            drawn.end_ns = (next - 1)->end_ns;
        }
        out.push_back(drawn);
        at = next;
    }
}

const TraceSpan* TraceStore::span_at(std::size_t track, std::size_t row, std::int64_t t) const {
    if (track >= tracks_.size() || row >= tracks_[track].rows.size()) return nullptr;
    const std::span<const TraceSpan> spans = tracks_[track].rows[row].view();
    const auto at =
        std::upper_bound(spans.begin(), spans.end(), t,
                         [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; });
    return at != spans.end() && at->begin_ns <= t ? &*at : nullptr;
}

namespace {

/// Where `span` lies in the row it is one of; the row's size when it is none of them.
std::size_t place_in(std::span<const TraceSpan> row, const TraceSpan& span) {
    const std::ptrdiff_t at = &span - row.data();
    return at < 0 || at >= static_cast<std::ptrdiff_t>(row.size()) ? row.size()
                                                                   : static_cast<std::size_t>(at);
}

}  // namespace

const TraceLaunch* TraceStore::launch_of(std::size_t track, std::size_t row,
                                         const TraceSpan& span) const {
    if (track >= tracks_.size() || row >= tracks_[track].launches.size()) return nullptr;
    const auto launches = tracks_[track].launches[row].view();
    const std::size_t at = place_in(tracks_[track].rows[row].view(), span);
    return at < launches.size() && launches[at].track < tracks_.size() ? &launches[at] : nullptr;
}

const GpuWork* TraceStore::gpu_work(std::size_t track, std::size_t row,
                                    const TraceSpan& span) const {
    if (track >= tracks_.size() || row >= tracks_[track].works.size()) return nullptr;
    const auto works = tracks_[track].works[row].view();
    const std::size_t at = place_in(tracks_[track].rows[row].view(), span);
    return at < works.size() ? &works[at] : nullptr;
}

TraceStore::LaunchingSpan TraceStore::launching_span(std::size_t track, std::size_t row,
                                                     const TraceSpan& span) const {
    const TraceLaunch* const launch = launch_of(track, row, span);
    if (launch == nullptr || launch->row >= tracks_[launch->track].rows.size()) return {};
    // A driver's call that was told first is inside the runtime's, which is what the program wrote.
    if (tracks_[launch->track].kind == TrackKind::api && launch->row > 0)
        if (const TraceSpan* outer = span_at(launch->track, 0, launch->time_ns))
            return {outer, launch->track, 0};
    const std::span<const TraceSpan> spans = tracks_[launch->track].rows[launch->row].view();
    auto found =
        std::upper_bound(spans.begin(), spans.end(), launch->time_ns,
                         [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; });
    // A call that took no time at all ends where it begins.
    if (found != spans.begin() && (found - 1)->begin_ns == launch->time_ns) --found;
    // Its begin may have been moved by what clocks round.
    constexpr std::int64_t kRoundingNs = 100;
    if (found == spans.end() || found->begin_ns > launch->time_ns + kRoundingNs) return {};
    return {&*found, launch->track, launch->row};
}

TraceStore::RangeOf TraceStore::innermost_at(std::uint32_t track, std::int64_t t) const {
    if (track >= tracks_.size()) return {};
    for (std::size_t row = tracks_[track].rows.size(); row-- > 0;)
        if (const TraceSpan* span = span_at(track, row, t)) return {span, track, row, false};
    return {};
}

TraceStore::RangeOf TraceStore::range_of(std::size_t track, std::size_t row,
                                         const TraceSpan& span) const {
    const TraceLaunch* const launch = launch_of(track, row, span);
    if (launch == nullptr) return {};
    const TraceTrack& caller = tracks_[launch->track];
    if (caller.kind == TrackKind::thread) {  // the stage timer names the range itself
        const LaunchingSpan by = launching_span(track, row, span);
        return {by.span, by.track, by.row, false};
    }
    // A thread may have ranges in two rings, and its number may have been another's before.
    constexpr std::size_t kNewest = 4;
    RangeOf out;
    const auto& threads = tracks_of_tid_[static_cast<std::size_t>(TrackKind::thread)];
    if (const auto own = threads.find(std::uint64_t{caller.process} << 32 | caller.tid);
        own != threads.end())
        for (std::size_t i = 0; i < std::min(own->second.size(), kNewest); ++i) {
            const RangeOf found =
                innermost_at(own->second[own->second.size() - 1 - i], launch->time_ns);
            if (found.span != nullptr &&
                (out.span == nullptr || found.span->begin_ns > out.span->begin_ns))
                out = found;
        }
    if (out.span != nullptr) return out;
    const ProcessState& state = process_states_[caller.process];
    out = innermost_at(state.iterations_on != kNoTrack ? state.iterations_on : state.busiest,
                       launch->time_ns);
    out.inferred = out.span != nullptr;
    return out;
}

}  // namespace gs
