// Field numbers: XLA's xplane.proto; the texts of details: its collector for CUPTI.
#include "profiler/files/import_formats.h"

#include <charconv>

#include "profiler/files/import_numbers.h"
#include "profiler/files/proto_reader.h"
#include "profiler/store/iteration_name.h"

namespace gs {
namespace {

constexpr std::size_t kMaxUnits = 1 << 20;  // of names and lines, in the whole file
constexpr std::uint32_t kPid = 1;           // where the file does not say it
/// Times since 1970 are above, times since the recording's begin below. A file may have both.
constexpr std::int64_t kSinceEpoch = 1'000'000'000'000'000'000;
constexpr std::int64_t kEarlier = 60'000'000'000;  // what may lie before the recording's begin

/// A number or a text of an event or a plane.
struct Stat {
    std::uint64_t name = 0, value = 0, reference = 0;
    std::string_view text;
};

Stat parse_stat(ProtoReader s) {
    Stat out;
    while (s.next()) {
        if (s.field() == 1) out.name = s.value();
        if (s.field() == 3 || s.field() == 4) out.value = s.value();
        if (s.field() == 5) out.text = s.text();
        if (s.field() == 7) out.reference = s.value();
    }
    return out;
}

/// Devices or threads and their lines; numbers of names are its own.
struct Plane {
    std::string_view name;
    std::vector<ProtoReader> lines;
    std::unordered_map<std::uint64_t, std::string_view> events, stats;
    std::vector<Stat> values;

    std::string_view text_of(const Stat& s) const {
        const auto found = stats.find(s.reference);
        return s.text.empty() && found != stats.end() ? found->second : s.text;
    }
    std::string_view name_of(const Stat& s) const {
        const auto found = stats.find(s.name);
        return found == stats.end() ? std::string_view() : found->second;
    }
};

/// An entry of a map from numbers to metadata: its number and its name, the one for display first.
void take_name(ProtoReader entry, std::unordered_map<std::uint64_t, std::string_view>& into) {
    std::uint64_t number = 0;
    std::string_view name, shown;
    while (entry.next()) {
        if (entry.field() == 1) number = entry.value();
        if (entry.field() != 2) continue;
        for (ProtoReader m = entry.message(); m.next();) {
            if (m.field() == 2) name = m.text();
            if (m.field() == 4) shown = m.text();
        }
    }
    into[number] = shown.empty() ? name : shown;
}

/// `units`: names and lines so far.
Plane parse_plane(ProtoReader p, std::size_t& units) {
    Plane out;
    while (p.next()) {
        if (++units > kMaxUnits) p.fault("too many names and lines");
        if (p.field() == 2) out.name = p.text();
        if (p.field() == 3) out.lines.push_back(p.message());
        if (p.field() == 4) take_name(p.message(), out.events);
        if (p.field() == 5) take_name(p.message(), out.stats);
        if (p.field() == 6) out.values.push_back(parse_stat(p.message()));
    }
    return out;
}

/// What follows `key` in "regs:32 static_shared:0 grid:8,1,1 block:256,1,1", up to the next blank.
std::string_view detail(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == text.npos) return {};
    text.remove_prefix(at + key.size());
    return text.substr(0, text.find(' '));
}

/// Numbers with commas between them; what is none stays as it is.
template <class T>
void read_numbers(std::string_view text, std::span<T> into) {
    for (T& number : into) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc()) return;
        text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
    }
}
template <class T>
void read_number(std::string_view text, T& into) {
    read_numbers<T>(text, std::span(&into, 1));
}

void take_kernel(std::string_view text, GpuWorkEvent& work) {
    read_number(detail(text, "regs:"), work.registers);
    read_number(detail(text, "static_shared:"), work.static_shared);
    read_number(detail(text, "dynamic_shared:"), work.dynamic_shared);
    read_numbers<std::uint32_t>(detail(text, "grid:"), work.grid);
    read_numbers<std::uint32_t>(detail(text, "block:"), work.block);
}

void take_copy(std::string_view text, GpuWorkEvent& work) {
    work.kind = GpuWorkKind::copy;
    read_number(detail(text, "size:"), work.bytes);
    work.source = enumerator<MemoryType>(detail(text, "kind_src:"));
    work.target = enumerator<MemoryType>(detail(text, "kind_dst:"));
    work.asynchronous = detail(text, "async:") != "0";
}

void take_fill(std::string_view text, GpuWorkEvent& work) {
    work.kind = GpuWorkKind::fill;
    read_number(detail(text, "num_bytes:"), work.bytes);
}

/// An event, times in nanoseconds of the file's clock.
struct XEvent {
    std::string_view name;
    std::int64_t begin_ns = 0, end_ns = 0;
    std::vector<Stat> stats;
};

class XplaneReader {
  public:
    explicit XplaneReader(ImportEvents& out) : out_(out) {}

    void read(ProtoReader space, std::size_t bytes) {
        std::vector<Plane> planes;
        std::string host;
        while (next(space)) {
            if (space.field() == 1) try_plane(space, planes);
            if (space.field() == 4) host = space.text();
        }
        for (const Plane& plane : planes)
            for (const Stat& value : plane.values) {
                if (plane.name_of(value) == "process_id" && value.value != 0)
                    pid_ = static_cast<std::uint32_t>(value.value);
                if (plane.name_of(value) == "profile_start_time" && value.value <= kMaxImportTime)
                    start_ns_ = static_cast<std::int64_t>(value.value);
            }
        if (start_ns_ > kSinceEpoch) out_.clock.realtime_offset_ns = start_ns_ - kEarlier;
        ImportedProcess& process = out_.process(pid_);
        process.declared = true;
        process.batch.process_name = host.empty() ? "XLA" : "XLA on " + host;
        for (const Plane& plane : planes) take_plane(plane, bytes);
    }

  private:
    bool next(ProtoReader& space) {
        try {
            return space.next();
        } catch (const ProtoFault& fault) {
            if (fault.byte == 0) throw;
            out_.notes.cut(
                fmt::format("cannot read the file from byte {} on: it is damaged or cut off; "
                            "events before that are shown",
                            fault.byte));
            return false;
        }
    }
    void try_plane(const ProtoReader& space, std::vector<Plane>& into) {
        try {
            into.push_back(parse_plane(space.message(), units_));
        } catch (const ProtoFault& fault) {
            out_.notes.skip_at(fmt::format("planes that cannot be read ({})", fault.what),
                               space.byte());
        }
    }
    void take_plane(const Plane& plane, std::size_t bytes) {
        constexpr std::string_view kGpu = "/device:GPU:";
        const bool host = plane.name.starts_with("/host:"), gpu = plane.name.starts_with(kGpu);
        if (!host && !gpu && !plane.lines.empty())
            return out_.notes.skip(plane.name.starts_with("/device:TPU")
                                       ? "lines of TPUs, which are not read"
                                       : "lines of neither a host nor a GPU",
                                   plane.lines.size());
        std::uint32_t device = 0;
        if (gpu) read_number(plane.name.substr(kGpu.size()), device);
        for (const ProtoReader& line : plane.lines) {
            try {
                host ? take_thread(plane, line) : take_stream(plane, line, device);
            } catch (const ProtoFault& fault) {
                out_.notes.skip_at(fmt::format("lines that cannot be read ({})", fault.what),
                                   fault.byte);
            }
            if (!out_.go_on(static_cast<double>(line.byte()) / static_cast<double>(bytes))) return;
        }
    }

    struct Line {
        std::string_view name;
        std::uint64_t number = 0;
        std::int64_t begin_ns = 0;
    };
    Line parse_line(ProtoReader l) const {
        Line out;
        std::string_view shown;
        while (l.next()) {
            if (l.field() == 1) out.number = l.value();
            if (l.field() == 2) out.name = l.text();
            if (l.field() == 3) out.begin_ns = static_cast<std::int64_t>(l.value());
            if (l.field() == 11) shown = l.text();
        }
        if (!shown.empty()) out.name = shown;
        if (out.begin_ns < 0 || out.begin_ns > kMaxImportTime) l.fault("an impossible time");
        if (start_ns_ > kSinceEpoch)
            out.begin_ns += kEarlier - (out.begin_ns > kSinceEpoch ? start_ns_ : 0);
        else if (out.begin_ns > kSinceEpoch)
            out_.clock.realtime_offset_ns = 0;
        return out;
    }
    /// Calls take(event) for those of the line.
    template <class Take>
    void for_each_event(const Plane& plane, ProtoReader line, std::int64_t begin_ns,
                        const Take& take) {
        while (line.next()) {
            if (line.field() != 4) continue;
            XEvent event;
            std::int64_t offset_ps = 0, duration_ps = 0;
            bool sum = false;
            for (ProtoReader e = line.message(); e.next();) {
                if (e.field() == 1)
                    if (const auto known = plane.events.find(e.value());
                        known != plane.events.end())
                        event.name = known->second;
                if (e.field() == 2) offset_ps = static_cast<std::int64_t>(e.value());
                if (e.field() == 3) duration_ps = static_cast<std::int64_t>(e.value());
                if (e.field() == 4) event.stats.push_back(parse_stat(e.message()));
                sum |= e.field() == 5;
            }
            const bool possible = std::abs(offset_ps / 2) < kMaxImportTime && duration_ps >= 0 &&
                                  duration_ps / 2 < kMaxImportTime;
            if (possible) {
                event.begin_ns = begin_ns + offset_ps / 1000;
                event.end_ns = begin_ns + (offset_ps + duration_ps) / 1000;
            }
            if (sum)
                out_.notes.skip("sums of many events");
            else if (!possible || event.begin_ns < 0 || event.end_ns > kMaxImportTime)
                out_.notes.skip("events of impossible times");
            else
                take(event);
        }
    }

    void take_thread(const Plane& plane, const ProtoReader& at) {
        const Line line = parse_line(at);
        const std::uint32_t track = out_.add_track();
        if (track == kNoTrack) at.fault("too many threads");
        TrackInfo& info = out_.info(track);
        info.pid = pid_;
        info.tid = tids_.of(std::to_string(line.number));
        info.name = line.name;
        for_each_event(plane, at, line.begin_ns, [&](const XEvent& event) {
            if (event.begin_ns == event.end_ns)
                return out_.add_instant(
                    {event.begin_ns, 0, track, out_.name(event.name), PayloadKind::whole});
            ImportedEvent span{
                .begin_ns = event.begin_ns, .end_ns = event.end_ns, .name = out_.name(event.name)};
            for (const Stat& s : event.stats) {
                if (plane.name_of(s) == "correlation_id") {
                    span.flow = s.value;
                    span.is_call = event.name.starts_with("cu");
                }
                // An annotation of a step may have any name.
                if (plane.name_of(s) != "step_num") continue;
                if (iteration_name(event.name).rank == 0)
                    span.name = out_.name("step#" + std::string(event.name));
                span.payload = s.value;
                span.has_payload = true;
            }
            out_.add(track, span);
        });
    }
    void take_stream(const Plane& plane, const ProtoReader& at, std::uint32_t device) {
        const Line line = parse_line(at);
        constexpr std::string_view kStream = "Stream #";
        if (!line.name.starts_with(kStream))
            return out_.notes.pass_over("lines of a GPU that XLA made of its streams");
        GpuWorkEvent of_stream{.device = device};
        read_number(line.name.substr(kStream.size()), of_stream.stream);
        for_each_event(plane, at, line.begin_ns, [&](const XEvent& event) {
            GpuWorkEvent work = of_stream;
            work.begin_ns = event.begin_ns;
            work.end_ns = event.end_ns;
            work.name = out_.name(event.name);
            for (const Stat& s : event.stats) {
                const std::string_view what = plane.name_of(s);
                if (what == "kernel_details") take_kernel(plane.text_of(s), work);
                if (what == "memcpy_details") take_copy(plane.text_of(s), work);
                if (what == "memset_details") take_fill(plane.text_of(s), work);
                if (what == "correlation_id") work.correlation = s.value;
            }
            out_.add_work(pid_, work);
        });
    }

    ImportEvents& out_;
    std::uint32_t pid_ = kPid;
    std::int64_t start_ns_ = 0;  // of the recording, since 1970; 0: unknown
    std::size_t units_ = 0;
    ImportNumbers tids_;
};

}  // namespace

bool is_xplane(std::string_view bytes) {
    try {
        ProtoReader space(bytes);
        if (!space.next() || space.field() != 1) return false;
        for (ProtoReader plane = space.message(); plane.next();)
            if (plane.field() == 2)
                return plane.text().starts_with("/host:") || plane.text().starts_with("/device:") ||
                       plane.text() == "Task Environment";
    } catch (const ProtoFault&) {
    }
    return false;
}

Result<void> import_xplane(std::string_view bytes, const std::string& path, ImportEvents& out) {
    try {
        XplaneReader(out).read(ProtoReader(bytes), bytes.size());
    } catch (const ProtoFault& fault) {
        return fail_at_byte(path, fault.byte, fault.what, "the file is damaged or cut off");
    }
    return {};
}

}  // namespace gs
