#include "profiler/analysis/own_time.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "profiler/analysis/activity.h"
#include "profiler/analysis/collectives.h"

namespace gs {
namespace {

/// What names mean for this, each looked at once.
class Meanings {
  public:
    explicit Meanings(const NameBook& names) : names_(names) {}
    bool communicates(std::uint32_t name) { return (of(name) & kCommunicates) != 0; }
    bool waits(std::uint32_t name) { return (of(name) & kWaits) != 0; }
    bool is_ddp(std::uint32_t name) { return (of(name) & kDdp) != 0; }
    bool is_backward(std::uint32_t name) { return (of(name) & kBackward) != 0; }
    bool is_kernel(std::uint32_t name) { return (of(name) & kKernel) != 0; }

  private:
    enum : std::uint8_t {
        kKnown = 1,
        kCommunicates = 2,
        kWaits = 4,
        kDdp = 8,
        kBackward = 16,
        kKernel = 32
    };
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
        if (names_.range_kind(name) == "communication") out |= kCommunicates | kWaits;
        if (has("wait") || has("synchroni")) out |= kWaits;
        if (has("distributeddataparallel")) out |= kDdp;
        if (text == "backward") out |= kBackward;
        if (is_communication_kernel(text)) out |= kKernel;
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

/// DDP's reducer waits at the end of backward(), behind the last range in it.
Intervals tails_of_backward(const TraceTrack& track, Interval whole, Meanings& meanings) {
    Intervals out;
    bool ddp = false;
    for (std::size_t r = 0; r < track.rows.size(); ++r)
        for (const TraceSpan& span : spans_within(track.rows[r].view(), whole.begin, whole.end)) {
            ddp = ddp || meanings.is_ddp(span.name);
            if (!meanings.is_backward(span.name) || r + 1 >= track.rows.size()) continue;
            const auto inner = spans_within(track.rows[r + 1].view(), span.begin_ns, span.end_ns);
            if (!inner.empty() && inner.back().end_ns < span.end_ns)
                append(out, {inner.back().end_ns, span.end_ns});
        }
    return ddp ? out : Intervals();
}

struct Seen {
    Intervals communication, exposed;
};

/// Of a GPU: collectives are exposed while nothing else runs.
Seen seen_on_gpu(const TraceStore& store, std::uint32_t process, Interval whole,
                 Meanings& meanings) {
    std::vector<Intervals> collectives, others;
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process || track.kind != TrackKind::gpu_stream) continue;
        const auto is_kernel = [&](const TraceSpan& s) { return meanings.is_kernel(s.name); };
        collectives.push_back(ranges_of(track, whole, is_kernel));
        others.push_back(ranges_of(track, whole, [&](auto& s) { return !is_kernel(s); }));
    }
    Seen out;
    out.communication = union_of(std::move(collectives));
    if (!out.communication.empty())
        out.exposed =
            intersection_of(out.communication, gaps_of(union_of(std::move(others)), whole));
    return out;
}

Seen seen_on_host(const TraceStore& store, const Iterations& iterations, Interval whole,
                  Meanings& meanings) {
    Intervals here, waits;
    std::vector<Intervals> away;
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        const bool ranges = track.kind == TrackKind::thread || track.kind == TrackKind::overlapping;
        if (track.process != iterations.process || !ranges) continue;
        Intervals found = ranges_of(
            track, whole, [&](const TraceSpan& s) { return meanings.communicates(s.name); });
        if (t != iterations.track) {
            away.push_back(std::move(found));
            continue;
        }
        const Intervals tails = tails_of_backward(track, whole, meanings);
        here = union_of(found, tails);
        waits = union_of(tails, ranges_of(track, whole, [&](const TraceSpan& s) {
                             return meanings.waits(s.name);
                         }));
    }
    const Intervals elsewhere = union_of(std::move(away));
    return {union_of(here, elsewhere), union_of(here, intersection_of(elsewhere, waits))};
}

}  // namespace

OwnTimes own_times(const TraceStore& store, const Iterations& iterations) {
    OwnTimes out;
    if (iterations.items.empty()) return out;
    const Interval whole{iterations.items.front().begin_ns, iterations.items.back().end_ns};
    Meanings meanings(store.names());
    Seen seen = seen_on_gpu(store, iterations.process, whole, meanings);
    // Calls that only enqueue what a GPU does say nothing about its time.
    if (seen.communication.empty()) seen = seen_on_host(store, iterations, whole, meanings);
    out.communicates = !seen.communication.empty();
    for (const Iteration& i : iterations.items)
        out.items.push_back(
            {i.milliseconds(),
             static_cast<double>(length_within(seen.exposed, {i.begin_ns, i.end_ns})) * 1e-6});
    return out;
}

}  // namespace gs
