// `gausscope trace FILE`: prints a trace, or converts it to another format.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/cli/trace/trace_export.h"
#include "app/cli/trace/trace_insights.h"
#include "app/cli/trace/trace_report.h"
#include "base/try.h"
#include "profiler/files/import_ranks.h"

namespace gs::cli {
namespace {

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
