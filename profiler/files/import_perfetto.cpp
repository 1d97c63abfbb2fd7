// Field numbers: tests/support/perfetto_subset.proto, and those of Perfetto's own schema beyond it.
#include "profiler/files/import_formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "profiler/files/import_numbers.h"
#include "profiler/files/loss_reasons.h"
#include "profiler/files/perfetto_state.h"
#include "profiler/files/perfetto_writer.h"
#include "profiler/store/process_labels.h"

namespace gs {
namespace {

using namespace perfetto;

constexpr std::uint32_t kGpuCounters = 52;

/// The fields of a TracePacket that are read.
struct Packet {
    std::uint64_t sequence = 0, flags = 0, clock = 0;
    std::optional<ProtoReader> timestamp, event, stage, interned, defaults, track, clocks, sample;
};
template <class T>
struct PacketField {
    std::uint32_t number;
    T Packet::*place;
};
constexpr PacketField<std::uint64_t> kNumbers[] = {
    {10, &Packet::sequence}, {13, &Packet::flags}, {58, &Packet::clock}};
constexpr PacketField<std::optional<ProtoReader>> kParts[] = {
    {6, &Packet::clocks},           {8, &Packet::timestamp},       {11, &Packet::event},
    {12, &Packet::interned},        {59, &Packet::defaults},       {60, &Packet::track},
    {kRenderStage, &Packet::stage}, {kPerfSample, &Packet::sample}};
/// Puts a field's value into its place, if it has one.
template <class T, std::size_t N, class Value>
bool put(Packet& packet, std::uint32_t field, const PacketField<T> (&fields)[N], Value&& value) {
    for (const PacketField<T>& one : fields)
        if (one.number == field) return packet.*one.place = value(), true;
    return false;
}
struct Lane {
    std::uint32_t track =
        kNoTrack;  ///< of ImportEvents, once there are slices or a descriptor of a thread
    std::string_view name;
    std::uint64_t parent = 0;
    std::uint32_t pid = 0, tid = 0;
    bool is_process = false, is_thread = false, is_counter = false;
    TrackKind kind = TrackKind::thread;
    bool beside = false;       ///< ranges of the parent that overlap others of it
    bool own_kind = false;     ///< the description says what kind it is, as our own traces do
    std::string_view moments;  ///< one of our tracks of instants that are more than that
    bool incremental = false;
    double unit = 1, sum = 0;
};
class Reader {
  public:
    explicit Reader(ImportEvents& out) : out_(out) {}

    void read(ProtoReader trace, std::size_t bytes) {
        constexpr std::uint64_t kBetweenReports = 65536;
        for (std::uint64_t count = 1; next(trace); ++count) {
            if (trace.field() == 1) try_packet(trace);
            const double share = static_cast<double>(trace.byte()) / static_cast<double>(bytes);
            if (count % kBetweenReports == 0 && !out_.go_on(share)) return;
        }
        describe();
    }

  private:
    /// Where no packet can begin the file was cut, or is damaged from there on.
    bool next(ProtoReader& trace) {
        try {
            return trace.next();
        } catch (const ProtoFault& fault) {
            if (!out_.any() && lanes_.empty()) throw;
            out_.notes.cut(
                fmt::format("cannot read the file from byte {} on: it is damaged or cut off; "
                            "events before that are shown",
                            fault.byte));
            return false;
        }
    }
    void try_packet(const ProtoReader& trace) {
        try {
            packet(trace.message());
        } catch (const ProtoFault& fault) {
            out_.notes.skip_at(fmt::format("packets that cannot be read ({})", fault.what),
                               trace.byte());
        }
    }
    void packet(ProtoReader p) {
        const Packet in = read_packet(p);
        if (sequences_.size() >= kMaxUnits && !sequences_.contains(in.sequence))
            p.fault("too many sequences");
        SequenceState& state = sequences_[in.sequence];
        if ((in.flags & kStateCleared) != 0) {
            state = {};
            state.has_state = true;
        }
        if (in.clocks) clocks_.take(in.clocks->message(), in.sequence, out_.clock);
        if (in.defaults) take_defaults(in.defaults->message(), state);
        if (in.interned) state.take_interned(in.interned->message());
        if (in.track) take_track(in.track->message());
        if (in.event || in.stage || in.sample) take_timed(in, state);
    }
    void take_timed(const Packet& in, SequenceState& state) {
        if ((in.flags & 2) != 0 && !state.has_state)
            return out_.notes.skip("events whose names were lost");
        if (!in.timestamp) return out_.notes.skip("events without a time");
        const std::uint64_t clock = in.clock != 0      ? in.clock
                                    : state.clock != 0 ? state.clock
                                                       : std::uint64_t{kBoottime};
        const auto time = clocks_.reference_time(*in.timestamp, clock, in.sequence);
        if (!time) return out_.notes.skip("events of a clock with no known relation to the others");
        if (in.event)
            take_event(parse_event(in.event->message(), state), *in.event, *time, in.sequence);
        if (in.stage) take_stage(parse_stage(in.stage->message(), *time, state));
        if (in.sample) take_sample(parse_sample(in.sample->message()), *time, in.sequence);
    }
    Packet read_packet(ProtoReader& p) {
        Packet in;
        const std::uint64_t begin = p.byte();
        std::uint32_t other = 0;
        while (p.next())
            if (put(in, p.field(), kParts, [&] { return p; }) ||
                put(in, p.field(), kNumbers, [&] { return p.value(); }))
                continue;
            else if (p.field() == kGpuCounters)
                out_.notes.skip_at("GPU counter packets", p.byte());
            else if (!p.text().empty() && !says_nothing(p.field()))
                other = p.field();
        if (other != 0)
            out_.notes.skip_at(
                fmt::format("packets of another kind (field {} of TracePacket)", other), begin);
        return in;
    }

    /// Packets on the recording itself: its configuration, statistics, marks, the machine; and what
    /// other packets say as well.
    static bool says_nothing(std::uint32_t field) {
        constexpr std::uint32_t kFields[] = {33, 35, 36, 43, 44, 45, 69, 89, 128};
        return std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields);
    }

    // ---- what events refer to
    static void take_defaults(ProtoReader d, SequenceState& state) {
        while (d.next()) {
            if (d.field() == 58) state.clock = d.value();
            if (d.field() == 12) state.stacks.take_defaults(d.message());
            if (d.field() == 11)
                for (ProtoReader e = d.message(); e.next();)
                    if (e.field() == 11) state.track = e.value();
        }
    }
    /// The number of a process or thread; negative ones are written as large ones.
    static std::string written(std::uint64_t value) {
        const auto whole = static_cast<std::int64_t>(value);
        return whole < 0 ? std::to_string(whole) : std::to_string(value);
    }
    std::uint32_t pid_number(std::uint64_t value) {
        return value < ImportNumbers::kFirstMadeUp ? static_cast<std::uint32_t>(value)
                                                   : pids_.of(written(value));
    }
    std::uint32_t tid_number(std::uint64_t value, std::uint32_t pid) {
        return value < ImportNumbers::kFirstMadeUp ? static_cast<std::uint32_t>(value)
                                                   : tids_.of(written(value), pid);
    }
    Lane& lane_of(const ProtoReader& at, std::uint64_t uuid) {
        if (lanes_.size() >= kMaxUnits && !lanes_.contains(uuid)) at.fault("too many tracks");
        return lanes_[uuid];
    }
    std::uint32_t track_of(Lane& lane) {
        if (lane.track == kNoTrack) lane.track = out_.add_track();
        return lane.track;
    }
    void take_track(ProtoReader t) {
        Lane lane;
        std::uint64_t uuid = 0, tid = 0;
        std::string_view command;
        std::vector<std::string_view> labels;
        while (t.next()) {
            const std::uint32_t field = t.field();
            if (field == 1) uuid = t.value();
            if (field == 2) lane.name = t.text();
            if (field == 5) lane.parent = t.value();
            if (field == 14) describe_kind(t.text(), lane);
            if (field == 3 || field == 4) {
                (field == 3 ? lane.is_process : lane.is_thread) = true;
                for (ProtoReader d = t.message(); d.next();) {
                    if (d.field() == 1) lane.pid = pid_number(d.value());
                    if (d.field() == 2 && field == 4) tid = d.value();
                    if (d.field() == 2 && field == 3 && command.empty()) command = d.text();
                    if (d.field() == 8 && field == 3) labels.push_back(d.text());
                    if (d.field() == (field == 3 ? 6u : 5u)) lane.name = d.text();
                }
            }
            if (field == 8) {
                lane.is_counter = true;
                for (ProtoReader c = t.message(); c.next();) {
                    if (c.field() == 4)
                        lane.unit = static_cast<double>(static_cast<std::int64_t>(c.value()));
                    if (c.field() == 5) lane.incremental = c.value() != 0;
                }
            }
        }
        if (tid != 0) lane.tid = tid_number(tid, lane.pid);
        Lane& known = lane_of(t, uuid);
        lane.track = known.track;
        if (lane.name.empty()) lane.name = known.name;
        known = lane;
        if (lane.is_thread || lane.own_kind) track_of(known);
        if (lane.is_process) take_process(known, command, labels);
    }
    static void describe_kind(std::string_view text, Lane& lane) {
        const auto tid_after = [&](const char* prefix) {
            return small_number_in(text.substr(std::strlen(prefix)));
        };
        lane.own_kind = true;
        if (text == kStreamTrack) {
            lane.kind = TrackKind::gpu_stream;
        } else if (text == kOverlappingTrack) {
            lane.kind = TrackKind::overlapping;
        } else if (text == kBesideTrack) {
            lane.beside = true;
        } else if (text.starts_with(kCallsTrack)) {
            lane.kind = TrackKind::api;
            lane.tid = tid_after(kCallsTrack);
        } else if (text.starts_with(kOverheadTrack)) {
            lane.kind = TrackKind::overhead;
            lane.tid = tid_after(kOverheadTrack);
        } else {
            lane.own_kind = false;
            for (const char* moments :
                 {kSyncTrack, kMemoryTrack, kGpusTrack, kPauseTrack, kProjectionTrack})
                if (text == moments) lane.moments = moments;
        }
    }
    void take_process(const Lane& lane, std::string_view command,
                      const std::vector<std::string_view>& texts) {
        ImportedProcess& process = out_.process(lane.pid);
        process.declared = true;
        if (process.batch.process_name.empty()) process.batch.process_name = lane.name;
        ProcessLabels& labels = process.batch.labels;
        if (!command.empty()) labels.command = command;
        for (const std::string_view text : texts) read_label(text, labels);
    }

    // ---- events
    void take_event(const Event& e, const ProtoReader& at, std::int64_t time,
                    std::uint64_t sequence) {
        // What names no track belongs to its sequence.
        Lane& lane = e.track != 0 || e.has_track ? lane_of(at, e.track) : own_lanes_[sequence];
        if (e.type == 4) return take_counter(e, lane, time);
        if (e.type < 1 || e.type > 3)
            return out_.notes.skip("events of types other than slice, instant and counter");
        if (!lane.moments.empty()) {
            const auto parent = lanes_.find(lane.parent);
            if (e.type == 3 && parent != lanes_.end())
                take_moment(e, lane.moments, time, out_, parent->second.pid);
            return;
        }
        const std::uint32_t track = track_of(lane);
        const Note* const payload = e.payload();
        if (e.type == 3) {
            out_.add_instant({time, payload == nullptr ? 0 : payload->value, track,
                              out_.name(e.name, e.domain),
                              payload == nullptr ? PayloadKind::whole : payload->kind});
            return;
        }
        ImportedEvent slice{
            .begin_ns = time,
            .end_ns = time,
            .kind = e.type == 1 ? ImportedEvent::Kind::begin : ImportedEvent::Kind::end};
        if (e.type == 1) {
            slice.name = out_.name(e.name, e.domain);
            if (!e.category.empty()) slice.category = out_.category(e.category, e.domain);
            if (payload != nullptr) {
                slice.payload = payload->value;
                slice.payload_kind = payload->kind;
                slice.has_payload = true;
            }
            slice.values = out_.add_values(values_of(e, payload));
            slice.driver = e.note(kDriverNote) != nullptr;
            slice.not_ended = e.note(kNotEndedNote) != nullptr;
            slice.is_call = !e.submitted.empty();
            slice.flow = e.submitted.empty() ? e.flow : out_.add_submission(e.submitted);
        }
        out_.add(track, slice);
    }
    /// What a slice has beside its payload.
    std::vector<RangeValueEvent> values_of(const perfetto::Event& e, const Note* payload) {
        constexpr std::size_t kMost = 32;
        std::vector<RangeValueEvent> out;
        for (const Note& note : e.notes) {
            if (&note == payload || note.is_ours() || out.size() == kMost) continue;
            RangeValueEvent value{.name = out_.name(note.name)};
            value.value = note.text.empty() ? note.value : out_.name(note.text);
            value.kind = note.text.empty() ? note.kind : PayloadKind::name;
            out.push_back(value);
        }
        return out;
    }
    void take_sample(const PerfSample& sample, std::int64_t time, std::uint64_t sequence) {
        const InternedStacks& stacks = sequences_[sequence].stacks;
        const std::vector<FrameEvent> frames = stacks.stack(sample.stack);
        if (frames.empty()) return out_.notes.skip("samples without a call stack");
        const std::int64_t weight = sample.weight_ns > 0 ? sample.weight_ns : stacks.period_ns();
        const bool blocked = frames.front().kind == FrameKind::blocked;
        out_.add_sample(sample.pid, {time, weight, sample.tid, 0, blocked}, frames);
    }
    void take_stage(StageEvent&& stage) {
        if (!stage.name.empty()) stage.work.name = out_.name(stage.name);
        out_.add_work(pid_number(stage.pid), stage.work, stage.event);
    }
    void take_counter(const Event& e, Lane& lane, std::int64_t time) {
        if (!e.value || !std::isfinite(*e.value))
            return out_.notes.skip("counter events without a number");
        double value = *e.value * lane.unit;
        if (lane.incremental) value = lane.sum += value;
        if (lane.name.starts_with(kLossesCounter) && value >= 0 && value < 1e18 &&
            take_losses(lane, static_cast<std::uint64_t>(value)))
            return;
        out_.add(pid_of(lane), &TraceBatch::counters,
                 {time, value, 0, out_.name(lane.name.empty() ? "counter" : lane.name)});
    }

    /// The export's own notes of what is missing: how many records, and how many for each reason.
    bool take_losses(const Lane& lane, std::uint64_t count) {
        const std::uint32_t pid = pid_of(lane);
        std::string_view reason = lane.name.substr(std::strlen(kLossesCounter));
        if (reason.empty()) return lost_[pid] = count, true;
        ImportedProcess& process = out_.process(pid);
        return reason.starts_with(": ") &&
               take_loss(reason.substr(2), count, process.batch.loss, process.batch.service);
    }

    // Descriptors may come after events, so tracks get their names last.
    void describe() {
        for (auto& [uuid, lane] : lanes_) describe(lane);
        for (auto& [sequence, lane] : own_lanes_) describe(lane);
        for (auto& [uuid, lane] : lanes_)
            if (const auto of = lanes_.find(lane.parent); lane.beside && of != lanes_.end() &&
                                                          lane.track != kNoTrack &&
                                                          of->second.track != kNoTrack)
                out_.join(lane.track, of->second.track);
        for (const auto& [pid, count] : lost_) {
            LossCounts& loss = out_.process(pid).batch.loss;
            loss.unexplained = std::max(count, loss.total()) - loss.total();
        }
    }
    std::uint32_t pid_of(const Lane& lane) const {
        const auto parent = lanes_.find(lane.parent);
        return lane.pid != 0 || parent == lanes_.end() ? lane.pid : parent->second.pid;
    }
    void describe(const Lane& lane) {
        if (lane.track == kNoTrack) return;
        const auto parent = lanes_.find(lane.parent);
        TrackInfo& info = out_.info(lane.track);
        info.pid = pid_of(lane);
        info.tid = lane.tid != 0 || parent == lanes_.end() ? lane.tid : parent->second.tid;
        info.name = lane.name;
        if (info.name.empty() && ImportNumbers::is_made_up(info.tid))
            info.name = "thread " + tids_.written(info.tid);
        if (ImportNumbers::is_made_up(info.pid))
            if (std::string& name = out_.process(info.pid).batch.process_name; name.empty())
                name = pids_.written(info.pid);
        info.kind = lane.beside && parent != lanes_.end() ? parent->second.kind : lane.kind;
        if (!lane.own_kind && !lane.is_thread && lane.name.starts_with("CUDA stream"))
            info.kind = TrackKind::gpu_stream;
    }

    ImportEvents& out_;
    PerfettoClocks clocks_;
    std::unordered_map<std::uint64_t, SequenceState> sequences_;
    std::unordered_map<std::uint64_t, Lane> lanes_, own_lanes_;
    ImportNumbers pids_, tids_;
    std::map<std::uint32_t, std::uint64_t> lost_;  // by process, for whatever reason
};

}  // namespace

bool is_perfetto(std::string_view bytes) {
    try {
        ProtoReader trace(bytes);
        if (!trace.next() || trace.field() != 1 || trace.text().empty()) return false;
        for (ProtoReader packet = trace.message(); packet.next();) continue;
        return true;
    } catch (const ProtoFault&) {
        // Broken, or JSON after an empty line.
        const std::size_t text = bytes.find_first_not_of(" \t\r\n");
        return !bytes.empty() && bytes[0] == '\n' &&
               (text == bytes.npos || (bytes[text] != '{' && bytes[text] != '['));
    }
}

Result<void> import_perfetto(std::string_view bytes, const std::string& path, ImportEvents& out) {
    try {
        Reader(out).read(ProtoReader(bytes), bytes.size());
    } catch (const ProtoFault& fault) {
        return fail_at_byte(path, fault.byte, fault.what, "the file is damaged or cut off");
    }
    return {};
}

}  // namespace gs
