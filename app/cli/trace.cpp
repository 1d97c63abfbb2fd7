// `gausscope trace FILE`: what a trace says, and the same trace in another format.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/trace_insights.h"
#include "app/cli/trace_report.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_text.h"
#include "profiler/files/import.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;

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
    if (name.ends_with(".pftrace"))
        return export_perfetto(store, path).map([](const PerfettoSummary&) {});
    return fail(ErrorKind::usage, name, "no trace format ends like this",
                "use .pftrace, .json, .speedscope.json, .folded or .csv");
}

/// Several files are one trace: the summary of all, notes with the name of their file.
Result<ImportSummary> read_all(const TraceArguments& a, TraceStore& store) {
    auto all = import_trace(a.file, store);
    if (!all) return all;
    for (const std::string& other : a.others) {
        const auto more = import_trace(other, store);
        if (!more) return more;
        if (all->format.find(more->format) == std::string::npos) all->format += ", " + more->format;
        all->spans += more->spans;
        all->instants += more->instants;
        all->points += more->points;
        all->threads += more->threads;
        all->streams += more->streams;
        all->processes += more->processes;
        all->calls += more->calls;
        all->work += more->work;
        all->skipped += more->skipped;
        for (const std::string& note : more->notes) all->notes.push_back(other + ": " + note);
    }
    return all;
}

}  // namespace

int run_trace(const Arguments& arguments) {
    const TraceArguments& a = arguments.trace;
    if (a.compare && a.others.size() != 1)
        return report(fail(ErrorKind::usage, a.file, "--compare takes exactly two traces").value());
    if (a.compare) return compare_traces(a.file, a.others[0], arguments.common.json);
    TraceStoreOptions options;
    options.max_spans = ImportOptions{}.max_events;
    options.max_calls = kAllCalls;
    options.max_points = kAllCalls;
    TraceStore store(options);
    if (!a.stage_map.empty()) {
        StageMap map;
        if (const auto added = map.add_file(a.stage_map); !added) return report(added.error());
        store.set_stage_map(std::move(map));
    }
    const auto read = read_all(a, store);
    if (!read) return report(read.error());
    print_trace(a.file, *read, store);
    if (!a.output.empty()) {
        if (const auto written = export_to(store, a.output); !written)
            return report(written.error());
        fmt::print("  written: {}\n", a.output);
    }
    Json out = trace_json(a.file, *read, store);
    if (a.insights) {
        const auto insights = print_insights(store, a.baseline);
        if (!insights) return report(insights.error());
        out["insights"] = *insights;
    }
    if (arguments.common.json) print_json(out);
    return kDone;
}

}  // namespace gs::cli
