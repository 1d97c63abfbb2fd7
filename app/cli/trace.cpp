// `gausscope trace FILE`: what a trace says, and the same trace in another format.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "profiler/export_perfetto.h"
#include "profiler/export_text.h"
#include "profiler/import.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kAllCalls = 1u << 20;  ///< remembered per stage: of a file every call should count

Result<void> export_table(const TraceStore& store, const fs::path& path) {
    return write_text_file(path, stage_table_csv(store.statistics(StatScope::call, kAllCalls),
                                                 store.gpu_statistics(StatScope::call, kAllCalls)));
}

Result<void> export_to(const TraceStore& store, const fs::path& path) {
    const std::string name = path.string();
    if (name.ends_with(".speedscope.json")) return export_speedscope(store, path);
    if (name.ends_with(".json")) return export_chrome(store, path);
    if (name.ends_with(".folded")) return export_folded(store, path);
    if (name.ends_with(".csv")) return export_table(store, path);
    if (name.ends_with(".pftrace")) return export_perfetto(store, path).map([](const PerfettoSummary&) {});
    return fail(ErrorKind::usage, name, "no trace format ends like this",
                "use .pftrace, .json, .speedscope.json, .folded or .csv");
}

std::size_t spans_of(const TraceTrack& track) {
    std::size_t count = 0;
    for (const auto& row : track.rows) count += row.size();
    return count;
}

Json stages_json(const std::vector<StageStats>& stats) {
    Json out = Json::array();
    for (const StageStats& s : stats)
        out.push_back({{"name", name_of(s.stage)},
                       {"calls", s.calls},
                       {"ms_mean", number(s.mean_ms)},
                       {"ms_p50", number(s.p50_ms)},
                       {"ms_p95", number(s.p95_ms)},
                       {"ms_max", number(s.max_ms)},
                       {"ms_total", number(s.total_ms)}});
    return out;
}

void print_stages(const char* title, const std::vector<StageStats>& stats) {
    if (stats.empty()) return;
    fmt::print("  {:<20} {:>9} {:>11} {:>11} {:>11} {:>12}   milliseconds\n", title, "calls", "p50", "p95", "max",
               "total");
    for (const StageStats& s : stats)
        fmt::print("    {:<18} {:>9} {:>11.3f} {:>11.3f} {:>11.3f} {:>12.2f}\n", name_of(s.stage), s.calls, s.p50_ms,
                   s.p95_ms, s.max_ms, s.total_ms);
}

void print_trace(const std::string& path, const ImportSummary& read, const TraceStore& store) {
    fmt::print("{}\n  {}{}{}, {:.6f} s, {} spans, {} instants, {} counter values\n", path, read.format,
               store.process_name().empty() ? "" : " of ", store.process_name(),
               static_cast<double>(store.end_ns() - store.begin_ns()) * 1e-9, read.spans, read.instants, read.points);
    for (const TraceTrack& track : store.tracks())
        fmt::print("  {:<10} {}  {} spans, {} deep\n", track.kind == TrackKind::thread ? "thread" : "GPU stream",
                   track.name, spans_of(track), track.rows.size());
    print_stages("stages, CPU", store.statistics(StatScope::call, kAllCalls));
    print_stages("stages, GPU", store.gpu_statistics(StatScope::call, kAllCalls));
    if (store.loss().total() > 0) fmt::print("  lost while recording: {} records\n", store.loss().total());
    if (store.misplaced_spans() > 0) fmt::print("  left out: {} spans that fit no row\n", store.misplaced_spans());
    if (store.forgotten_spans() > 0) fmt::print("  left out: the oldest {} spans\n", store.forgotten_spans());
    for (const std::string& note : read.notes) fmt::print("  note: {}\n", note);
}

Json trace_json(const std::string& path, const ImportSummary& read, const TraceStore& store) {
    Json tracks = Json::array();
    for (const TraceTrack& track : store.tracks())
        tracks.push_back({{"name", track.name},
                          {"kind", track.kind == TrackKind::thread ? "thread" : "gpu stream"},
                          {"pid", track.pid},
                          {"tid", track.tid},
                          {"spans", spans_of(track)},
                          {"depth", track.rows.size()}});
    return {{"command", "trace"},
            {"path", path},
            {"format", read.format},
            {"process", store.process_name()},
            {"begin_ns", store.begin_ns()},
            {"end_ns", store.end_ns()},
            {"spans", read.spans},
            {"instants", read.instants},
            {"counter_values", read.points},
            {"tracks", tracks},
            {"stages", stages_json(store.statistics(StatScope::call, kAllCalls))},
            {"gpu_stages", stages_json(store.gpu_statistics(StatScope::call, kAllCalls))},
            {"lost", store.loss().total()},
            {"misplaced", store.misplaced_spans()},
            {"forgotten", store.forgotten_spans()},
            {"skipped", read.skipped},
            {"notes", read.notes}};
}

}  // namespace

int run_trace(const Arguments& arguments) {
    const TraceArguments& a = arguments.trace;
    TraceStoreOptions options;
    options.max_spans = ImportOptions{}.max_events;
    options.max_calls = kAllCalls;
    options.max_points = kAllCalls;
    TraceStore store(options);
    const auto read = import_trace(a.file, store);
    if (!read) return report(read.error());
    print_trace(a.file, *read, store);
    if (!a.output.empty()) {
        if (const auto written = export_to(store, a.output); !written) return report(written.error());
        fmt::print("  written: {}\n", a.output);
    }
    if (arguments.common.json) print_json(trace_json(a.file, *read, store));
    return kDone;
}

}  // namespace gs::cli
