// What goes where: processes, threads and CUDA calls as tracks of slices, GPU streams that a stage
// timer measured as tracks with arrows from their launch, CUPTI's records as render stages
// (export_perfetto_gpu.cpp), the rest as instants and counters.
#include "profiler/files/export_perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/record/clock.h"
#include "base/rng.h"
#include "base/try.h"
#include "profiler/analysis/range_projection.h"
#include "profiler/files/export_lanes.h"
#include "profiler/files/export_perfetto_gpu.h"
#include "profiler/files/export_perfetto_moments.h"
#include "profiler/files/loss_reasons.h"
#include "profiler/files/perfetto_passes.h"
#include "profiler/files/perfetto_stacks.h"
#include "profiler/files/perfetto_writer.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

using namespace perfetto;

std::uint64_t track_uuid(std::uint64_t track, std::uint64_t row = 0) {
    return hash64(hash64(0xA000000000000000ull + track) ^ row) | 1;
}
std::uint64_t counter_uuid(std::uint64_t process, std::uint64_t name) {
    return hash64(hash64(0xC0DE000000000000ull + name) ^ process) | 1;
}

/// Of arrows from spans to the GPU work they launched.
using Flows = std::set<std::uint64_t>;

void write_clocks(PacketSink& sink, const TraceStore& store) {
    const auto boot_offset = static_cast<std::int64_t>(clock_ns(CLOCK_BOOTTIME)) - now_ns();
    const std::int64_t now = std::max<std::int64_t>(store.sources().read_ns(), 0);
    sink.packet([&](pbf_writer& p) {
        p.add_uint64(kSequence, 1);
        pbf_writer s(p, kClockSnapshot);
        const auto clock = [&](std::uint64_t id, std::int64_t time) {
            pbf_writer c(s, 1);
            c.add_uint64(1, id);
            c.add_uint64(2, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)));
        };
        clock(kMonotonic, now);
        clock(kRealtime, now + store.sources().realtime_offset_ns());
        clock(kBoottime, now + boot_offset);
        s.add_uint64(2, kMonotonic);
    });
}

void write_process(PacketSink& sink, const TraceStore& store, std::uint32_t index,
                   std::uint32_t pid) {
    const TraceProcess& process = store.processes()[index];
    const ProcessLabels& labels = process.labels;
    write_track(sink, process_uuid(index), [&](pbf_writer& t) {
        pbf_writer d(t, 3);
        d.add_uint64(1, pid);
        if (!labels.command.empty()) d.add_string(2, labels.command);
        d.add_string(6, process.name);
        for (const std::string& label : label_texts(labels)) d.add_string(8, label);
    });
}

/// What the import knows a track by that is no thread's.
std::string description_of(const TraceTrack& track) {
    return track.kind == TrackKind::api           ? kCallsTrack + std::to_string(track.tid)
           : track.kind == TrackKind::overhead    ? kOverheadTrack + std::to_string(track.tid)
           : track.kind == TrackKind::overlapping ? kOverlappingTrack
                                                  : kStreamTrack;
}

/// A thread, or a track of its own under the process.
void write_lane(PacketSink& sink, const TraceTrack& track, std::uint64_t uuid, std::uint32_t pid) {
    write_track(sink, uuid, [&](pbf_writer& t) {
        if (track.kind == TrackKind::thread) {
            pbf_writer d(t, 4);
            d.add_uint64(1, pid);
            d.add_uint64(2, track.tid);
            d.add_string(5, track.name);
            return;
        }
        t.add_string(2, track.name);
        t.add_uint64(5, process_uuid(track.process));
        t.add_string(14, description_of(track));
    });
}

/// Spans of a track that overlap others of it: a track below it, for slices of one track nest.
void write_beside(PacketSink& sink, const TraceTrack& track, std::uint64_t uuid,
                  std::uint64_t parent, std::size_t lane) {
    write_track(sink, uuid, [&](pbf_writer& t) {
        t.add_string(2, lane_name(track.name, lane));
        const bool nests = track.kind == TrackKind::thread || track.kind == TrackKind::gpu_stream;
        t.add_uint64(5, nests ? parent : process_uuid(track.process));
        t.add_string(14, nests ? std::string(kBesideTrack) : description_of(track));
    });
}

/// The arrow that `span` of GPU stream `t` ends, 0: none.
std::uint64_t flow_to(const TraceStore& store, std::size_t t, std::size_t row,
                      const TraceSpan& span, const PerfettoOptions& options) {
    const auto by = store.timeline().launching_span(t, row, span);
    return by.span == nullptr || !options.covers(*by.span)
               ? 0
               : flow_id(by.track, by.row, by.span->begin_ns);
}

Flows flows_of(const TraceStore& store, const PerfettoOptions& options) {
    Flows flows;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        if (store.tracks()[t].kind != TrackKind::gpu_stream) continue;
        for (std::size_t r = 0; r < store.tracks()[t].rows.size(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view())
                if (options.covers(span)) flows.insert(flow_to(store, t, r, span, options));
    }
    flows.erase(0);
    return flows;
}

/// One of the values of a range or mark, under its own name.
Annotation annotation_of(const TraceStore& store, const TraceValue& value) {
    Annotation out{store.name(value.name).data(), value.value, value.kind};
    if (value.kind == PayloadKind::name)
        out.text = store.name(static_cast<std::uint32_t>(value.value));
    return out;
}

/// What stands beside the spans of a track.
class DetailsOf {
  public:
    DetailsOf(const TraceStore& store, const PerfettoOptions& options)
        : store_(store),
          options_(options),
          flows_(flows_of(store, options)),
          passes_(store, options),
          submissions_(submissions_of(store, options)) {}

    /// Valid until the next call.
    Details operator()(std::size_t t, std::size_t row, const TraceSpan& span, bool open) {
        Details out;
        const TraceTrack& track = store_.tracks()[t];
        if (open) return open_details(span);
        if (track.kind == TrackKind::gpu_stream)
            out.flow = flow_to(store_, t, row, span, options_);
        else
            add_arrows(flow_id(t, row, span.begin_ns), out);
        annotations_.clear();
        if (span.has_payload)
            annotations_.push_back({track.kind == TrackKind::api
                                        ? "result"
                                        : payload_name(store_.names().stage(span.name)),
                                    span.payload, span.payload_kind});
        if (track.kind == TrackKind::api) {
            out.cuda_call = true;
            if (const auto found =
                    submissions_.find({static_cast<std::uint32_t>(t),
                                       static_cast<std::uint32_t>(row), span.begin_ns});
                found != submissions_.end())
                out.submitted = found->second;
            if (row > 0) annotations_.push_back({kDriverNote, 1});
        }
        for (const TraceValue& value : store_.values().of(t, span.begin_ns, row))
            annotations_.push_back(annotation_of(store_, value));
        out.annotations = annotations_;
        return out;
    }

  private:
    /// Of a range that has not ended.
    Details open_details(const TraceSpan& span) {
        annotations_.clear();
        if (span.has_payload)
            annotations_.push_back(
                {payload_name(store_.names().stage(span.name)), span.payload, span.payload_kind});
        annotations_.push_back({kNotEndedNote, 1});
        return {.annotations = annotations_};
    }
    /// Of a host span: to what it launched, and between passes.
    void add_arrows(std::uint64_t id, Details& out) const {
        if (flows_.contains(id)) out.flow = id;
        out.arrows = passes_.from(id);
        out.arrow_end = passes_.to(id);
    }

    const TraceStore& store_;
    const PerfettoOptions& options_;
    Flows flows_;
    PassArrows passes_;
    Submissions submissions_;
    std::vector<Annotation> annotations_;
};

/// One lane of a track as slices that nest. `details(row, span)` says what stands beside a span.
/// Returns how many lanes there are; `count` grows by the spans written.
template <class F>
std::size_t write_lane_spans(Sequence& out, std::uint64_t uuid, std::span<const LaneRow> rows,
                             std::size_t lane, const PerfettoOptions& options, std::uint64_t& count,
                             F&& details) {
    return walk_lane(
        rows, lane, {options.begin_ns, options.end_ns},
        [&](const TraceSpan& span, const LaneRow& row) {
            out.begin(uuid, span, details(row, span));
            ++count;
        },
        [&](const TraceSpan& span) { out.end(uuid, span.end_ns); });
}

/// The ranges of threads as a stream saw them: they follow from the rest, so the import passes over
/// them.
void write_projection(PacketSink& sink, const TraceStore& store, std::size_t t,
                      std::uint32_t& sequence, const PerfettoOptions& options) {
    RangeProjection projection(static_cast<std::uint32_t>(t));
    projection.follow(store, std::numeric_limits<std::int64_t>::max(),
                      std::numeric_limits<std::size_t>::max());
    std::vector<std::vector<TraceSpan>> levels;
    for (const auto& level : projection.levels()) {
        levels.emplace_back();
        for (const ProjectedRange& range : level.view()) levels.back().push_back(range.span);
    }
    std::vector<LaneRow> rows;
    for (const auto& level : levels) rows.push_back({level, rows.size(), false});
    std::uint64_t count = 0;
    for (std::size_t lane = 0, lanes = levels.empty() ? 0 : 1; lane < lanes; ++lane) {
        const std::uint64_t uuid = hash64(track_uuid(t, lane) + 1) | 1;
        write_track(sink, uuid, [&](pbf_writer& d) {
            d.add_string(2, lane_name("ranges on " + store.tracks()[t].name, lane));
            d.add_uint64(5, process_uuid(store.tracks()[t].process));
            d.add_string(14, kProjectionTrack);
        });
        Sequence out(sink, store, sequence++, false);
        lanes = write_lane_spans(out, uuid, rows, lane, options, count,
                                 [](const LaneRow&, const TraceSpan&) { return Details{}; });
    }
}

/// The spans of a track that a stage timer or the host measured: a track for every lane, and for
/// every row of ranges that overlap anyhow.
std::uint64_t write_spans(PacketSink& sink, const TraceStore& store, std::size_t t,
                          std::uint32_t& sequence, DetailsOf& details, const OpenRanges& open,
                          const PerfettoOptions& options, std::uint32_t pid) {
    std::uint64_t count = 0;
    const TraceTrack& track = store.tracks()[t];
    std::size_t number = 0;
    for (const auto& rows : lane_groups(store, open, t))
        for (std::size_t lane = 0, lanes = 1; lane < lanes; ++lane, ++number) {
            const std::uint64_t uuid = track_uuid(t, number);
            if (lane == 0)
                write_lane(sink, track, uuid, pid);
            else
                write_beside(sink, track, uuid, track_uuid(t), lane);
            const bool dropped = number == 0 && store.sources().loss().lapped > 0;
            Sequence out(sink, store, sequence++, dropped);
            lanes = write_lane_spans(out, uuid, rows, lane, options, count,
                                     [&](const LaneRow& row, const TraceSpan& span) {
                                         return details(t, row.row, span, row.open);
                                     });
        }
    return count;
}

void write_instants(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                    const PerfettoOptions& options) {
    std::vector<TraceInstant> instants(store.instants().begin(), store.instants().end());
    std::ranges::sort(instants, {}, &TraceInstant::time_ns);
    Sequence out(sink, store, sequence++, false);
    for (const TraceInstant& i : instants) {
        if (i.track >= store.tracks().size() || !options.contains(i.time_ns)) continue;
        std::vector<Annotation> beside;
        if (i.payload != 0)
            beside.push_back(
                {payload_name(store.names().stage(i.name)), i.payload, i.payload_kind});
        for (const TraceValue& value : store.values().of(i.track, i.time_ns, RangeValues::kMark))
            beside.push_back(annotation_of(store, value));
        out.instant(track_uuid(i.track), i.time_ns, i.name, beside);
    }
}

/// By track: whether anything on it is written.
std::vector<bool> written_tracks(const TraceStore& store, const OpenRanges& open,
                                 const PerfettoOptions& options) {
    std::vector<bool> out(store.tracks().size(), !options.bounded());
    if (!options.bounded()) return out;
    for (std::size_t t = 0; t < out.size(); ++t)
        for (const OpenRange& range : open.of(t)) out[t] = out[t] || options.covers(range.span);
    for (const TraceInstant& i : store.instants())
        if (i.track < out.size() && options.contains(i.time_ns)) out[i.track] = true;
    for (const SampledThread& thread : store.samples().threads()) {  // which bears their name
        const auto samples = thread.samples.view();
        const std::uint32_t t =
            store.timeline().threads().find(thread.process, thread.tid, TrackKind::thread);
        if (t < out.size() && !out[t])
            out[t] = std::ranges::any_of(
                samples, [&](const StackSample& s) { return options.contains(s.time_ns); });
    }
    for (std::size_t t = 0; t < out.size(); ++t)
        for (const auto& row : store.tracks()[t].rows)
            if (const auto spans = row.view(); !out[t])
                out[t] = std::ranges::any_of(
                    spans, [&](const TraceSpan& span) { return options.covers(span); });
    return out;
}

void declare_counter(PacketSink& sink, std::uint32_t process, std::uint64_t uuid,
                     std::string_view name) {
    write_track(sink, uuid, [&](pbf_writer& t) {
        t.add_string(2, name);
        t.add_uint64(5, process_uuid(process));
        t.add_string(8, "");
    });
}

void write_counters(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                    const PerfettoOptions& options) {
    for (const CounterSeries& series : store.counters()) {
        const auto points = series.points.view();
        if (options.bounded() && std::ranges::none_of(points, [&](const auto& point) {
                return options.contains(point.time_ns);
            }))
            continue;
        const std::uint64_t uuid = counter_uuid(series.process, series.name);
        declare_counter(sink, series.process, uuid, store.name(series.name));
        Sequence out(sink, store, sequence++, false);
        std::int64_t last = std::numeric_limits<std::int64_t>::min();
        for (const CounterPoint& point : points) {
            if (point.time_ns < std::max(last, options.begin_ns) || point.time_ns > options.end_ns)
                continue;
            if (std::isfinite(point.value)) out.value(uuid, last = point.time_ns, point.value);
        }
    }
}

/// What is missing from the trace belongs into the trace: how much, and for which reasons.
void write_losses(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence) {
    std::uint64_t number = ~0ull;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        const auto write = [&](const std::string& name, std::uint64_t count) {
            const std::uint64_t uuid = counter_uuid(p, number);
            declare_counter(sink, p, uuid, name);
            Sequence out(sink, store, sequence++, false);
            out.value(uuid, store.sources().read_ns(), static_cast<double>(count));
        };
        const TraceProcess& process = store.processes()[p];
        const std::uint64_t forgotten = p == 0 ? store.timeline().forgotten() : 0;
        number = ~0ull;
        write(kLossesCounter, process.loss.total() + forgotten);
        for (const auto& [reason, count] : losses_of(process.loss, process.service, forgotten)) {
            --number;
            write(fmt::format("{}: {}", kLossesCounter, reason), count);
        }
    }
}

}  // namespace

Result<PerfettoSummary> export_perfetto(const TraceStore& store, const fs::path& path,
                                        const PerfettoOptions& options) {
    GS_TRY(auto file, AtomicFile::create(path));
    PacketSink sink(std::move(file));
    PerfettoSummary summary;
    write_clocks(sink, store);
    write_gpus(sink, store);
    const std::vector<std::uint32_t> pids = distinct_pids(store.processes());
    for (std::uint32_t p = 0; p < pids.size(); ++p) write_process(sink, store, p, pids[p]);
    DetailsOf details(store, options);
    const OpenRanges open(store);
    std::uint32_t sequence = 2;
    const std::vector<bool> written = written_tracks(store, open, options);
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (!written[t]) continue;
        const std::uint32_t pid = pids[track.process];
        ++(track.kind == TrackKind::gpu_stream ? summary.streams : summary.threads);
        if (!track.described()) {
            summary.spans += write_spans(sink, store, t, sequence, details, open, options, pid);
            continue;
        }
        Sequence out(sink, store, sequence++, store.sources().loss().lapped > 0);
        summary.spans += write_render_stages(out, store, t, options, pid);
        write_projection(sink, store, t, sequence, options);
    }
    write_instants(sink, store, sequence, options);
    for (std::uint32_t p = 0; p < pids.size(); ++p)
        write_moments(sink, store, p, sequence, options);
    if (!pids.empty()) {
        write_counters(sink, store, sequence, options);
        write_losses(sink, store, sequence);
    }
    summary.counters = store.counters().size();
    summary.samples = write_stacks(sink, store, sequence, options, pids);

    GS_TRY(summary.bytes, sink.finish());
    return summary;
}

}  // namespace gs
