// What goes where: processes, threads and CUDA calls as tracks of slices, GPU streams that a stage
// timer measured as tracks with arrows from their launch, what CUPTI told as render stages
// (export_perfetto_gpu.cpp), the rest as instants and counters.
#include "profiler/files/export_perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/record/clock.h"
#include "base/rng.h"
#include "profiler/analysis/range_projection.h"
#include "profiler/files/export_perfetto_gpu.h"
#include "profiler/files/perfetto_passes.h"
#include "profiler/files/perfetto_stacks.h"
#include "profiler/files/perfetto_writer.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

using namespace perfetto;

std::uint64_t process_uuid(std::uint32_t process) {
    return hash64(0x9000000000000000ull + process) | 1;
}
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

template <class F>
void write_track(PacketSink& sink, std::uint64_t uuid, F describe) {
    sink.packet([&](pbf_writer& p) {
        p.add_uint64(kSequence, 1);
        pbf_writer t(p, kTrackDescriptor);
        t.add_uint64(1, uuid);
        describe(t);
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
        // What the import knows it by.
        t.add_string(14, track.kind == TrackKind::api ? kCallsTrack + std::to_string(track.tid)
                         : track.kind == TrackKind::overhead
                             ? kOverheadTrack + std::to_string(track.tid)
                         : track.kind == TrackKind::overlapping ? std::string(kOverlappingTrack)
                                                                : std::string(kStreamTrack));
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
    Details operator()(std::size_t t, std::size_t row, const TraceSpan& span) {
        Details out;
        const TraceTrack& track = store_.tracks()[t];
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
            if (row > 0) annotations_.push_back({"driver", 1});
        }
        for (const TraceValue& value : store_.values_of(t, row, span))
            annotations_.push_back(annotation_of(store_, value));
        out.annotations = annotations_;
        return out;
    }

  private:
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

/// Rows merged into one stream of begins and ends that nest: by begin, outer before inner, an inner
/// span never outlasting its outer one. `details(row, span)` tells what stands beside a span.
template <class F>
std::uint64_t write_nested(Sequence& out, std::uint64_t uuid,
                           std::span<const std::span<const TraceSpan>> of,
                           const PerfettoOptions& options, F&& details) {
    struct Cursor {
        const TraceSpan *next, *stop;
    };
    std::vector<Cursor> rows;
    for (const std::span<const TraceSpan> row : of) {
        const auto first =
            std::lower_bound(row.begin(), row.end(), options.begin_ns,
                             [](const TraceSpan& s, std::int64_t time) { return s.end_ns < time; });
        rows.push_back({row.data() + (first - row.begin()), row.data() + row.size()});
    }
    std::vector<std::int64_t> ends;
    std::uint64_t count = 0;
    for (;;) {
        Cursor* earliest = nullptr;
        for (Cursor& row : rows)
            if (row.next != row.stop &&
                (earliest == nullptr || row.next->begin_ns < earliest->next->begin_ns))
                earliest = &row;
        if (earliest == nullptr || earliest->next->begin_ns > options.end_ns) break;
        const TraceSpan& span = *earliest->next++;
        while (!ends.empty() && ends.back() <= span.begin_ns) {
            out.end(uuid, ends.back());
            ends.pop_back();
        }
        out.begin(uuid, span, details(static_cast<std::size_t>(earliest - rows.data()), span));
        ends.push_back(ends.empty() ? span.end_ns : std::min(span.end_ns, ends.back()));
        ++count;
    }
    for (; !ends.empty(); ends.pop_back()) out.end(uuid, ends.back());
    return count;
}

std::uint64_t write_spans(Sequence& out, const TraceStore& store, std::size_t t, std::uint64_t uuid,
                          std::size_t first_row, std::size_t row_count, DetailsOf& details,
                          const PerfettoOptions& options) {
    std::vector<std::span<const TraceSpan>> rows;
    for (std::size_t r = first_row; r < first_row + row_count; ++r)
        rows.push_back(store.tracks()[t].rows[r].view());
    return write_nested(out, uuid, rows, options, [&](std::size_t row, const TraceSpan& span) {
        return details(t, first_row + row, span);
    });
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
    if (levels.empty()) return;
    const std::uint64_t uuid = hash64(track_uuid(t) + 1) | 1;
    write_track(sink, uuid, [&](pbf_writer& d) {
        d.add_string(2, "ranges on " + store.tracks()[t].name);
        d.add_uint64(5, process_uuid(store.tracks()[t].process));
        d.add_string(14, kProjectionTrack);
    });
    Sequence out(sink, store, sequence++, false);
    write_nested(out, uuid, std::vector<std::span<const TraceSpan>>(levels.begin(), levels.end()),
                 options, [](std::size_t, const TraceSpan&) { return Details{}; });
}

/// Ranges that overlap need a track for every row of them.
std::uint64_t write_rows_apart(PacketSink& sink, const TraceStore& store, std::size_t t,
                               std::uint32_t& sequence, DetailsOf& details,
                               const PerfettoOptions& options, std::uint32_t pid) {
    std::uint64_t count = 0;
    for (std::size_t row = 0; row < store.tracks()[t].rows.size(); ++row) {
        const std::uint64_t uuid = track_uuid(t, row);
        write_lane(sink, store.tracks()[t], uuid, pid);
        Sequence out(sink, store, sequence++, false);
        count += write_spans(out, store, t, uuid, row, 1, details, options);
    }
    return count;
}

bool is_within(std::int64_t time, const PerfettoOptions& options) {
    return time >= options.begin_ns && time <= options.end_ns;
}

/// Waits, memory, GPUs and pauses of a process: instants with all their numbers, on tracks the
/// import knows.
class MomentWriter {
  public:
    MomentWriter(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                 const PerfettoOptions& options)
        : sink_(sink), store_(store), sequence_(sequence), options_(options) {}

    void write(std::uint32_t process) {
        const TraceProcess& of = store_.processes()[process];
        track(
            process, 1, kSyncTrack, of.syncs.view(), [](const SyncEvent& e) { return e.begin_ns; },
            [](Sequence& out, std::uint64_t uuid, const SyncEvent& e) {
                const Annotation a[] = {
                    {"length_ns", static_cast<std::uint64_t>(e.end_ns - e.begin_ns)},
                    {"correlation", e.correlation},
                    {"context", e.context},
                    {"stream", e.stream},
                    {"type", static_cast<std::uint64_t>(e.type)}};
                out.moment(uuid, e.begin_ns, "wait", a);
            });
        track(
            process, 2, kMemoryTrack, of.memory.view(),
            [](const MemoryEvent& e) { return e.time_ns; },
            [](Sequence& out, std::uint64_t uuid, const MemoryEvent& e) {
                const Annotation a[] = {{"bytes", e.bytes},
                                        {"address", e.address},
                                        {"correlation", e.correlation},
                                        {"device", e.device},
                                        {"type", static_cast<std::uint64_t>(e.type)}};
                out.moment(uuid, e.time_ns, e.released ? "release" : "allocate", a);
            });
        const auto shown_from = [&](const PauseEvent& e) {
            return std::clamp(options_.begin_ns, e.begin_ns, e.end_ns);
        };
        track(process, 4, kPauseTrack, of.pauses.view(), shown_from,
              [&](Sequence& out, std::uint64_t uuid, const PauseEvent& e) {
                  const std::int64_t from = shown_from(e);
                  const Annotation a[] = {
                      {"length_ns", static_cast<std::uint64_t>(e.end_ns - from)},
                      {"ranges", e.ranges ? 1u : 0u},
                      {"gpu", e.gpu ? 1u : 0u}};
                  out.moment(uuid, from, "held back by the budget", a);
              });
        const std::int64_t begin =
            std::clamp(store_.begin_ns(), options_.begin_ns, options_.end_ns);
        track(
            process, 3, kGpusTrack, std::span(of.devices),
            [&](const GpuDeviceEvent&) { return begin; },
            [&](Sequence& out, std::uint64_t uuid, const GpuDeviceEvent& d) {
                const auto whole = [](int v) { return static_cast<std::uint64_t>(v); };
                const Annotation a[] = {
                    {"device", d.device},
                    {"uuid", 0, PayloadKind::whole, d.uuid},
                    {"compute_major", whole(d.compute_major)},
                    {"compute_minor", whole(d.compute_minor)},
                    {"multiprocessors", whole(d.multiprocessors)},
                    {"warps_per_multiprocessor", d.warps_per_multiprocessor},
                    {"blocks_per_multiprocessor", d.blocks_per_multiprocessor},
                    {"registers_per_multiprocessor", d.registers_per_multiprocessor},
                    {"shared_per_multiprocessor", d.shared_per_multiprocessor},
                    {"shared_per_block", d.shared_per_block},
                    {"l2_bytes", d.l2_bytes},
                    {"clock_khz", whole(d.clock_khz)},
                    {"memory_clock_khz", whole(d.memory_clock_khz)},
                    {"memory_bus_bits", whole(d.memory_bus_bits)},
                    {"memory_bytes", d.memory_bytes}};
                out.moment(uuid, begin, d.name, a);
            });
    }

  private:
    template <class T, class Time, class Write>
    void track(std::uint32_t process, std::uint64_t which, const char* name,
               std::span<const T> events, Time time, Write write) {
        std::vector<const T*> in_order;
        for (const T& e : events)
            if (is_within(time(e), options_)) in_order.push_back(&e);
        if (in_order.empty()) return;
        std::stable_sort(in_order.begin(), in_order.end(),
                         [&](const T* a, const T* b) { return time(*a) < time(*b); });
        const std::uint64_t uuid = hash64(process_uuid(process) + which) | 1;
        write_track(sink_, uuid, [&](pbf_writer& t) {
            t.add_string(2, name);
            t.add_uint64(5, process_uuid(process));
            t.add_string(14, name);
        });
        Sequence out(sink_, store_, sequence_++, false);
        for (const T* e : in_order) write(out, uuid, *e);
    }

    PacketSink& sink_;
    const TraceStore& store_;
    std::uint32_t& sequence_;
    const PerfettoOptions& options_;
};

void write_instants(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                    const PerfettoOptions& options) {
    std::vector<TraceInstant> instants(store.instants().begin(), store.instants().end());
    std::sort(instants.begin(), instants.end(),
              [](const TraceInstant& a, const TraceInstant& b) { return a.time_ns < b.time_ns; });
    Sequence out(sink, store, sequence++, false);
    for (const TraceInstant& i : instants) {
        if (i.track >= store.tracks().size() || !is_within(i.time_ns, options)) continue;
        std::vector<Annotation> beside;
        if (i.payload != 0)
            beside.push_back(
                {payload_name(store.names().stage(i.name)), i.payload, i.payload_kind});
        for (const TraceValue& value : store.values_of(i))
            beside.push_back(annotation_of(store, value));
        out.instant(track_uuid(i.track), i.time_ns, i.name, beside);
    }
}

/// By track: whether anything on it is written.
std::vector<bool> written_tracks(const TraceStore& store, const PerfettoOptions& options) {
    std::vector<bool> out(store.tracks().size(), !options.bounded());
    if (!options.bounded()) return out;
    for (const TraceInstant& i : store.instants())
        if (i.track < out.size() && is_within(i.time_ns, options)) out[i.track] = true;
    for (const SampledThread& thread : store.samples().threads()) {  // which bears their name
        const auto samples = thread.samples.view();
        const std::uint32_t t =
            store.timeline().track_of(thread.process, thread.tid, TrackKind::thread);
        if (t < out.size() && !out[t])
            out[t] = std::any_of(samples.begin(), samples.end(), [&](const StackSample& s) {
                return is_within(s.time_ns, options);
            });
    }
    for (std::size_t t = 0; t < out.size(); ++t)
        for (const auto& row : store.tracks()[t].rows)
            if (const auto spans = row.view(); !out[t])
                out[t] = std::any_of(spans.begin(), spans.end(),
                                     [&](const TraceSpan& span) { return options.covers(span); });
    return out;
}

void write_counters(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                    const PerfettoOptions& options) {
    const auto declare = [&](std::uint32_t process, std::uint64_t uuid, std::string_view name) {
        write_track(sink, uuid, [&](pbf_writer& t) {
            t.add_string(2, name);
            t.add_uint64(5, process_uuid(process));
            t.add_string(8, "");
        });
    };
    for (const CounterSeries& series : store.counters()) {
        const auto points = series.points.view();
        if (options.bounded() && std::none_of(points.begin(), points.end(), [&](const auto& point) {
                return is_within(point.time_ns, options);
            }))
            continue;
        const std::uint64_t uuid = counter_uuid(series.process, series.name);
        declare(series.process, uuid, store.name(series.name));
        Sequence out(sink, store, sequence++, false);
        std::int64_t last = std::numeric_limits<std::int64_t>::min();
        for (const CounterPoint& point : points) {
            if (point.time_ns < std::max(last, options.begin_ns) || point.time_ns > options.end_ns)
                continue;
            if (std::isfinite(point.value)) out.value(uuid, last = point.time_ns, point.value);
        }
    }
    // What is missing from the trace belongs into the trace.
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        const std::uint64_t uuid = counter_uuid(p, ~0ull);
        declare(p, uuid, "lost records");
        Sequence out(sink, store, sequence++, false);
        const std::uint64_t lost =
            store.processes()[p].loss.total() + (p == 0 ? store.timeline().forgotten() : 0);
        out.value(uuid, store.sources().read_ns(), static_cast<double>(lost));
    }
}

}  // namespace

Result<PerfettoSummary> export_perfetto(const TraceStore& store, const fs::path& path,
                                        const PerfettoOptions& options) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    PacketSink sink(std::move(*file));
    PerfettoSummary summary;
    write_clocks(sink, store);
    write_gpus(sink, store);
    const std::vector<std::uint32_t> pids = distinct_pids(store.processes());
    for (std::uint32_t p = 0; p < pids.size(); ++p) write_process(sink, store, p, pids[p]);
    DetailsOf details(store, options);
    std::uint32_t sequence = 2;
    const std::vector<bool> written = written_tracks(store, options);
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (!written[t]) continue;
        const std::uint32_t pid = pids[track.process];
        ++(track.kind == TrackKind::gpu_stream ? summary.streams : summary.threads);
        if (track.kind == TrackKind::overlapping) {
            summary.spans += write_rows_apart(sink, store, t, sequence, details, options, pid);
            continue;
        }
        if (!track.described()) write_lane(sink, track, track_uuid(t), pid);
        Sequence out(sink, store, sequence++, store.sources().loss().lapped > 0);
        summary.spans += track.described() ? write_render_stages(out, store, t, options, pid)
                                           : write_spans(out, store, t, track_uuid(t), 0,
                                                         track.rows.size(), details, options);
        if (track.described()) write_projection(sink, store, t, sequence, options);
    }
    write_instants(sink, store, sequence, options);
    MomentWriter moments(sink, store, sequence, options);
    for (std::uint32_t p = 0; p < pids.size(); ++p) moments.write(p);
    if (!pids.empty()) write_counters(sink, store, sequence, options);
    summary.counters = store.counters().size();
    summary.samples = write_stacks(sink, store, sequence, options, pids);

    auto bytes = sink.finish();
    if (!bytes) return tl::unexpected(bytes.error());
    summary.bytes = *bytes;
    return summary;
}

}  // namespace gs
