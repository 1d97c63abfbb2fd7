#include "app/cli/trace/trace_export.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "app/cli/report.h"
#include "app/cli/trace/trace_report.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/try.h"
#include "profiler/analysis/iterations.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_stacks.h"
#include "profiler/files/export_text.h"
#include "profiler/store/statistics.h"
#include "renderer/io/files/zip_writer.h"

namespace gs::cli {
namespace {

// ---- a trace as columns for NumPy: an .npz with one array per column

/// Entries of an archive in NumPy's format: numpy.lib.format, version 1.0.
class Columns {
  public:
    explicit Columns(AtomicFile& file) : zip_(file) {}

    /// `width`: values in a row.
    template <class T>
    void add(const char* name, const std::vector<T>& values, std::size_t width = 1) {
        static_assert(std::is_arithmetic_v<T>);
        constexpr std::size_t kAlignment = 64, kFixed = 10;
        const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
        std::string header = fmt::format(
            "{{'descr': '<{}{}', 'fortran_order': False, 'shape': ({},{}), }}", kind, sizeof(T),
            values.size() / width, width > 1 ? fmt::format(" {}", width) : "");
        header.append(kAlignment - (kFixed + header.size() + 1) % kAlignment, ' ');
        header += '\n';
        std::vector<std::byte> bytes(kFixed + header.size() + values.size() * sizeof(T));
        const auto length = static_cast<std::uint16_t>(header.size());
        std::memcpy(bytes.data(), "\x93NUMPY\x01\x00", 8);
        std::memcpy(bytes.data() + 8, &length, sizeof(length));
        std::memcpy(bytes.data() + kFixed, header.data(), header.size());
        if (!values.empty())
            std::memcpy(bytes.data() + kFixed + header.size(), values.data(),
                        values.size() * sizeof(T));
        add_entry(fmt::format("{}.npy", name), bytes);
    }
    void add_entry(const std::string& name, std::span<const std::byte> bytes) {
        if (done_) done_ = zip_.add(name, bytes);
    }
    Result<void> finish() { return done_ ? zip_.finish() : done_; }

  private:
    ZipWriter zip_;
    Result<void> done_;
};

double number_of(const TraceSpan& span) {
    if (!span.has_payload) return std::numeric_limits<double>::quiet_NaN();
    switch (span.payload_kind) {
        case PayloadKind::real:
            return std::bit_cast<double>(span.payload);
        case PayloadKind::signed_whole:
            return static_cast<double>(static_cast<std::int64_t>(span.payload));
        default:
            return static_cast<double>(span.payload);
    }
}

void add_spans(const TraceStore& store, Columns& out) {
    std::vector<std::int64_t> begin, end;
    std::vector<std::uint32_t> name, track;
    std::vector<std::uint16_t> row;
    std::vector<double> payload;
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (std::size_t r = 0; r < store.tracks()[t].rows.size(); ++r)
            for (const TraceSpan& span : store.tracks()[t].rows[r].view()) {
                begin.push_back(span.begin_ns);
                end.push_back(span.end_ns);
                name.push_back(span.name);
                track.push_back(static_cast<std::uint32_t>(t));
                row.push_back(static_cast<std::uint16_t>(r));
                payload.push_back(number_of(span));
            }
    out.add("span_begin_ns", begin);
    out.add("span_end_ns", end);
    out.add("span_name", name);
    out.add("span_track", track);
    out.add("span_row", row);
    out.add("span_payload", payload);
}

void add_kernels(const TraceStore& store, Columns& out) {
    std::vector<std::uint64_t> index, bytes;
    std::vector<std::uint8_t> kind;
    std::vector<std::uint32_t> grid, shared;
    std::vector<std::uint16_t> block, registers;
    std::uint64_t before = 0;
    for (const TraceTrack& track : store.tracks())
        for (std::size_t r = 0; r < track.rows.size(); before += track.rows[r++].size()) {
            if (!track.described()) continue;
            const auto works = track.works[r].view();
            for (std::size_t i = 0; i < works.size(); ++i) {
                const GpuWork& work = works[i];
                index.push_back(before + i);
                kind.push_back(static_cast<std::uint8_t>(work.kind));
                bytes.push_back(work.bytes);
                grid.insert(grid.end(), std::begin(work.grid), std::end(work.grid));
                block.insert(block.end(), std::begin(work.block), std::end(work.block));
                registers.push_back(work.registers);
                shared.push_back(work.static_shared + work.dynamic_shared);
            }
        }
    out.add("kernel_span", index);
    out.add("kernel_kind", kind);
    out.add("kernel_bytes", bytes);
    out.add("kernel_grid", grid, 3);
    out.add("kernel_block", block, 3);
    out.add("kernel_registers", registers);
    out.add("kernel_shared", shared);
}

void add_moments(const TraceStore& store, Columns& out) {
    std::vector<std::uint32_t> series, name, track;
    std::vector<std::int64_t> time, instant;
    std::vector<double> value;
    for (std::size_t s = 0; s < store.counters().size(); ++s)
        for (const CounterPoint& point : store.counters()[s].points.view()) {
            series.push_back(static_cast<std::uint32_t>(s));
            time.push_back(point.time_ns);
            value.push_back(point.value);
        }
    for (const TraceInstant& i : store.instants()) {
        instant.push_back(i.time_ns);
        name.push_back(i.name);
        track.push_back(i.track);
    }
    out.add("counter_series", series);
    out.add("counter_time_ns", time);
    out.add("counter_value", value);
    out.add("instant_time_ns", instant);
    out.add("instant_name", name);
    out.add("instant_track", track);
}

void add_iterations(const TraceStore& store, Columns& out, Json& processes) {
    std::vector<std::uint32_t> process;
    std::vector<std::uint64_t> number;
    std::vector<std::int64_t> begin, end;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        const Iterations found = find_iterations(store, p);
        for (const Iteration& i : found.items) {
            process.push_back(p);
            number.push_back(i.number);
            begin.push_back(i.begin_ns);
            end.push_back(i.end_ns);
        }
        processes.push_back({{"pid", store.processes()[p].pid},
                             {"name", store.processes()[p].name},
                             {"iterations", found.how}});
    }
    out.add("iteration_process", process);
    out.add("iteration_number", number);
    out.add("iteration_begin_ns", begin);
    out.add("iteration_end_ns", end);
}

/// Arrays named TABLE_COLUMN: span_begin_ns, span_end_ns, span_name, span_track, span_row,
/// span_payload (float64, NaN: none); kernel_span (the index of the span), kernel_kind,
/// kernel_bytes, kernel_grid [n][3], kernel_block [n][3], kernel_registers, kernel_shared;
/// counter_series, counter_time_ns, counter_value; instant_time_ns, instant_name, instant_track;
/// iteration_process, iteration_number, iteration_begin_ns, iteration_end_ns. In about.json: the
/// names, tracks, series and processes that the numbers are indices into. Errors: unwritable;
/// unsupported past 4 GiB.
Result<void> export_columns(const TraceStore& store, const fs::path& path) {
    GS_TRY(AtomicFile file, AtomicFile::create(path));
    Columns out(file);
    Json names = Json::array(), tracks = Json::array(), series = Json::array(),
         processes = Json::array();
    add_spans(store, out);
    add_kernels(store, out);
    add_moments(store, out);
    add_iterations(store, out, processes);
    for (std::uint32_t n = 0; n < store.names().size(); ++n) names.push_back(store.name(n));
    for (const TraceTrack& track : store.tracks())
        tracks.push_back({{"name", track.name},
                          {"kind", kind_text(track.kind)},
                          {"process", track.process},
                          {"tid", track.tid}});
    for (const CounterSeries& s : store.counters())
        series.push_back({{"name", store.name(s.name)}, {"process", s.process}});
    const std::string about = json_text(
        Json{{"names", names}, {"tracks", tracks}, {"series", series}, {"processes", processes}});
    out.add_entry("about.json", std::as_bytes(std::span(about)));
    const Result<void> done = out.finish();
    if (!done && done.error().kind == ErrorKind::unsupported)
        return fail(ErrorKind::unsupported, path.string(), "the columns would exceed 4 GiB",
                    "use .pftrace");
    return done ? file.commit() : done;
}

ExportNotes nothing_lost() { return {}; }

Result<ExportNotes> table(const TraceStore& store, const fs::path& path) {
    return write_text_file(
               path, stage_table_csv(store.frames().statistics(StatScope::call, kAllCalls),
                                     store.frames().gpu_statistics(StatScope::call, kAllCalls)))
        .map(nothing_lost);
}

Result<ExportNotes> packets(const TraceStore& store, const fs::path& path) {
    return export_perfetto(store, path).map([](const PerfettoSummary&) { return ExportNotes{}; });
}

/// Data without events in Chrome JSON.
ExportNotes missing_in_chrome(const TraceStore& store) {
    ExportNotes out;
    std::uint64_t memory = 0, pauses = 0;
    for (const TraceProcess& process : store.processes()) {
        memory += process.memory.size();
        pauses += process.pauses.size();
    }
    const auto lost = [&](std::uint64_t count, const char* what) {
        if (count > 0) out.lost.push_back(fmt::format("{} {}", count, what));
    };
    lost(store.samples().count(), "samples of call stacks");
    lost(memory, "events of device memory");
    lost(pauses, "pauses of the recording");
    return out;
}

Result<ExportNotes> chrome(const TraceStore& store, const fs::path& path) {
    return export_chrome(store, path).map([&] { return missing_in_chrome(store); });
}

Result<ExportNotes> folded(const TraceStore& store, const fs::path& path) {
    return export_folded(store, path).map([](std::uint64_t beside) {
        ExportNotes out;
        if (beside > 0)
            out.notes.push_back(counted(beside, "span", "overlap") +
                                " others without nesting: each such span gets its own stack, and "
                                "the sum can exceed the thread's time");
        return out;
    });
}

Result<ExportNotes> speedscope(const TraceStore& store, const fs::path& path) {
    return export_speedscope(store, path).map(nothing_lost);
}

Result<ExportNotes> folded_stacks(const TraceStore& store, const fs::path& path) {
    return export_folded_stacks(store, path).map(nothing_lost);
}

Result<ExportNotes> pprof(const TraceStore& store, const fs::path& path) {
    return export_pprof(store, path).map(nothing_lost);
}

Result<ExportNotes> columns(const TraceStore& store, const fs::path& path) {
    return export_columns(store, path).map(nothing_lost);
}

struct Format {
    std::string_view ending;
    Result<ExportNotes> (*write)(const TraceStore&, const fs::path&);
};
// The first that fits.
constexpr std::array kFormats{
    Format{".pftrace", packets}, Format{".speedscope.json", speedscope},
    Format{".json", chrome},     Format{".stacks.folded", folded_stacks},
    Format{".folded", folded},   Format{".pb.gz", pprof},
    Format{".csv", table},       Format{".npz", columns},
};

const Format* format_of(const fs::path& path) {
    const std::string name = path.string();
    const auto found = std::ranges::find_if(
        kFormats, [&](const Format& format) { return name.ends_with(format.ending); });
    return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace

Result<void> check_trace_format(const fs::path& path) {
    if (format_of(path) != nullptr) return {};
    std::string known;
    for (const Format& format : kFormats)
        known += (known.empty() ? "use one of " : ", ") + std::string(format.ending);
    return fail(ErrorKind::usage, path.string(), "unknown trace format", known);
}

Result<ExportNotes> export_trace(const TraceStore& store, const fs::path& path) {
    if (const Format* format = format_of(path)) return format->write(store, path);
    return tl::unexpected(check_trace_format(path).error());
}

}  // namespace gs::cli
