#include "profiler/analysis/own_time.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "profiler/analysis/activity.h"
#include "profiler/analysis/collectives.h"
#include "profiler/store/kernel_kinds.h"

namespace gs {
namespace {

/// What names mean for this, each looked at once.
class Meanings {
  public:
    explicit Meanings(const NameBook& names) : names_(names) {}
    bool communicates(const TraceSpan& s) {
        return s.category == 0 ? (of(s.name) & kCommunicates) != 0
                               : names_.range_kind(s.name, s.category) == kCommunicationKind;
    }
    /// A call that returns before what it begins is over.
    bool enqueues(const TraceSpan& s) const {
        return only_enqueues(names_.text(s.name), names_.domain(s.name));
    }
    bool waits(std::uint32_t name) { return (of(name) & kWaits) != 0; }
    bool is_kernel(std::uint32_t name) { return (of(name) & kKernel) != 0; }

  private:
    enum : std::uint8_t { kKnown = 1, kCommunicates = 2, kWaits = 4, kKernel = 8 };
    std::uint8_t of(std::uint32_t name) {
        if (name >= known_.size()) known_.resize(name + std::size_t{64});
        if (known_[name] == 0) known_[name] = looked_up(name);
        return known_[name];
    }
    std::uint8_t looked_up(std::uint32_t name) const {
        const std::string_view text = names_.text(name);
        const std::string lower = lower_case(text);
        const auto has = [&](std::string_view word) { return lower.find(word) != lower.npos; };
        std::uint8_t out = kKnown;
        if (names_.range_kind(name, 0) == kCommunicationKind) out |= kCommunicates | kWaits;
        if (has("wait") || has("synchroni")) out |= kWaits;
        if (names_.gpu_kind(name) == kCommunicationKind) out |= kKernel;
        return out;
    }

    const NameBook& names_;
    std::vector<std::uint8_t> known_;
};

template <class Wanted>
Intervals ranges_of(const TraceTrack& track, Interval whole, const Wanted& wanted) {
    std::vector<Intervals> rows;
    for (const auto& row : track.rows) {
        Intervals& out = rows.emplace_back();
        for (const TraceSpan& span : spans_within(row.view(), whole.begin, whole.end))
            if (wanted(span)) append(out, {span.begin_ns, span.end_ns});
    }
    return union_of(std::move(rows));
}

/// Of a GPU: collectives are exposed while nothing else runs.
Communication seen_on_gpu(const TraceStore& store, std::uint32_t process, Interval whole,
                          Meanings& meanings) {
    std::vector<Intervals> collectives, others;
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process || track.kind != TrackKind::gpu_stream) continue;
        const auto is_kernel = [&](const TraceSpan& s) { return meanings.is_kernel(s.name); };
        collectives.push_back(ranges_of(track, whole, is_kernel));
        others.push_back(ranges_of(track, whole, [&](auto& s) { return !is_kernel(s); }));
    }
    Communication out{.on_gpu = true, .all = union_of(std::move(collectives))};
    if (!out.all.empty())
        out.exposed = intersection_of(out.all, gaps_of(union_of(std::move(others)), whole));
    return out;
}

Communication seen_on_host(const TraceStore& store, const Iterations& iterations, Interval whole,
                           Meanings& meanings) {
    Intervals here, waits;
    std::vector<Intervals> away;
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        const bool ranges = track.kind == TrackKind::thread || track.kind == TrackKind::overlapping;
        if (track.process != iterations.process || !ranges) continue;
        const bool elsewhere = t != iterations.track;
        Intervals found = ranges_of(track, whole, [&](const TraceSpan& s) {
            return meanings.communicates(s) && (elsewhere || !meanings.enqueues(s));
        });
        if (elsewhere) {
            away.push_back(std::move(found));
            continue;
        }
        here = std::move(found);
        waits = ranges_of(track, whole, [&](const TraceSpan& s) {
            return meanings.waits(s.name) && !meanings.enqueues(s);
        });
    }
    const Intervals others = union_of(std::move(away));
    return {false, union_of(here, others), union_of(here, intersection_of(others, waits))};
}

}  // namespace

Communication communication_in(const TraceStore& store, const Iterations& iterations) {
    if (iterations.items.empty()) return {};
    const Interval whole{iterations.items.front().begin_ns, iterations.items.back().end_ns};
    Meanings meanings(store.names());
    Communication out = seen_on_gpu(store, iterations.process, whole, meanings);
    if (out.all.empty()) out = seen_on_host(store, iterations, whole, meanings);
    Intervals inside;
    for (const Iteration& i : iterations.items) append(inside, {i.begin_ns, i.end_ns});
    out.all = intersection_of(out.all, inside);
    out.exposed = intersection_of(out.exposed, inside);
    return out;
}

OwnTimes own_times(const TraceStore& store, const Iterations& iterations) {
    const Communication seen = communication_in(store, iterations);
    OwnTimes out{.communicates = !seen.all.empty(), .on_gpu = seen.on_gpu};
    for (const Iteration& i : iterations.items)
        out.items.push_back(
            {i.milliseconds(),
             static_cast<double>(length_within(seen.exposed, {i.begin_ns, i.end_ns})) * 1e-6});
    return out;
}

}  // namespace gs
