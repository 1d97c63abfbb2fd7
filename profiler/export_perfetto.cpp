// Field numbers: perfetto_subset.proto. Every thread, and the counters together, is a packet sequence of its own with
// its own interned names; times within a sequence never go back and slices nest, which is what trace readers insist on.
#include "profiler/export_perfetto.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "profiler/core/clock.h"
#include "profiler/proto_encoder.h"
#include "renderer/base/rng.h"

namespace gs {
namespace {

enum Packet : std::uint32_t {
    kClockSnapshot = 6,
    kTimestamp = 8,
    kSequence = 10,
    kTrackEvent = 11,
    kInterned = 12,
    kFlags = 13,
    kDropped = 42,
    kDefaults = 59,
    kTrackDescriptor = 60
};
enum Event : std::uint32_t {
    kCategoryIid = 3,
    kAnnotation = 4,
    kType = 9,
    kNameIid = 10,
    kTrackUuid = 11,
    kDoubleValue = 44,
    kFlowIds = 47
};
enum EventType : std::uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
enum InternedField : std::uint32_t { kCategories = 1, kNames = 2, kAnnotationNames = 3 };
constexpr std::uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;

std::uint64_t process_uuid(std::uint32_t pid) { return hash64(pid) | 1; }
std::uint64_t thread_uuid(std::uint32_t pid, std::uint64_t track) { return hash64(hash64(pid) ^ (track + 1)) | 1; }
std::uint64_t counter_uuid(std::uint64_t name) { return hash64(0xC0DE000000000000ull + name) | 1; }

/// The arrow from a span to the GPU work it launched. The span is known by its track and begin.
std::uint64_t flow_id(std::uint64_t track, std::size_t row, std::int64_t begin_ns) {
    return hash64(hash64(static_cast<std::uint64_t>(begin_ns)) ^ (track << 8 | row)) | 1;
}
using Flows = std::set<std::uint64_t>;

const char* payload_name(Stage stage) {
    return stage == Stage::iteration ? "step" : stage == Stage::view_frame || stage == Stage::ui ? "frame" : "value";
}

/// Collects packets and passes them on to the file, a megabyte at a time. After an error it swallows what follows.
class PacketSink {
  public:
    explicit PacketSink(AtomicFile file) : file_(std::move(file)) {}

    template <class F>
    void packet(F write) {
        if (error_) return;
        buffer_.message(1, write);
        if (buffer_.bytes().size() > (1u << 20)) flush();
    }
    Result<std::uint64_t> finish() {
        flush();
        if (!error_) {
            if (auto done = file_.commit(); !done) error_ = done.error();
        }
        if (error_) return tl::unexpected(*error_);
        return bytes_;
    }

  private:
    void flush() {
        if (error_) return;
        if (auto done = file_.append(std::string_view(buffer_.bytes())); !done) error_ = done.error();
        bytes_ += buffer_.bytes().size();
        buffer_.clear();
    }
    AtomicFile file_;
    ProtoEncoder buffer_;
    std::optional<Error> error_;
    std::uint64_t bytes_ = 0;
};

/// One packet sequence: writes its state-clearing packet, then events, interning names as they first appear.
class Sequence {
  public:
    Sequence(PacketSink& sink, const TraceStore& store, std::uint32_t id, bool dropped)
        : sink_(sink), store_(store), id_(id) {
        sink_.packet([&](ProtoEncoder& p) {
            p.varint(kSequence, id_);
            p.varint(kFlags, kStateCleared);
            if (dropped) p.varint(kDropped, 1);
            p.message(kDefaults, [](ProtoEncoder& d) { d.varint(58, kMonotonic); });
        });
    }

    /// `flow`: an arrow that starts or ends here, 0: none.
    void begin(std::uint64_t uuid, const TraceSpan& span, std::uint64_t flow) {
        event(uuid, span.begin_ns, kSliceBegin, span.name, span.has_payload, span.payload, flow);
    }
    void instant(std::uint64_t uuid, const TraceInstant& i) {
        event(uuid, i.time_ns, kInstant, i.name, i.payload != 0, i.payload, 0);
    }
    void end(std::uint64_t uuid, std::int64_t time) {
        packet(time, [&](ProtoEncoder& e) {
            e.varint(kType, kSliceEnd);
            e.varint(kTrackUuid, uuid);
        });
    }
    void value(std::uint64_t uuid, std::int64_t time, double value) {
        packet(time, [&](ProtoEncoder& e) {
            e.varint(kType, kCounter);
            e.varint(kTrackUuid, uuid);
            e.real(kDoubleValue, value);
        });
    }

  private:
    template <class F>
    void packet(std::int64_t time, F write_event) {
        sink_.packet([&](ProtoEncoder& p) {
            p.varint(kTimestamp, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)));
            p.varint(kSequence, id_);
            p.varint(kFlags, kNeedsState);
            if (!fresh_.bytes().empty()) p.text(kInterned, fresh_.bytes());
            p.message(kTrackEvent, write_event);
        });
        fresh_.clear();
    }
    void event(std::uint64_t uuid, std::int64_t time, EventType type, std::uint32_t name, bool has_payload,
               std::uint64_t payload, std::uint64_t flow) {
        const Stage stage = store_.stage(name);
        const std::uint64_t category = static_cast<std::uint64_t>(group_of(stage)) + 1;
        intern(kNames, name + std::uint64_t{1}, store_.name(name));
        intern(kCategories, category, name_of(group_of(stage)));
        const char* label = payload_name(stage);
        const std::uint64_t annotation = label[0] == 's' ? 1 : label[0] == 'f' ? 2 : 3;
        if (has_payload) intern(kAnnotationNames, annotation, label);
        packet(time, [&](ProtoEncoder& e) {
            e.varint(kCategoryIid, category);
            if (has_payload)
                e.message(kAnnotation, [&](ProtoEncoder& a) {
                    a.varint(1, annotation);
                    a.varint(3, payload);
                });
            e.varint(kType, type);
            e.varint(kNameIid, name + std::uint64_t{1});
            e.varint(kTrackUuid, uuid);
            if (flow != 0) e.fixed(kFlowIds, flow);
        });
    }
    void intern(InternedField field, std::uint64_t iid, std::string_view text) {
        if (!known_.insert({field, iid}).second) return;
        fresh_.message(field, [&](ProtoEncoder& s) {
            s.varint(1, iid);
            s.text(2, text);
        });
    }

    PacketSink& sink_;
    const TraceStore& store_;
    std::uint32_t id_;
    ProtoEncoder fresh_;  // interned data of the next packet
    std::set<std::pair<std::uint32_t, std::uint64_t>> known_;
};

void write_clocks(PacketSink& sink, const TraceStore& store) {
    const auto boot_offset =
        static_cast<std::int64_t>(clock_ns(CLOCK_BOOTTIME)) - static_cast<std::int64_t>(monotonic_ns());
    const std::int64_t now = std::max<std::int64_t>(store.read_ns(), 0);
    sink.packet([&](ProtoEncoder& p) {
        p.varint(kSequence, 1);
        p.message(kClockSnapshot, [&](ProtoEncoder& s) {
            const auto clock = [&](std::uint64_t id, std::int64_t time) {
                s.message(1, [&](ProtoEncoder& c) {
                    c.varint(1, id);
                    c.varint(2, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)));
                });
            };
            clock(kMonotonic, now);
            clock(kRealtime, now + store.realtime_offset_ns());
            clock(kBoottime, now + boot_offset);
            s.varint(2, kMonotonic);
        });
    });
}

template <class F>
void write_track(PacketSink& sink, std::uint64_t uuid, F describe) {
    sink.packet([&](ProtoEncoder& p) {
        p.varint(kSequence, 1);
        p.message(kTrackDescriptor, [&](ProtoEncoder& t) {
            t.varint(1, uuid);
            describe(t);
        });
    });
}

void write_process(PacketSink& sink, const TraceStore& store, std::uint32_t pid) {
    write_track(sink, process_uuid(pid), [&](ProtoEncoder& t) {
        t.message(3, [&](ProtoEncoder& d) {
            d.varint(1, pid);
            d.text(6, store.process_name());
        });
    });
}

/// A thread, or a GPU stream as a track of its own under the process.
void write_lane(PacketSink& sink, const TraceTrack& track, std::uint64_t uuid) {
    write_track(sink, uuid, [&](ProtoEncoder& t) {
        if (track.kind == TrackKind::gpu_stream) {
            t.text(2, track.name);
            t.varint(5, process_uuid(track.pid));
            t.text(14, "GPU stream");  // what the import knows it by
            return;
        }
        t.message(4, [&](ProtoEncoder& d) {
            d.varint(1, track.pid);
            d.varint(2, track.tid);
            d.text(5, track.name);
        });
    });
}

bool is_written(const TraceSpan& span, const PerfettoOptions& options) {
    return span.end_ns >= options.begin_ns && span.begin_ns <= options.end_ns;
}

/// The arrow that `span` of GPU stream `t` ends, 0: none.
std::uint64_t flow_to(const TraceStore& store, std::size_t t, std::size_t row, const TraceSpan& span,
                      const PerfettoOptions& options) {
    const auto by = store.launching_span(t, row, span);
    return by.span == nullptr || !is_written(*by.span, options) ? 0 : flow_id(by.track, by.row, by.span->begin_ns);
}

Flows flows_of(const TraceStore& store, const PerfettoOptions& options) {
    Flows flows;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        if (store.tracks()[t].kind != TrackKind::gpu_stream) continue;
        for (std::size_t r = 0; r < store.tracks()[t].rows.size(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view())
                if (is_written(span, options)) flows.insert(flow_to(store, t, r, span, options));
    }
    flows.erase(0);
    return flows;
}

/// The rows of a track merged into one stream of begins and ends that nest: by begin, outer before inner, an inner span
/// never outlasting its outer one.
std::uint64_t write_spans(Sequence& out, const TraceStore& store, std::size_t t, std::uint64_t uuid, const Flows& flows,
                          const PerfettoOptions& options) {
    const TraceTrack& track = store.tracks()[t];
    const auto flow_of = [&](std::size_t row, const TraceSpan& span) {
        if (flows.empty()) return std::uint64_t{0};
        if (track.kind == TrackKind::gpu_stream) return flow_to(store, t, row, span, options);
        const std::uint64_t id = flow_id(t, row, span.begin_ns);
        return flows.contains(id) ? id : 0;
    };
    struct Cursor {
        const TraceSpan *next, *stop;
    };
    std::vector<Cursor> rows;
    for (const auto& row : track.rows) {
        const auto view = row.view();
        const auto first = std::lower_bound(view.begin(), view.end(), options.begin_ns,
                                            [](const TraceSpan& s, std::int64_t time) { return s.end_ns < time; });
        rows.push_back({view.data() + (first - view.begin()), view.data() + view.size()});
    }
    std::vector<std::int64_t> ends;
    std::uint64_t count = 0;
    for (;;) {
        Cursor* earliest = nullptr;
        for (Cursor& row : rows)
            if (row.next != row.stop && (earliest == nullptr || row.next->begin_ns < earliest->next->begin_ns))
                earliest = &row;
        if (earliest == nullptr || earliest->next->begin_ns > options.end_ns) break;
        const TraceSpan& span = *earliest->next++;
        while (!ends.empty() && ends.back() <= span.begin_ns) {
            out.end(uuid, ends.back());
            ends.pop_back();
        }
        out.begin(uuid, span, flow_of(static_cast<std::size_t>(earliest - rows.data()), span));
        ends.push_back(ends.empty() ? span.end_ns : std::min(span.end_ns, ends.back()));
        ++count;
    }
    for (; !ends.empty(); ends.pop_back()) out.end(uuid, ends.back());
    return count;
}

void write_counters(PacketSink& sink, const TraceStore& store, std::uint32_t pid, std::uint32_t& sequence,
                    const PerfettoOptions& options) {
    const auto declare = [&](std::uint64_t uuid, std::string_view name) {
        write_track(sink, uuid, [&](ProtoEncoder& t) {
            t.text(2, name);
            t.varint(5, process_uuid(pid));
            t.text(8, "");
        });
    };
    for (const CounterSeries& series : store.counters()) {
        const std::uint64_t uuid = counter_uuid(series.name);
        declare(uuid, store.name(series.name));
        Sequence out(sink, store, sequence++, false);
        std::int64_t last = std::numeric_limits<std::int64_t>::min();
        for (const CounterPoint& point : series.points.view()) {
            if (point.time_ns < std::max(last, options.begin_ns) || point.time_ns > options.end_ns) continue;
            if (std::isfinite(point.value)) out.value(uuid, last = point.time_ns, point.value);
        }
    }
    // What is missing from the trace belongs into the trace.
    const std::uint64_t uuid = counter_uuid(~0ull);
    declare(uuid, "lost records");
    Sequence out(sink, store, sequence++, false);
    out.value(uuid, store.read_ns(), static_cast<double>(store.loss().total() + store.forgotten_spans()));
}

}  // namespace

Result<PerfettoSummary> export_perfetto(const TraceStore& store, const fs::path& path, const PerfettoOptions& options) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    PacketSink sink(std::move(*file));
    PerfettoSummary summary;
    write_clocks(sink, store);

    std::set<std::uint32_t> pids;
    for (const TraceTrack& track : store.tracks())
        if (pids.insert(track.pid).second) write_process(sink, store, track.pid);
    const Flows flows = flows_of(store, options);
    std::uint32_t sequence = 2;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        const std::uint64_t uuid = thread_uuid(track.pid, t);
        write_lane(sink, track, uuid);
        Sequence out(sink, store, sequence++, store.loss().lapped > 0);
        summary.spans += write_spans(out, store, t, uuid, flows, options);
        ++(track.kind == TrackKind::thread ? summary.threads : summary.streams);
    }
    std::vector<TraceInstant> instants(store.instants().begin(), store.instants().end());
    std::sort(instants.begin(), instants.end(),
              [](const TraceInstant& a, const TraceInstant& b) { return a.time_ns < b.time_ns; });
    Sequence moments(sink, store, sequence++, false);
    for (const TraceInstant& i : instants)
        if (i.track < store.tracks().size() && i.time_ns >= options.begin_ns && i.time_ns <= options.end_ns)
            moments.instant(thread_uuid(store.tracks()[i.track].pid, i.track), i);
    if (!pids.empty()) write_counters(sink, store, *pids.begin(), sequence, options);
    summary.counters = store.counters().size();

    auto bytes = sink.finish();
    if (!bytes) return tl::unexpected(bytes.error());
    summary.bytes = *bytes;
    return summary;
}

}  // namespace gs
