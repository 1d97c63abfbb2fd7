#include "profiler/files/perfetto_state.h"

#include <bit>
#include <cstring>

#include "profiler/files/perfetto_writer.h"

namespace gs::perfetto {
namespace {

std::uint32_t small(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::int64_t bounded_time(std::uint64_t value) {
    return static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(kMaxImportTime)));
}

void take_annotation(ProtoReader a, Event& event, const SequenceState& state) {
    Note note;
    bool has_value = false;
    for (; a.next();) switch (a.field()) {
            case 1:
                note.name = SequenceState::text_of(state.annotations, a.value());
                break;
            case 3:
            case 4:
            case 5:
                note.value = a.field() == 5 ? std::bit_cast<std::uint64_t>(a.real()) : a.value();
                note.kind = a.field() == 3   ? PayloadKind::whole
                            : a.field() == 4 ? PayloadKind::signed_whole
                                             : PayloadKind::real;
                has_value = true;
                break;
            case 6:
                note.text = a.text();
                has_value = !note.text.empty();
                break;
            case 10:
                note.name = a.text();
                break;
            default:
                break;
        }
    if (has_value) event.notes.push_back(note);
}

void take_category(std::string_view text, Event& event) {
    if (text.starts_with(kDomainPrefix)) event.domain = text.substr(std::strlen(kDomainPrefix));
    if (text.starts_with(kNvtxCategoryPrefix))
        event.category = text.substr(std::strlen(kNvtxCategoryPrefix));
}

/// True if it named the stream.
bool take_extra(ProtoReader x, GpuWorkEvent& work) {
    std::string_view name, value;
    while (x.next()) {
        if (x.field() == 1) name = x.text();
        if (x.field() == 2) value = x.text();
    }
    if (name == "device") work.device = small_number_in(value);
    if (name == "context") work.context = small_number_in(value);
    if (name == "stream") work.stream = small_number_in(value);
    if (name == "correlation") work.correlation = number_in(value);
    if (name == "graph") work.graph = small_number_in(value);
    if (name == "bytes") work.bytes = number_in(value);
    if (name == "queued_ns") work.queued_ns = bounded_time(number_in(value));
    if (name == "submitted_ns") work.submitted_ns = bounded_time(number_in(value));
    if (name == "source") work.source = enumerator<MemoryType>(value);
    if (name == "target") work.target = enumerator<MemoryType>(value);
    if (name == "asynchronous") work.asynchronous = value != "0";
    return name == "stream";
}

void take_launch(ProtoReader l, GpuWorkEvent& work, const SequenceState& state) {
    while (l.next()) {
        if (l.field() == 1 || l.field() == 2) {
            auto& to = l.field() == 1 ? work.grid : work.block;
            for (ProtoReader d = l.message(); d.next();)
                if (d.field() >= 1 && d.field() <= 3) to[d.field() - 1] = small(d.value());
        } else if (l.field() == 3) {
            std::string_view name;
            std::uint64_t value = 0;
            for (ProtoReader a = l.message(); a.next();) {
                if (a.field() == 1) name = SequenceState::text_of(state.arguments, a.value());
                if (a.field() == 2) name = a.text();
                if (a.field() == 3 || a.field() == 4) value = a.value();
            }
            if (name == "registers_per_thread") work.registers = small(value);
            if (name == "shared_mem_static") work.static_shared = small(value);
            if (name == "shared_mem_dynamic") work.dynamic_shared = small(value);
            if (name == "local_mem_per_thread") work.local_per_thread = small(value);
        }
    }
}

GpuWorkKind work_kind(std::string_view stage) {
    return stage == "Memcpy"   ? GpuWorkKind::copy
           : stage == "Memset" ? GpuWorkKind::fill
           : stage == "Graph"  ? GpuWorkKind::graph
                               : GpuWorkKind::kernel;
}

}  // namespace

std::int64_t time_of(const ProtoReader& at, std::uint64_t value, std::int64_t unit) {
    if (unit < 1 ||
        value > static_cast<std::uint64_t>(kMaxImportTime) / static_cast<std::uint64_t>(unit))
        at.fault("a time is out of range");
    return static_cast<std::int64_t>(value) * unit;
}

void SequenceState::take_interned(ProtoReader data) {
    while (data.next()) {
        Texts* const texts = data.field() == kCategories          ? &categories
                             : data.field() == kNames             ? &names
                             : data.field() == kAnnotationNames   ? &annotations
                             : data.field() == kGpuSpecifications ? &specifications
                             : data.field() == kKernels           ? &kernels
                             : data.field() == kArgNames          ? &arguments
                                                                  : nullptr;
        if (texts == nullptr && stacks.take(data)) continue;
        if (texts == nullptr && data.field() != kContexts) continue;
        std::uint64_t iid = 0, pid = 0;
        std::string_view text;
        for (ProtoReader s = data.message(); s.next();) {
            if (s.field() == 1) iid = s.value();
            if (s.field() == 2) pid = s.value();
            if (s.field() == 2 && text.empty()) text = s.text();
            if (s.field() == 3 && texts == &kernels) text = s.text();  // demangled
        }
        if (texts != nullptr)
            (*texts)[iid] = text;
        else
            context_pids[iid] = pid;
    }
}

bool Note::is_ours() const { return name == kDriverNote || name == kNotEndedNote; }

const Note* Event::note(std::string_view wanted) const {
    const auto found = std::ranges::find(notes, wanted, &Note::name);
    return found == notes.end() ? nullptr : &*found;
}

std::uint64_t Event::number(std::string_view wanted) const {
    const Note* const found = note(wanted);
    return found == nullptr ? 0 : found->value;
}

const Note* Event::payload() const {
    const auto own = [](const Note& n) { return n.text.empty() && !n.is_ours(); };
    const auto found = std::ranges::find_if(notes, own);
    return found == notes.end() ? nullptr : &*found;
}

Event parse_event(ProtoReader e, const SequenceState& state) {
    Event out;
    std::uint64_t name_iid = 0;
    for (; e.next();) switch (e.field()) {
            case kCategoryIid:
                take_category(SequenceState::text_of(state.categories, e.value()), out);
                break;
            case kAnnotation:
                take_annotation(e.message(), out, state);
                break;
            case kType:
                out.type = e.value();
                break;
            case kNameIid:
                name_iid = e.value();
                break;
            case kTrackUuid:
                out.track = e.value(), out.has_track = true;
                break;
            case kName:
                out.name = e.text();
                break;
            case 30:
                out.value = static_cast<double>(static_cast<std::int64_t>(e.value()));
                break;
            case 36:
            case kFlowIds:
                if (out.flow == 0) out.flow = e.value();
                break;
            case kDoubleValue:
                out.value = e.real();
                break;
            case kGpuCorrelation:
                for (ProtoReader c = e.message(); c.next();)
                    if (c.field() == 1) out.submitted.push_back(c.value());
                break;
            default:
                break;
        }
    if (!out.has_track) out.track = state.track;
    if (const auto known = state.names.find(name_iid); name_iid != 0 && known != state.names.end())
        out.name = known->second;
    return out;
}

StageEvent parse_stage(ProtoReader e, std::int64_t time, const SequenceState& state) {
    StageEvent out;
    std::int64_t duration = 0;
    std::uint64_t context = 0, queue = 0, stage = 0, kernel = 0;
    bool has_stream = false;
    for (; e.next();) switch (e.field()) {
            case 1:
                out.event = e.value();
                break;
            case 2:
                duration = time_of(e, e.value());
                break;
            case 5:
                context = e.value();
                break;
            case 6:
                has_stream = take_extra(e.message(), out.work) || has_stream;
                break;
            case 11:
                out.work.device = small(e.value());
                break;
            case 13:
                queue = e.value();
                break;
            case 14:
                stage = e.value();
                break;
            case 17:
                out.name = e.text();
                break;
            case 19:
                kernel = e.value();
                break;
            case 20:
                out.name = SequenceState::text_of(state.names, e.value());
                break;
            case 21:
                take_launch(e.message(), out.work, state);
                break;
            default:
                break;
        }
    out.work.begin_ns = time;
    out.work.end_ns = time + duration;
    const std::string_view kind = SequenceState::text_of(state.specifications, stage);
    out.work.kind = work_kind(kind);
    if (const auto own = SequenceState::text_of(state.kernels, kernel); kernel != 0 && !own.empty())
        out.name = own;
    if (out.name.empty()) out.name = kind;
    if (!has_stream) {
        const std::string_view text = SequenceState::text_of(state.specifications, queue);
        const std::size_t digit = text.find_first_of("0123456789");
        out.work.stream = digit == text.npos ? small(queue) : small_number_in(text.substr(digit));
    }
    if (const auto pid = state.context_pids.find(context); pid != state.context_pids.end())
        out.pid = pid->second;
    return out;
}

void take_moment(const Event& e, std::string_view moments, std::int64_t time, ImportEvents& out,
                 std::uint32_t pid) {
    const auto number = [&](std::string_view name) { return small(e.number(name)); };
    const auto whole = [&](std::string_view name) {
        return static_cast<int>(std::min<std::uint64_t>(e.number(name), 1u << 30));
    };
    constexpr std::size_t kMostDevices = 256;
    if (moments == kSyncTrack) {
        out.add(pid, &TraceBatch::syncs,
                {time, time + bounded_time(e.number("length_ns")), e.number("correlation"),
                 number("context"), number("stream"), enumerator<SyncType>(e.number("type"))});
    } else if (moments == kMemoryTrack) {
        out.add(pid, &TraceBatch::memory,
                {time, e.number("bytes"), e.number("address"), e.number("correlation"),
                 number("device"), enumerator<MemoryType>(e.number("type")), e.name == "release"});
    } else if (moments == kPauseTrack) {
        out.process(pid).batch.pauses.push_back({time, time + bounded_time(e.number("length_ns")),
                                                 e.number("ranges") != 0, e.number("gpu") != 0});
    } else if (moments == kGpusTrack && out.process(pid).batch.devices.size() < kMostDevices) {
        const Note* const uuid = e.note("uuid");
        out.process(pid).batch.devices.push_back(
            {number("device"), std::string(e.name),
             std::string(uuid == nullptr ? std::string_view() : uuid->text), whole("compute_major"),
             whole("compute_minor"), whole("multiprocessors"), number("warps_per_multiprocessor"),
             number("blocks_per_multiprocessor"), number("registers_per_multiprocessor"),
             number("shared_per_multiprocessor"), number("shared_per_block"), number("l2_bytes"),
             whole("clock_khz"), whole("memory_clock_khz"), whole("memory_bus_bits"),
             e.number("memory_bytes")});
    }
}

// The reference is MONOTONIC where the first snapshot has it, for that is the store's clock.
// Later snapshots only add clocks and restart incremental ones: clocks of one machine drift by
// less than matters here.
void PerfettoClocks::take(ProtoReader snapshot, std::uint64_t sequence, ImportClock& file) {
    struct Reading {
        std::uint64_t id = 0, raw = 0;
        Clock clock;
    };
    std::vector<Reading> readings;
    while (snapshot.next()) {
        if (snapshot.field() != 1 || readings.size() >= 64) continue;
        Reading r;
        for (ProtoReader c = snapshot.message(); c.next();) {
            if (c.field() == 1) r.id = c.value();
            if (c.field() == 2) r.raw = c.value();
            if (c.field() == 3) r.clock.incremental = c.value() != 0;
            if (c.field() == 4) r.clock.unit = time_of(c, c.value());
        }
        r.clock.last = time_of(snapshot, r.raw, r.clock.unit);
        readings.push_back(r);
    }
    std::optional<std::int64_t> now;  // in the reference clock
    for (const Reading& r : readings)
        if (const auto known = clocks_.find(key_of(r.id, sequence));
            known != clocks_.end() && !r.clock.incremental)
            now = r.clock.last + known->second.offset;
    if (!now && clocks_.empty())
        for (const Reading& r : readings)
            if (!now || r.id == kMonotonic) now = r.clock.last;
    if (!now || *now < 0 || *now > kMaxImportTime) return;
    for (Reading& r : readings) {
        r.clock.offset = *now - r.clock.last;
        if (r.id == kRealtime && !file.realtime_offset_ns)
            file.realtime_offset_ns = -r.clock.offset;
        if (r.id == kMonotonic && file.read_ns == 0) file.read_ns = *now;
        if (clocks_.size() >= kMaxUnits) snapshot.fault("too many clocks");
        const ClockKey key = key_of(r.id, sequence);
        if (r.clock.incremental)
            clocks_.insert_or_assign(key, r.clock);
        else
            clocks_.try_emplace(key, r.clock);
    }
}

std::optional<std::int64_t> PerfettoClocks::reference_time(const ProtoReader& at, std::uint64_t id,
                                                           std::uint64_t sequence) {
    const auto found = clocks_.find(key_of(id, sequence));
    if (found == clocks_.end())
        return clocks_.empty() ? std::optional(time_of(at, at.value())) : std::nullopt;
    Clock& clock = found->second;
    std::int64_t time = time_of(at, at.value(), clock.unit);
    if (clock.incremental)
        clock.last = time = time_of(at, static_cast<std::uint64_t>(clock.last + time));
    time += clock.offset;
    if (std::abs(time) > kMaxImportTime) at.fault("a time is out of range");
    return time;
}

}  // namespace gs::perfetto
