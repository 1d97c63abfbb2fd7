// Field numbers: XLA's xplane.proto; the texts of details: its collector for CUPTI.
#include "profiler/files/import_xplane.h"

#include <charconv>

#include "profiler/files/import_numbers.h"
#include "profiler/files/proto_reader.h"
#include "profiler/store/iteration_name.h"

namespace gs {
namespace {

constexpr std::size_t kMaxUnits = 1 << 20;  // of names and threads
constexpr std::uint32_t kPid = 1;           // where the file does not say it
/// Times since 1970 are above, times since the recording's begin below.
constexpr std::int64_t kSinceEpoch = 1'000'000'000'000'000'000;

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
    if (into.size() >= kMaxUnits) entry.fault("too many names");
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

Plane parse_plane(ProtoReader p) {
    Plane out;
    while (p.next()) {
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
        out_.clock.rounding_ns = 1;
        for (const Plane& plane : planes)
            for (const Stat& value : plane.values) {
                if (plane.name_of(value) == "process_id" && value.value != 0)
                    pid_ = static_cast<std::uint32_t>(value.value);
                if (plane.name_of(value) == "profile_start_time")
                    begin_ns_ = static_cast<std::int64_t>(value.value);
            }
        ImportedProcess& process = out_.process(pid_);
        process.declared = true;
        process.batch.process_name = host.empty() ? "XLA" : "XLA on " + host;
        for (const Plane& plane : planes) take_plane(plane, bytes);
        if (out_.stopped()) return;
        out_.clock.realtime_offset_ns = since_epoch_ ? 0 : begin_ns_;
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
            into.push_back(parse_plane(space.message()));
        } catch (const ProtoFault& fault) {
            out_.notes.skip_at(fmt::format("planes that cannot be read ({})", fault.what),
                               space.byte());
        }
    }
    void take_plane(const Plane& plane, std::size_t bytes) {
        const bool host = plane.name.starts_with("/host:");
        std::uint32_t device = 0;
        constexpr std::string_view kGpu = "/device:GPU:";
        if (plane.name.starts_with(kGpu))
            read_number(plane.name.substr(kGpu.size()), device);
        else if (!host && !plane.lines.empty())
            return out_.notes.skip("planes of neither a host nor a GPU", plane.lines.size());
        for (const ProtoReader& line : plane.lines) {
            try {
                take_line(plane, line, host, device);
            } catch (const ProtoFault& fault) {
                out_.notes.skip_at(fmt::format("lines that cannot be read ({})", fault.what),
                                   fault.byte);
            }
            if (!out_.go_on(static_cast<double>(line.byte()) / static_cast<double>(bytes))) return;
        }
    }
    void take_line(const Plane& plane, ProtoReader line, bool host, std::uint32_t device) {
        std::string_view name, shown;
        std::uint64_t number = 0;
        std::int64_t begin_ns = 0;
        for (ProtoReader l = line; l.next();) {
            if (l.field() == 1) number = l.value();
            if (l.field() == 2) name = l.text();
            if (l.field() == 3) begin_ns = static_cast<std::int64_t>(l.value());
            if (l.field() == 11) shown = l.text();
        }
        if (!shown.empty()) name = shown;
        // The others of a GPU are made of the streams' events: modules, ops, steps.
        constexpr std::string_view kStream = "Stream #";
        if (!host && !name.starts_with(kStream)) return;
        since_epoch_ |= begin_ns > kSinceEpoch;
        std::uint32_t track = kNoTrack;
        if (host) {
            if (++threads_ > kMaxUnits) line.fault("too many threads");
            track = out_.add_track();
            TrackInfo& info = out_.info(track);
            info.pid = pid_;
            info.tid = tids_.of(std::to_string(number));
            info.name = name;
        }
        GpuWorkEvent work;
        work.device = device;
        if (!host) read_number(name.substr(kStream.size()), work.stream);
        for (ProtoReader l = line; l.next();)
            if (l.field() == 4) take_event(plane, l.message(), begin_ns, track, work);
    }
    void take_event(const Plane& plane, ProtoReader event, std::int64_t begin_ns,
                    std::uint32_t track, GpuWorkEvent work) {
        std::uint64_t number = 0, offset_ps = 0, duration_ps = 0;
        std::vector<Stat> stats;
        while (event.next()) {
            if (event.field() == 1) number = event.value();
            if (event.field() == 2) offset_ps = event.value();
            if (event.field() == 3) duration_ps = event.value();
            if (event.field() == 4) stats.push_back(parse_stat(event.message()));
            if (event.field() == 5) return out_.notes.skip("sums of many events");
        }
        const auto known = plane.events.find(number);
        const std::string_view name = known == plane.events.end() ? "?" : known->second;
        const std::int64_t begin = begin_ns + static_cast<std::int64_t>(offset_ps / 1000);
        const std::int64_t end = begin + static_cast<std::int64_t>(duration_ps / 1000);
        if (begin < 0 || end > kMaxImportTime || end < begin)
            return out_.notes.skip("events of impossible times");
        if (track == kNoTrack) return take_work(plane, name, stats, begin, end, work);
        if (duration_ps == 0)
            return out_.add_instant({begin, 0, track, out_.name(name), PayloadKind::whole});
        ImportedEvent span;
        span.begin_ns = begin;
        span.end_ns = end;
        span.name = out_.name(name);
        for (const Stat& s : stats) {
            // An annotation of a step may have any name.
            if (plane.name_of(s) != "step_num") continue;
            if (iteration_name(name).rank == 0) span.name = out_.name(std::string(name) + " step");
            span.payload = s.value;
            span.has_payload = true;
        }
        out_.add(track, span);
    }
    void take_work(const Plane& plane, std::string_view name, const std::vector<Stat>& stats,
                   std::int64_t begin, std::int64_t end, GpuWorkEvent& work) {
        work.begin_ns = begin;
        work.end_ns = end;
        work.name = out_.name(name);
        for (const Stat& s : stats) {
            const std::string_view what = plane.name_of(s);
            if (what == "kernel_details") take_kernel(plane.text_of(s), work);
            if (what == "memcpy_details") take_copy(plane.text_of(s), work);
            if (what == "memset_details") {
                work.kind = GpuWorkKind::fill;
                read_number(detail(plane.text_of(s), "num_bytes:"), work.bytes);
            }
        }
        out_.add_work(pid_, work);
    }

    ImportEvents& out_;
    std::uint32_t pid_ = kPid;
    std::int64_t begin_ns_ = 0;
    bool since_epoch_ = false;
    std::size_t threads_ = 0;
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
