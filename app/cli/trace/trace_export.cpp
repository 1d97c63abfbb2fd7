#include "app/cli/trace/trace_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "app/cli/trace/trace_columns.h"
#include "app/cli/trace/trace_report.h"
#include "base/format.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_stacks.h"
#include "profiler/files/export_text.h"
#include "profiler/store/statistics.h"

namespace gs::cli {
namespace {

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
    const auto found = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& format) {
        return name.ends_with(format.ending);
    });
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
