#include "profiler/collect/reader.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/record/ring.h"
#include "base/try.h"
#include "profiler/store/symbol.h"

namespace gs {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
static_assert(sizeof(abi::DeviceRecord) == sizeof(abi::ActivityRecord));

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) {
    return offset <= total && bytes <= total - offset && offset % kWord == 0;
}

/// Whether a reader that knows `least` bytes of something may step by `bytes`.
bool is_step(std::uint64_t bytes, std::uint64_t least) {
    return bytes >= least && bytes % kWord == 0 && bytes <= 4096;
}

/// What is wrong with the header, or null. Everything the reader will use as a size, step or offset
/// is checked here once.
const char* flaw_of(const abi::RingHeader& h, std::uint64_t file_bytes) {
    if (h.total_bytes > file_bytes || h.total_bytes > abi::kHardCap)
        return "its total size is larger than its memory or the cap";
    if (h.header_bytes < sizeof(abi::RingHeader) || h.header_bytes > h.total_bytes)
        return "its header size is not valid";
    if (h.lane_bytes < sizeof(abi::Lane) || h.lane_bytes % kWord != 0 || h.lane_bytes > 65536)
        return "its lane size is not valid";
    // A newer minor's may be longer, and begin as ours do.
    if (!is_step(h.record_bytes, sizeof(abi::Record)) ||
        !is_step(h.clock_bytes, sizeof(abi::ClockSnapshot)) ||
        !is_step(h.string_entry_bytes, sizeof(abi::StringEntry)) ||
        h.stack_slots > (h.lane_bytes - offsetof(abi::Lane, stack)) / sizeof(abi::OpenRange) ||
        h.header_bytes < devices_offset(h) + sizeof(abi::RingHeader::devices))
        return "its record sizes are not valid";
    if (h.lane_count > 4096 ||
        !inside(h.lanes_offset, std::uint64_t{h.lane_count} * h.lane_bytes, h.total_bytes))
        return "its lanes are out of bounds";
    if (!inside(h.arena_offset, h.arena_bytes, h.total_bytes))
        return "its string arena is out of bounds";
    if (!inside(h.rings_offset, h.rings_bytes, h.total_bytes))
        return "its records are out of bounds";
    if (h.tick_clock != static_cast<std::uint32_t>(abi::TickClock::counter) &&
        h.tick_clock != static_cast<std::uint32_t>(abi::TickClock::monotonic_ns))
        return "its clock is unknown";
    return nullptr;
}

/// Bytes of the UTF-8 character that starts at text[i], 0 when none does.
std::size_t character_at(const std::string& text, std::size_t i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
    const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                                                             : 0;
    if (length == 0 || i + length > text.size()) return 0;
    for (std::size_t k = 1; k < length; ++k)
        if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 0;
    return length;
}

/// Names end up in files and on screen: control bytes and broken UTF-8 become question marks.
void make_printable(std::string& text) {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = character_at(text, i);
        if (length == 0) text[i] = '?';
        i += std::max<std::size_t>(length, 1);
    }
}

PayloadKind payload_kind_of(std::uint16_t flags) {
    if ((flags & abi::kPayloadIsDouble) != 0) return PayloadKind::real;
    return (flags & abi::kPayloadIsSigned) != 0 ? PayloadKind::signed_whole : PayloadKind::whole;
}

constexpr std::uint64_t kArenaPublished = offsetof(abi::RingHeader, arena_published);
constexpr std::uint64_t kLanesUsed = offsetof(abi::RingHeader, lanes_used);
constexpr std::uint64_t kCuptiComplete = offsetof(abi::RingHeader, cupti_complete_ns);

}  // namespace

Result<TraceReader> TraceReader::attach(int fd) {
    TraceReader reader;
    GS_TRY(reader.memory_, RingMemory::map(fd));
    const auto magic = reader.memory_.load_acquire<std::uint64_t>(0);
    reader.memory_.copy(0, &reader.layout_, sizeof reader.layout_);
    const abi::RingHeader& h = reader.layout_;
    if (magic != abi::kMagic)
        return fail(ErrorKind::malformed, "", "not a gausscope ring, or not ready yet");
    if (h.version >> 16 != abi::kMajor)
        return fail(ErrorKind::unsupported, "",
                    fmt::format("the ring has layout version {}, this program reads {}",
                                h.version >> 16, abi::kMajor),
                    "use the gausscope version of the recording process");
    if (const char* flaw = flaw_of(h, reader.memory_.bytes()))
        return fail(ErrorKind::malformed, "", fmt::format("the ring is damaged: {}", flaw));
    reader.layout_.process_name[sizeof h.process_name - 1] = '\0';
    reader.clocks_ = RingClocks(static_cast<abi::TickClock>(h.tick_clock), own_ns_per_tick());
    reader.lanes_.resize(h.lane_count);
    // What was overwritten before this reader came is history, not its loss (but see count_past).
    for (std::uint32_t i = 0; i < h.lane_count; ++i) {
        abi::Lane info;
        reader.memory_.copy(h.lanes_offset + std::uint64_t{i} * h.lane_bytes, &info,
                            offsetof(abi::Lane, stack));
        if (info.record_capacity != 0 && info.head >= info.record_capacity)
            reader.lanes_[i].tail = info.head - info.record_capacity + 1;
    }
    return reader;
}

Result<TraceReader> TraceReader::attach_own() {
    start_recording();
    return attach(ring_fd());
}

void TraceReader::count_past() {
    for (const LaneProgress& lane : lanes_) loss_.lapped += lane.tail;
}

void TraceReader::skip_past() {
    for (std::uint32_t i = 0; i < layout_.lane_count; ++i) {
        const std::uint64_t at = layout_.lanes_offset + std::uint64_t{i} * layout_.lane_bytes;
        lanes_[i].tail = memory_.load_acquire<std::uint64_t>(at + offsetof(abi::Lane, head));
    }
}

bool TraceReader::producer_alive() const {
    return ::kill(static_cast<pid_t>(layout_.pid), 0) == 0 || errno == EPERM;
}

void TraceReader::read_strings(TraceBatch& out) {
    const auto published =
        std::min(memory_.load_acquire<std::uint64_t>(kArenaPublished), layout_.arena_bytes);
    const std::uint64_t step = layout_.string_entry_bytes;
    while (arena_read_ + step <= published) {
        abi::StringEntry entry;
        memory_.copy(layout_.arena_offset + arena_read_, &entry, sizeof entry);
        const std::uint64_t padded = (std::uint64_t{entry.bytes} + 7) & ~std::uint64_t{7};
        if (entry.bytes > abi::kMaxStringBytes || arena_read_ + step + padded > published) {
            // What follows cannot be found any more; names from here on stay unknown.
            ++loss_.malformed;
            arena_read_ = layout_.arena_bytes;
            return;
        }
        std::string text(padded, '\0');
        memory_.copy(layout_.arena_offset + arena_read_ + step, text.data(), padded);
        text.resize(entry.bytes);
        make_printable(text);
        if (text.starts_with("_Z")) text = readable_symbol(text);
        const bool in_domain = entry.domain != 0 && entry.domain <= names_.size();
        names_.push_back(
            {std::move(text), in_domain ? names_[entry.domain - 1].text : std::string()});
        arena_read_ += step + padded;  // only now: memory may run out, numbers stay right
        const bool category = (entry.flags & 0xFF) == abi::kCategoryName;
        out.names.push_back({static_cast<std::uint32_t>(names_.size()), names_.back().text,
                             names_.back().domain, entry.color >> 24 == 1 ? entry.color : 0,
                             category ? entry.flags >> 8 : 0});
    }
}

std::uint32_t TraceReader::known(std::uint32_t name, TraceBatch& out) {
    if (name > names_.size())
        read_strings(out);  // a name is published before the first record that bears it
    return name <= names_.size() ? name : 0;
}

void TraceReader::report_track(const LaneProgress& lane, bool ended, TraceBatch& out) {
    const std::uint32_t name = known(lane.name, out);
    const TrackKind kind =
        lane.kind == abi::LaneKind::device ? TrackKind::gpu_stream : TrackKind::thread;
    out.tracks.push_back({lane.track, layout_.pid, lane.tid,
                          name == 0 ? std::string() : names_[name - 1].text, ended, kind});
}

void TraceReader::new_owner(LaneProgress& lane, std::uint32_t tid, std::uint32_t name,
                            TraceBatch& out) {
    if (lane.track != kNoTrack) report_track(lane, true, out);  // its end was overwritten
    lane.track = tracks_++;
    lane.tid = tid;
    lane.name = name;
    report_track(lane, false, out);
}

void TraceReader::take_record(LaneProgress& lane, const abi::DeviceRecord& device,
                              TraceBatch& out) {
    const abi::Record& r = device.record;
    const auto kind = static_cast<abi::RecordKind>(r.kind);
    if (kind == abi::RecordKind::thread_begin)
        return new_owner(lane, static_cast<std::uint32_t>(r.payload), r.name, out);
    if (lane.track == kNoTrack) new_owner(lane, lane.tid, lane.name, out);
    const std::int64_t begin = clocks_.ticks().ns_from_ticks(r.begin),
                       end = clocks_.ticks().ns_from_ticks(r.end);
    if (r.end < r.begin || begin < 0 || end > latest_time(out)) {
        ++loss_.malformed;
        return;
    }
    const std::uint32_t name = known(r.name, out);
    const bool has_payload = (r.flags & abi::kHasPayload) != 0;
    const PayloadKind payload_kind = payload_kind_of(r.flags);
    const auto category = static_cast<std::uint8_t>(r.flags >> abi::kCategoryShift);
    switch (kind) {
        case abi::RecordKind::span:
            return take_span(lane, device,
                             {begin, end, r.payload, lane.track, name, r.depth, has_payload,
                              payload_kind, category},
                             out);
        case abi::RecordKind::async_span:
            out.async_spans.push_back(
                {begin, end, r.payload, lane.track, name, has_payload, payload_kind, category});
            return;
        case abi::RecordKind::counter:
            out.counters.push_back({begin, std::bit_cast<double>(r.payload), lane.track, name});
            return;
        case abi::RecordKind::instant:
            out.instants.push_back({begin, r.payload, lane.track, name, payload_kind});
            return;
        case abi::RecordKind::value:
            return take_value(lane, r, begin, out);
        case abi::RecordKind::pause:
            out.pauses.push_back({begin, end, (r.payload & abi::kPausesRanges) != 0,
                                  (r.payload & abi::kPausesGpu) != 0});
            return;
        case abi::RecordKind::thread_name:
            lane.name = r.name;
            report_track(lane, false, out);
            return;
        case abi::RecordKind::thread_end:
            report_track(lane, true, out);
            lane.track = kNoTrack;
            return;
        default:
            ++loss_.malformed;
    }
}

void TraceReader::take_value(const LaneProgress& lane, const abi::Record& r, std::int64_t begin,
                             TraceBatch& out) {
    const bool is_name = (r.flags & abi::kPayloadIsName) != 0;
    const PayloadKind kind = is_name ? PayloadKind::name : payload_kind_of(r.flags);
    const std::uint64_t value = is_name ? known(static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                                    r.payload, names_.size() + 1)),
                                                out)
                                        : r.payload;
    out.values.push_back({begin, value, lane.track, known(r.name, out), r.depth, kind});
}

void TraceReader::take_span(const LaneProgress& lane, const abi::DeviceRecord& r,
                            const SpanEvent& span, TraceBatch& out) {
    if (lane.kind == abi::LaneKind::thread) {
        out.spans.push_back(span);
        return;
    }
    const std::int64_t launch = clocks_.ticks().ns_from_ticks(r.launch_begin);
    TraceLaunch by;
    // The launching lane may have changed hands since, or never have been: then who launched it is
    // not known.
    const bool known_lane = r.launch_begin != 0 && r.launch_lane < lanes_.size() && launch >= 0 &&
                            launch <= span.end_ns && r.launch_depth < abi::kStackSlots;
    if (known_lane && lanes_[r.launch_lane].kind == abi::LaneKind::thread &&
        lanes_[r.launch_lane].generation == r.launch_generation)
        by = {launch, lanes_[r.launch_lane].track, static_cast<std::uint8_t>(r.launch_depth)};
    out.gpu_work.push_back(stage_work(span, by, r.correlation));
}

// Threads first: GPU work names the thread that launched it.
void TraceReader::read_lanes(abi::LaneKind kind, TraceBatch& out) {
    for (std::uint32_t i = 0; i < lanes_used_; ++i) {
        const std::uint64_t at = layout_.lanes_offset + std::uint64_t{i} * layout_.lane_bytes;
        LaneProgress& lane = lanes_[i];
        const auto head = memory_.load_acquire<std::uint64_t>(at + offsetof(abi::Lane, head));
        const bool counts_untimed = kind == abi::LaneKind::device && lane.kind == kind;
        if (head == lane.tail && !counts_untimed) continue;
        abi::Lane info;
        memory_.copy(at, &info, offsetof(abi::Lane, head));
        if (info.kind != static_cast<std::uint32_t>(kind)) {
            if (info.kind > static_cast<std::uint32_t>(abi::LaneKind::activity) &&
                kind == abi::LaneKind::thread) {
                ++loss_.malformed;
                lane.tail = head;
            }
            continue;
        }
        if (kind == abi::LaneKind::device) loss_.untimed += info.untimed;
        if (head == lane.tail) continue;
        if (lane.kind != kind) lane.track = kNoTrack;
        lane.kind = kind;
        read_lane(i, head, info, out);
    }
}

std::span<const TraceReader::RawRecord> TraceReader::copy_lane(std::uint32_t index,
                                                               std::uint64_t head,
                                                               const abi::Lane& info,
                                                               TraceBatch& out) {
    const std::uint64_t at = layout_.lanes_offset + std::uint64_t{index} * layout_.lane_bytes;
    LaneProgress& lane = lanes_[index];
    const bool thin = lane.kind == abi::LaneKind::thread;
    const std::uint64_t known_bytes = thin ? sizeof(abi::Record) : sizeof(abi::DeviceRecord);
    const std::uint64_t capacity = info.record_capacity, bytes = capacity * info.record_bytes;
    const bool possible =
        head > lane.tail && std::has_single_bit(capacity) &&
        (thin ? info.record_bytes == layout_.record_bytes
              : is_step(info.record_bytes, known_bytes)) &&
        info.records_offset >= layout_.rings_offset &&
        inside(info.records_offset - layout_.rings_offset, bytes, layout_.rings_bytes) &&
        info.records_offset % kWord == 0;
    if (!possible) {
        ++loss_.malformed;
        lane.tail = head;
        return {};
    }
    fullest_ =
        std::max(fullest_, static_cast<double>(head - lane.tail) / static_cast<double>(capacity));
    const std::uint64_t first = std::max(lane.tail, head > capacity ? head - capacity : 0);
    // Lanes share nothing, so all of them together hold no more than there is space for.
    if (head - first > records_left_) {
        ++loss_.malformed;
        lane.tail = head;
        return {};
    }
    records_left_ -= head - first;
    scratch_.resize(head - first);
    for (std::uint64_t n = first; n < head; ++n)
        memory_.copy(info.records_offset + n % capacity * info.record_bytes, &scratch_[n - first],
                     known_bytes);
    detail::fence(std::memory_order_acquire);
    const auto head_after = memory_.load_acquire<std::uint64_t>(at + offsetof(abi::Lane, head));
    // Record head_after may be half written; it shares its slot with head_after - capacity.
    const std::uint64_t whole =
        head_after >= capacity ? std::min(head_after - capacity + 1, head) : 0;
    const std::uint64_t start = std::max(first, whole);
    const bool lost = start > lane.tail;
    if (lost) loss_.lapped += start - lane.tail;
    if (lane.kind != abi::LaneKind::activity) {
        // The lost part may have held the thread's begin: ask the lane who wrote from here on.
        if (start > info.owner_first) {
            if (lane.track == kNoTrack || (lost && lane.tail <= info.owner_first))
                new_owner(lane, info.tid, info.name, out);
        } else if (lost && info.generation - lane.generation > 1) {
            // Several owners went by; whose records these are is not known.
            if (lane.track != kNoTrack) report_track(lane, true, out);
            lane = {start, info.generation, kNoTrack, 0, 0, lane.kind};
        }
    }
    lane.generation = info.generation;
    lane.tail = head;
    return std::span<const RawRecord>(scratch_).subspan(start - first);
}

void TraceReader::read_lane(std::uint32_t index, std::uint64_t head, const abi::Lane& info,
                            TraceBatch& out) {
    for (const RawRecord& raw : copy_lane(index, head, info, out)) {
        if (lanes_[index].kind == abi::LaneKind::activity)
            activities_.push_back(std::bit_cast<abi::ActivityRecord>(raw));
        else
            take_record(lanes_[index], std::bit_cast<abi::DeviceRecord>(raw), out);
    }
}

void TraceReader::read_open(std::uint32_t index, TraceBatch& out) {
    const std::uint64_t at = layout_.lanes_offset + std::uint64_t{index} * layout_.lane_bytes;
    const std::uint32_t track = lanes_[index].track;
    if (track == kNoTrack) return;
    const auto head = memory_.load_acquire<std::uint64_t>(at + offsetof(abi::Lane, head));
    const auto depth = memory_.load_acquire<std::uint32_t>(at + offsetof(abi::Lane, depth));
    const std::uint32_t kept = std::min({depth, layout_.stack_slots, abi::kStackSlots});
    if (kept == 0) return;
    abi::OpenRange stack[abi::kStackSlots];
    memory_.copy(at + offsetof(abi::Lane, stack), stack, kept * sizeof(abi::OpenRange));
    detail::fence(std::memory_order_acquire);
    // Every exit writes a record and every entry changes the depth: both unchanged means the stack
    // was.
    if (memory_.load_acquire<std::uint64_t>(at + offsetof(abi::Lane, head)) != head ||
        memory_.load_acquire<std::uint32_t>(at + offsetof(abi::Lane, depth)) != depth)
        return;
    for (std::uint32_t i = 0; i < kept; ++i) {
        const auto begin = clocks_.ticks().ns_from_ticks(stack[i].begin);
        if (begin < 0 || begin > latest_time(out)) continue;  // damaged
        out.open.push_back({begin, stack[i].payload, track, known(stack[i].name, out),
                            static_cast<std::uint8_t>(i)});
    }
}

void TraceReader::drain(TraceBatch& out) {
    fullest_ = 0;
    clocks_.read(memory_, layout_.clock_bytes);
    if (!clocks_.ticks().ready()) return;
    out.read_ns = now_ns();
    read_strings(out);
    loss_.untimed = 0;
    lanes_used_ = std::min(memory_.load_acquire<std::uint32_t>(kLanesUsed), layout_.lane_count);
    records_left_ = layout_.rings_bytes / sizeof(abi::Record);
    // Before the lanes: what it counts is in them by now.
    const auto complete =
        layout_.version >= (1u << 16 | 4) ? memory_.load_acquire<std::uint64_t>(kCuptiComplete) : 0;
    read_lanes(abi::LaneKind::thread, out);
    read_lanes(abi::LaneKind::device, out);
    read_lanes(abi::LaneKind::activity, out);
    take_activities(out);
    out.open.clear();
    for (std::uint32_t i = 0; i < lanes_used_; ++i) read_open(i, out);
    out.written = 0;
    for (const LaneProgress& lane : lanes_) out.written += lane.tail;
    abi::RingHeader now;
    memory_.copy(0, &now, offsetof(abi::RingHeader, clocks));
    now.cupti_complete_ns = activities_.empty() ? complete : std::min<std::uint64_t>(complete, 1);
    loss_.dropped = now.dropped_records;
    loss_.too_deep = now.too_deep;
    loss_.dropped_strings = now.dropped_strings;
    loss_.truncated_strings = now.truncated_strings;
    read_service(now, out);
    out.loss = loss_;
    out.pid = layout_.pid;
    out.process_start = layout_.process_start;
    out.process_name = layout_.process_name;
    make_printable(out.process_name);
    out.realtime_offset_ns = clocks_.ticks().realtime_offset_ns();
}

}  // namespace gs
