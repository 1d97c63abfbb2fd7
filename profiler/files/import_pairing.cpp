#include "profiler/files/import_pairing.h"

#include <algorithm>
#include <limits>

namespace gs {
namespace {

using Kind = ImportedEvent::Kind;

bool begins_earlier(const ImportedEvent& a, const ImportedEvent& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.depth < b.depth;
}

bool lies_inside(const ImportedEvent& inner, const ImportedEvent& outer) {
    return inner.end_ns <= outer.end_ns;
}

/// The first row below everything that surrounds `span` which no open range is on.
std::size_t row_of(const ImportedEvent& span, const std::vector<ImportedEvent>& open) {
    std::size_t row = 0;
    for (const ImportedEvent& outer : open)
        if (lies_inside(span, outer)) row = std::max<std::size_t>(row, outer.depth + 1u);
    const auto is_taken = [&](const ImportedEvent& other) { return other.depth == row; };
    while (std::ranges::any_of(open, is_taken)) ++row;
    return row;
}

/// Whole ranges say nothing of their rows: those follow from what surrounds them. Returns how many
/// overlap others without lying inside.
std::uint64_t nest(std::vector<ImportedEvent>& spans, std::int64_t rounding_ns) {
    std::ranges::stable_sort(spans, begins_earlier);
    std::vector<ImportedEvent> open;  // on different rows
    std::uint64_t overlapping = 0;
    for (ImportedEvent& span : spans) {
        std::int64_t begin = span.begin_ns;
        std::erase_if(open, [&](const ImportedEvent& outer) {
            const bool rounded =
                outer.end_ns < span.end_ns && outer.end_ns - span.begin_ns <= rounding_ns;
            if (rounded) begin = std::max(begin, outer.end_ns);
            return rounded || outer.end_ns <= span.begin_ns;
        });
        span.begin_ns = begin;
        const bool overlaps =
            std::ranges::any_of(open, [&](const auto& outer) { return !lies_inside(span, outer); });
        overlapping += overlaps ? 1 : 0;
        const std::size_t row = row_of(span, open);
        span.depth = static_cast<std::uint8_t>(std::min(row, kImportRows));
        span.overlaps = overlaps;
        if (row < kImportRows) open.push_back(span);
    }
    // What ends at one time: inner ranges before outer ones, and of a row those before that begin
    // first.
    std::ranges::stable_sort(spans, [](const auto& a, const auto& b) {
        return a.end_ns != b.end_ns ? a.end_ns < b.end_ns : a.depth > b.depth;
    });
    return overlapping;
}

/// Ranges in order of their ends, those that are open last. True: some came whole.
bool join_ends(std::vector<ImportedEvent>& events, Pairing& found) {
    std::vector<ImportedEvent> done, stack;
    done.reserve(events.size() / 2 + 1);
    const auto earlier = [](const ImportedEvent& a, const ImportedEvent& b) {
        return a.begin_ns < b.begin_ns;
    };
    if (!std::ranges::is_sorted(events, earlier)) std::ranges::stable_sort(events, earlier);
    bool whole = false;
    for (const ImportedEvent& event : events) {
        if (event.kind == Kind::begin) {
            stack.push_back(event);
            stack.back().depth = static_cast<std::uint8_t>(std::min(stack.size() - 1, kImportRows));
        } else if (event.kind == Kind::whole) {
            whole = true;
            done.push_back(event);
        } else if (stack.empty()) {
            ++found.ends_alone;
        } else {
            stack.back().end_ns = event.begin_ns;
            done.push_back(stack.back());
            stack.pop_back();
        }
    }
    for (ImportedEvent& event : stack) {
        event.end_ns = std::numeric_limits<std::int64_t>::max();
        event.not_ended = true;
        done.push_back(event);
    }
    events = std::move(done);
    return whole;
}

}  // namespace

Pairing pair_events(std::vector<ImportedEvent>& events, TrackKind kind, std::int64_t rounding_ns) {
    Pairing found;
    const bool whole = join_ends(events, found);
    if (whole && (kind == TrackKind::thread || kind == TrackKind::gpu_stream))
        found.overlapping = nest(events, rounding_ns);
    std::size_t kept = 0;
    for (const ImportedEvent& event : events) {
        const bool deep = event.depth >= kImportRows;
        if (deep && kind == TrackKind::thread)
            found.beside.push_back(event);
        else if (deep && kind == TrackKind::gpu_stream)
            ++found.too_deep;
        else if (event.not_ended)
            found.open.push_back(event);
        else
            events[kept++] = event;
    }
    events.resize(kept);
    return found;
}

}  // namespace gs
