#include "app/cli/trace_export.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "app/cli/trace_report.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_stacks.h"
#include "profiler/files/export_text.h"
#include "profiler/store/statistics.h"

namespace gs::cli {
namespace {

Result<void> export_table(const TraceStore& store, const fs::path& path) {
    return write_text_file(
        path, stage_table_csv(store.frames().statistics(StatScope::call, kAllCalls),
                              store.frames().gpu_statistics(StatScope::call, kAllCalls)));
}

Result<void> export_packets(const TraceStore& store, const fs::path& path) {
    return export_perfetto(store, path).map([](const PerfettoSummary&) {});
}

struct Format {
    std::string_view ending;
    Result<void> (*write)(const TraceStore&, const fs::path&);
};
// The first that fits.
constexpr std::array kFormats{
    Format{".pftrace", export_packets}, Format{".speedscope.json", export_speedscope},
    Format{".json", export_chrome},     Format{".stacks.folded", export_folded_stacks},
    Format{".folded", export_folded},   Format{".pb.gz", export_pprof},
    Format{".csv", export_table},
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
    return fail(ErrorKind::usage, path.string(), "no trace format ends like this", known);
}

Result<void> export_trace(const TraceStore& store, const fs::path& path) {
    if (const Format* format = format_of(path)) return format->write(store, path);
    return check_trace_format(path);
}

}  // namespace gs::cli
