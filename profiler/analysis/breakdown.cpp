#include "profiler/analysis/breakdown.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "profiler/analysis/activity.h"
#include "profiler/store/kernel_kinds.h"

namespace gs {
namespace {

constexpr double kMsPerNs = 1e-6;
double ms(std::int64_t ns) { return static_cast<double>(ns) * kMsPerNs; }

struct Stretch {
    std::int64_t begin = 0, end = 0;
    std::int64_t clipped(const TraceSpan& s) const {
        return std::min(end, s.end_ns) - std::max(begin, s.begin_ns);
    }
    /// What begins in one of two neighbouring stretches is counted in that one.
    bool counts(const TraceSpan& s) const { return begin <= s.begin_ns && s.begin_ns < end; }
};

using Rows = std::vector<std::span<const TraceSpan>>;

Rows rows_within(const TraceTrack& track, Stretch stretch) {
    Rows out;
    for (const auto& row : track.rows)
        out.push_back(spans_within(row.view(), stretch.begin, stretch.end));
    return out;
}

/// Calls add(place, ms) with the own times of a track's spans: what rows below take is added as
/// negative time to the place of the span around. place_of(span, place of the span around or null).
template <class Place, class PlaceOf, class Add>
void for_each_self_time(const Rows& rows, Stretch stretch, const PlaceOf& place_of,
                        const Add& add) {
    std::span<const TraceSpan> parents;
    std::vector<Place> places, of_parents;
    for (const auto spans : rows) {
        const auto row = spans_within(spans, stretch.begin, stretch.end);
        std::size_t p = 0;
        places.clear();
        for (const TraceSpan& span : row) {
            while (p < parents.size() && parents[p].end_ns <= span.begin_ns) ++p;
            const Place* const around = p < parents.size() && parents[p].begin_ns <= span.begin_ns
                                            ? &of_parents[p]
                                            : nullptr;
            const double length = ms(stretch.clipped(span));
            places.push_back(place_of(span, around));
            add(places.back(), length);
            // Ranges that may overlap need not end inside the one around them.
            if (around != nullptr)
                add(*around, -std::min(length, ms(std::min(stretch.end, parents[p].end_ns) -
                                                  std::max(stretch.begin, span.begin_ns))));
        }
        parents = row;
        places.swap(of_parents);
    }
}

void add_kind(std::string_view kind, double ms, std::vector<KindTime>& out, bool is_named = false) {
    const auto at = std::ranges::find(out, kind, &KindTime::kind);
    if (at != out.end())
        at->ms += ms;
    else
        out.push_back({std::string(kind), ms, is_named});
}

constexpr std::string_view kOther = "other";

/// Own times of the iterations' thread, by stage and by kind.
void add_ranges(const TraceStore& store, const Rows& rows, Stretch stretch, Breakdown& out) {
    struct Place {
        Stage stage = Stage::other;
        std::string_view kind;
        bool is_named = false;
    };
    const NameBook& names = store.names();
    std::optional<Stage> seen;
    double left = out.wall_ms;
    for_each_self_time<Place>(
        rows, stretch,
        [&](const TraceSpan& span, const Place* around) -> Place {
            const Stage stage = names.stage(span.name);
            if (is_splatting(stage)) {
                out.host_splats |= seen && *seen != stage;
                seen = stage;
            }
            // The iteration's own range, and those around it.
            if (span.begin_ns <= stretch.begin && span.end_ns >= stretch.end)
                return {stage, kOther};
            if (around != nullptr && holds_all(around->kind)) return {stage, around->kind};
            if (const auto kind = names.range_kind(span.name, span.category); !kind.empty())
                return {stage, kind};
            if (around != nullptr && around->kind != kOther)
                return {stage, around->kind, around->is_named};
            const std::string_view stem = name_stem(store.name(span.name));
            return {stage, stem.empty() ? kOther : stem, true};
        },
        [&](const Place& place, double length) {
            out.cpu_self_ms[static_cast<std::size_t>(place.stage)] += length;
            add_kind(place.kind, length, out.range_kinds, place.is_named);
            left -= length;
        });
    if (left > 0) add_kind(kOther, left, out.range_kinds);
}

void add_stream(const TraceStore& store, const TraceTrack& track, Stretch stretch, Breakdown& out) {
    const auto stage_of = [&](std::uint32_t name) { return store.names().gpu_stage(name); };
    // Rows of a stream recorded by CUPTI hold work beside work; else stages are nested in stages.
    const bool told = track.described();
    if (!told)
        for_each_self_time<Stage>(
            rows_within(track, stretch), stretch,
            [&](const TraceSpan& span, const Stage*) { return stage_of(span.name); },
            [&](Stage stage, double length) {
                out.gpu_ms[static_cast<std::size_t>(stage)] += length;
            });
    for (std::size_t r = 0; r < track.rows.size(); ++r) {
        const auto row = track.rows[r].view();
        for (const TraceSpan& span : spans_within(row, stretch.begin, stretch.end)) {
            const GpuWorkKind kind =
                work_kind(track, r, static_cast<std::size_t>(&span - row.data()));
            const double length = ms(stretch.clipped(span));
            if (told)
                add_kind(is_copy(kind) ? kCopiesKind : store.names().gpu_kind(span.name), length,
                         out.kinds);
            if (is_copy(kind)) continue;
            const auto stage = static_cast<std::size_t>(stage_of(span.name));
            out.splats |= is_splatting(stage_of(span.name));
            if (told) out.gpu_ms[stage] += length;
            if (!stretch.counts(span)) continue;
            ++out.gpu_calls[stage];
            if (told || r == 0) ++out.kernels;
        }
    }
}

using Tracks = std::vector<const TraceTrack*>;

/// Those of a process on which GPU work is, or calls that launch it.
Tracks gpu_tracks(const TraceStore& store, std::uint32_t process) {
    Tracks out;
    for (const TraceTrack& track : store.tracks())
        if (track.process == process &&
            (track.kind == TrackKind::gpu_stream || track.kind == TrackKind::api))
            out.push_back(&track);
    return out;
}

/// The rows of the iterations' thread; none: there is no such thread.
std::optional<Rows> host_rows(const TraceStore& store, std::uint32_t track, Stretch stretch) {
    if (track >= store.tracks().size()) return std::nullopt;
    return rows_within(store.tracks()[track], stretch);
}

Breakdown within(const TraceStore& store, const Tracks& tracks, Stretch stretch,
                 const std::optional<Rows>& host, const ProcessActivity& activity,
                 ApiKinds& kind_of) {
    Breakdown out;
    const Interval whole{stretch.begin, stretch.end};
    out.wall_ms = ms(whole.length());
    out.watched_ms = ms(length_within(activity.watched, whole));
    out.has_gpu = activity.has_gpu;
    out.kernel_ms = ms(length_within(activity.kernels, whole));
    out.copy_ms = ms(length_within(activity.copies, whole));
    out.busy_ms = ms(length_within(activity.busy, whole));
    out.copy_alone_ms = out.busy_ms - out.kernel_ms;
    out.idle_ms = activity.has_gpu && out.watched_ms > 0 ? out.watched_ms - out.busy_ms
                                                         : std::numeric_limits<double>::quiet_NaN();
    out.sync_ms = ms(length_within(activity.sync, whole));
    out.api_ms = ms(length_within(activity.api, whole));
    for (const TraceTrack* track : tracks) {
        if (track->kind == TrackKind::gpu_stream) add_stream(store, *track, stretch, out);
        if (track->kind != TrackKind::api) continue;
        for_each_call(*track, stretch.begin, stretch.end, [&](std::size_t, const TraceSpan& span) {
            const ApiKind kind = kind_of(span.name);
            if ((kind == ApiKind::launch || kind == ApiKind::graph_launch) && stretch.counts(span))
                ++out.launches;
        });
    }
    if (host) add_ranges(store, *host, stretch, out);
    return out;
}

}  // namespace

double Breakdown::beside_ms() const {
    double sum = 0;
    for (const KindTime& k : range_kinds) sum += !k.is_named && holds_all(k.kind) ? k.ms : 0;
    return sum;
}

Breakdown break_down(const TraceStore& store, std::uint32_t process, std::int64_t begin_ns,
                     std::int64_t end_ns, std::uint32_t track) {
    ApiKinds kind_of(store);
    const ProcessActivity activity = activity_of(store, process, begin_ns, end_ns);
    const Stretch stretch{begin_ns, end_ns};
    return within(store, gpu_tracks(store, process), stretch, host_rows(store, track, stretch),
                  activity, kind_of);
}

std::vector<Breakdown> break_down(const TraceStore& store, const Iterations& iterations) {
    std::vector<Breakdown> out;
    if (iterations.items.empty()) return out;
    ApiKinds kind_of(store);
    const Stretch whole{iterations.items.front().begin_ns, iterations.items.back().end_ns};
    const ProcessActivity activity = activity_of(store, iterations.process, whole.begin, whole.end);
    out.reserve(iterations.items.size());
    const Tracks tracks = gpu_tracks(store, iterations.process);
    const auto host = host_rows(store, iterations.track, whole);
    for (const Iteration& i : iterations.items)
        out.push_back(within(store, tracks, {i.begin_ns, i.end_ns}, host, activity, kind_of));
    return out;
}

}  // namespace gs
