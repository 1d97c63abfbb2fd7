// `gausscope trace FILE`: prints a trace, or converts it to another format.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/cli/trace/trace_export.h"
#include "app/cli/trace/trace_report.h"
#include "base/expected.h"
#include "base/json_text.h"
#include "base/try.h"
#include "profiler/analysis/compare.h"
#include "profiler/files/import.h"
#include "profiler/files/import_ranks.h"
#include "profiler/history/history.h"
#include "profiler/insights/insight.h"
#include "profiler/store/store.h"

namespace gs::cli {
namespace {

Result<TraceStore> store_of(const std::string& path) {
    TraceStore store(whole_trace_options());
    GS_TRY_VOID(import_trace(path, store));
    return store;
}

/// The process that has iterations, the one with most of them.
CompareSide side_of(const TraceStore& store, const std::string& path) {
    CompareSide side{.store = &store, .name = path};
    std::size_t most = 0;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p)
        if (const std::size_t count = find_iterations(store, p).items.size(); count > most) {
            most = count;
            side.process = p;
        }
    return side;
}

/// The insights of a trace, on stdout and as JSON. `baseline`: an earlier trace for the rule on
/// regressions; `history`: what the job took before, for the same rule; both may be empty. Errors:
/// one of them cannot be read.
Result<Json> print_insights(const TraceStore& store, const std::string& baseline,
                            const std::string& history) {
    InsightOptions options;
    std::optional<history::History> file;
    if (!history.empty()) {
        GS_TRY(file, history::History::open_to_read(history));
        const std::int64_t begin_s =
            (store.timeline().begin_ns() + store.sources().realtime_offset_ns()) / 1'000'000'000;
        options.past = [&file, begin_s](const TraceProcess& process) {
            return history::past_medians(*file, history::subject_of(process), begin_s);
        };
    }
    TraceStore base;
    if (!baseline.empty()) {
        GS_TRY(base, store_of(baseline));
        options.baseline = &base;
    }
    const Insights insights = find_insights(store, options);
    fmt::print("{}", insights_text(store, insights));
    return insights_json(store, insights);
}

/// Both traces side by side. Returns the exit code.
int compare_traces(const std::string& a, const std::string& b, bool json) {
    const auto store_a = store_of(a);
    if (!store_a) return report(store_a.error());
    const auto store_b = store_of(b);
    if (!store_b) return report(store_b.error());
    const Comparison comparison = compare(side_of(*store_a, a), side_of(*store_b, b));
    fmt::print("{}", comparison_text(comparison));
    if (json) {
        Json out = json_or_discarded<Json>(comparison_json(comparison));
        out["command"] = "trace";
        print_json(out);
    }
    return kDone;
}

struct TraceArguments {
    std::string file;
    std::string output;  ///< its end chooses the format; empty: none
    std::vector<std::string>
        others;  ///< read beside it on one clock; with `compare`: the second trace
    std::string stage_map;
    std::string baseline, history;
    bool insights = false, compare = false, allow_loss = false;
};

void add_options(CLI::App& app, TraceArguments& a) {
    app.add_option(
           "FILE", a.file,
           "Perfetto trace, Chrome JSON, .xplane.pb or Nsight Systems' .sqlite, gzipped or not")
        ->required();
    CLI::Option* other = app.add_option(
        "OTHERS", a.others,
        "more files of the same job, aligned by the wall clock and their collectives; with "
        "--compare: the trace that FILE is compared with");
    app.add_flag("--compare", a.compare, "compare the stages of FILE and OTHER")->needs(other);
    app.add_flag("--insights", a.insights, "list bottlenecks and remedies");
    add_value(app, "--baseline FILE", a.baseline,
              "with --insights: an earlier trace, to find regressions");
    add_value(app, "--history FILE", a.history,
              "with --insights: the job's earlier times, as stored by `serve --history`");
    add_value(app, "-o,--export OUT", a.output,
              "also write the trace here; the extension chooses: .pftrace, .json (Chrome), "
              ".speedscope.json, .folded, .csv (stage table), .npz (columns for NumPy); of call "
              "stacks: .pb.gz (pprof), .stacks.folded");
    app.add_flag("--allow-loss", a.allow_loss,
                 "with --export: exit with 0 even if OUT lacks part of FILE, not with 1");
    add_value(
        app, "--stage-map FILE", a.stage_map,
        "file of lines \"pattern = stage\" that map kernels to stages before the built-in table");
}

/// Writes the trace; returns the data missing in the file.
Result<std::vector<std::string>> convert(const TraceArguments& a, const ImportSummary& read,
                                         const TraceStore& store) {
    GS_TRY(ExportNotes written, export_trace(store, a.output));
    if (const std::string lost = lost_on_reading(read, store); !lost.empty())
        written.lost.insert(written.lost.begin(), lost);
    fmt::print("  written: {}\n", a.output);
    for (const std::string& note : written.notes) fmt::print("  note: {}\n", note);
    for (const std::string& lost : written.lost)
        fmt::print(stderr, "{}: not in {}: {}{}\n", a.allow_loss ? "warning" : "error", a.output,
                   lost, a.allow_loss ? "" : " (--allow-loss accepts it)");
    return written.lost;
}

Result<int> run(const TraceArguments& a, const CommonArguments& common) {
    if (a.compare && a.others.size() != 1)
        return fail(ErrorKind::usage, a.file, "--compare takes exactly two traces");
    if (a.compare) return compare_traces(a.file, a.others[0], common.json);
    if (!a.output.empty()) GS_TRY_VOID(check_trace_format(a.output));
    StageMap map;
    if (!a.stage_map.empty()) GS_TRY_VOID(map.add_file(a.stage_map));
    const auto empty = [&] {
        TraceStore made(whole_trace_options());
        if (!a.stage_map.empty()) made.set_stage_map(map);
        return made;
    };
    std::vector<std::string> files{a.file};
    files.insert(files.end(), a.others.begin(), a.others.end());
    TraceStore store;
    GS_TRY(auto read, import_ranks(files, empty, store));
    print_trace(a.file, read, store);
    Json out = trace_json(a.file, read, store);
    int code = kDone;
    if (!a.output.empty()) {
        GS_TRY(const std::vector<std::string> lost, convert(a, read, store));
        out["lost_in_conversion"] = lost;
        if (!lost.empty() && !a.allow_loss) code = kFailed;
    }
    if (a.insights) {
        GS_TRY(out["insights"], print_insights(store, a.baseline, a.history));
    }
    if (common.json) print_json(out);
    return code;
}

}  // namespace

Subcommand trace_command() {
    return subcommand<TraceArguments>(
        "trace", "show a trace, or convert it to another format",
        "  gausscope trace run.pftrace\n"
        "  gausscope trace torch_trace.json.gz --export run.pftrace\n"
        "  gausscope trace run.pftrace --export run.folded      for flame graphs\n"
        "  gausscope trace run.pftrace --export run.pb.gz       call stacks for pprof\n"
        "  gausscope trace run.pftrace --insights               what costs time, what would help\n"
        "  gausscope trace before.pftrace after.pftrace --compare\n"
        "  gausscope trace rank0.pftrace rank1.pftrace -o all.pftrace   several ranks on one "
        "clock\n",
        add_options, run);
}

}  // namespace gs::cli
