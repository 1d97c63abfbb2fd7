#include "app/cli/train/lab.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/lab/compare_runs.h"
#include "app/lab/runner.h"
#include "base/try.h"

namespace gs::cli {
namespace {

enum class LabVerb { run, list, compare, report, check_log };

struct LabArguments {
    LabVerb verb = LabVerb::run;
    std::string database = "lab.db";
    std::string suite, captures, label;
    std::vector<std::string> programs;
    bool retry = false, strict = false;
    std::string a, b;
    std::vector<std::string> gates, logs;
    std::string html;
};

CLI::App& verb(CLI::App& lab, LabArguments& a, LabVerb which, const char* name, const char* what) {
    CLI::App& out = *lab.add_subcommand(name, what);
    out.fallthrough();
    out.callback([&a, which] { a.verb = which; });
    out.add_option("--database", a.database, "database of the runs [lab.db]")->option_text("FILE");
    return out;
}

void add_run(CLI::App& lab, LabArguments& a) {
    CLI::App& app =
        verb(lab, a, LabVerb::run, "run", "train the runs of a suite that are not recorded yet");
    app.add_option("SUITE", a.suite,
                   fmt::format("a suite file, or a built-in suite: {}",
                               fmt::join(lab::built_in_suites(), ", ")))
        ->required();
    add_value(app, "--label NAME", a.label, "name of these runs in comparisons [the commit]");
    add_value(app, "--captures DIR", a.captures, "also look for the suite's captures in DIR");
    add_value(app, "--program NAME=PATH", a.programs,
              "train with another build, as NAME=PATH; several take turns")
        ->allow_extra_args(false);
    app.add_flag("--retry", a.retry, "run failed runs again");
}

void add_compare(CLI::App& lab, LabArguments& a) {
    CLI::App& app = verb(lab, a, LabVerb::compare, "compare",
                         "compare B with A, pair by pair; exit code 3 if a gate fails");
    const char* names = "label, settings, backend or commit; or another database";
    app.add_option("A", a.a, names)->required();
    app.add_option("B", a.b, names)->required();
    add_value(app, "--suite SUITE", a.suite,
              "take the gates from this suite [the suite that was run]");
    add_value(app, "--gate GATE", a.gates, "add a gate, such as \"psnr_drop <= 0.05\"")
        ->allow_extra_args(false);
    app.add_flag("--strict", a.strict, "also fail gates that are inconclusive");
}

void add_report(CLI::App& lab, LabArguments& a) {
    CLI::App& app =
        verb(lab, a, LabVerb::report, "report", "write all recorded runs as one HTML page");
    CLI::Option* first = app.add_option("A", a.a, "also compare B with A, as compare does");
    CLI::Option* second = app.add_option("B", a.b, "the runs to compare with A");
    first->needs(second);
    add_value(app, "--html FILE", a.html, "the HTML page [lab.html]");
}

void add_check(CLI::App& lab, LabArguments& a) {
    CLI::App& app =
        verb(lab, a, LabVerb::check_log, "check-log",
             "check time-to-quality logs against the rules; exit code 3 on a violation");
    app.add_option("FILE", a.logs, "benchmark.jsonl of runs with --until-psnr")->required();
    add_value(app, "--suite SUITE", a.suite,
              "suite of the logs' scenes and targets [time_to_quality]");
}

void add_options(CLI::App& app, LabArguments& a) {
    app.require_subcommand(1);
    add_run(app, a);
    verb(app, a, LabVerb::list, "list", "list the recorded runs");
    add_compare(app, a);
    add_report(app, a);
    add_check(app, a);
}

// ---- run

Result<std::vector<lab::LabProgram>> programs_of(const LabArguments& a) {
    std::vector<lab::LabProgram> out;
    for (const std::string& text : a.programs) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
            return fail(ErrorKind::usage, "", "--program " + text + " is not NAME=PATH",
                        "write --program before=old/build/gausscope");
        out.push_back({text.substr(0, equals), text.substr(equals + 1)});
        for (std::size_t i = 0; i + 1 < out.size(); ++i)
            if (out[i].label == out.back().label)
                return fail(ErrorKind::usage, "", "two programs are called " + out.back().label);
    }
    if (!out.empty() && !a.label.empty())
        return fail(ErrorKind::usage, "", "--label names this program, --program others",
                    "write --program NAME=PATH for each");
    if (out.empty()) out.push_back({a.label, lab::own_program()});
    return out;
}

Result<int> run_lab(const LabArguments& a, const CommonArguments& common) {
    GS_TRY(lab::Suite suite, lab::read_suite(a.suite));
    if (common.backend != "auto") suite.backends = {common.backend};
    if (common.seed) suite.seeds = {*common.seed};
    lab::LabOptions options;
    options.database = a.database;
    options.captures = a.captures;
    options.retry = a.retry;
    GS_TRY(options.programs, programs_of(a));
    options.say = [](const std::string& line) {
        fmt::print("{}\n", line);
        std::fflush(stdout);
    };
    catch_interrupts();
    options.stopped = interrupted;
    GS_TRY(const lab::LabTally tally, lab::run_suite(suite, std::move(options)));
    Json out{{"command", "lab run"},     {"suite", suite.name},      {"database", a.database},
             {"planned", tally.planned}, {"ran", tally.ran},         {"known", tally.known},
             {"failed", tally.failed},   {"stopped", tally.stopped}, {"left_out", tally.left_out}};
    say("{suite}: {planned} runs, {ran} run now, {known} recorded before, {failed} failed", out);
    if (tally.failed > 0)
        fmt::print(
            "add --retry to repeat failed runs; gausscope lab list --database {} has the reasons\n",
            a.database);
    if (tally.stopped) fmt::print("stopped; run the same command to resume\n");
    if (common.json) print_json(out);
    return tally.stopped || tally.failed > 0 ? kFailed : kDone;
}

// ---- list

Result<int> list_lab(const LabArguments& a, const CommonArguments& common) {
    GS_TRY(const lab::LabFile file, lab::LabFile::open_to_read(a.database));
    GS_TRY(const std::vector<lab::LabRun> runs, file.runs());
    using Run = lab::LabRun;
    const CellFormat bytes = [](double n) { return human_bytes(static_cast<std::uint64_t>(n)); };
    const Table table = table_of<Run>(
        std::span(runs),
        {{"label", "label", nullptr, [](auto& run) { return run.of.label; }},
         {"commit", "", nullptr, [](auto& run) { return run.of.commit; }},
         {"suite", "", nullptr, [](auto& run) { return run.of.suite; }},
         {"scene", "scene", nullptr, [](auto& run) { return run.of.scene; }},
         {"settings", "settings", nullptr, [](auto& run) { return run.of.settings; }},
         {"backend", "backend", nullptr, [](auto& run) { return run.of.backend; }},
         {"seed", "seed", fixed<0>, [](auto& run) { return run.of.seed; }},
         {"failed", "", nullptr, &Run::failed},
         {"error", "", nullptr, &Run::error},
         {"psnr", "PSNR", fixed<3>, &Run::psnr},
         {"ssim", "SSIM", fixed<4>, &Run::ssim},
         {"gaussians", "Gaussians", fixed<0>, [](auto& run) { return run.value_of("Gaussians"); }},
         {"training", "training s", fixed<1>, [](auto& run) { return run.value_of("training"); }},
         {"total", "", nullptr, [](auto& run) { return run.value_of("total"); }},
         {"peak_bytes", "peak", bytes, [](auto& run) { return run.value_of("peak memory"); }},
         {"folder", "", nullptr, &Run::folder}});
    say_table(table);
    for (const lab::LabRun& run : runs)
        if (run.failed)
            fmt::print("failed: {} {} seed {}: {}\n", run.of.scene, run.of.settings, run.of.seed,
                       run.error);
    if (runs.empty()) fmt::print("no runs recorded\n");
    if (common.json)
        print_json(
            {{"command", "lab list"}, {"database", a.database}, {"runs", table_json(table)}});
    return kDone;
}

// ---- compare

struct LabSide {
    lab::LabFile file;
    lab::RunSelection runs;
};

/// A database by its path, or a name in `database`.
Result<LabSide> lab_side_of(const std::string& name, const std::string& database) {
    std::error_code error;
    const bool is_file = fs::is_regular_file(name, error);
    GS_TRY(lab::LabFile file, lab::LabFile::open_to_read(is_file ? name : database));
    GS_TRY(std::vector<lab::LabRun> all, file.runs());
    if (is_file)
        return LabSide{std::move(file), {name, lab::RunSelection::By::all, std::move(all)}};
    GS_TRY(lab::RunSelection chosen, lab::select_runs(all, name));
    return LabSide{std::move(file), std::move(chosen)};
}

Result<std::vector<lab::Gate>> gates_of(const LabArguments& a, const LabSide& side) {
    std::vector<lab::Gate> out;
    for (const std::string& text : a.gates) {
        GS_TRY(lab::Gate gate, lab::parse_gate(text));
        out.push_back(std::move(gate));
    }
    if (!a.suite.empty()) {
        GS_TRY(const lab::Suite suite, lab::read_suite(a.suite));
        out.insert(out.end(), suite.gates.begin(), suite.gates.end());
    } else if (out.empty()) {
        return lab::gates_of(side.file, side.runs.runs);
    }
    return out;
}

void print_comparison(const Json& out, const lab::RunComparison& comparison) {
    say("{b} against {a}: {pairs} pairs of runs, {photos} of photos; {same_bits} pairs have the "
        "same scores to the last bit",
        out);
    using Row = lab::MetricRow;
    const auto interval = [](const Row& row) {
        return std::isfinite(row.difference.low)
                   ? fmt::format("{:+.4g} to {:+.4g}", row.difference.low, row.difference.high)
                   : "-";
    };
    const CellFormat change = [](double value) { return fmt::format("{:+.4g}", value); };
    say_table(table_of<Row>(
                  std::span(comparison.metrics),
                  {{"", "metric", nullptr, &Row::metric},
                   {"", "A", significant<5>, &Row::a},
                   {"", "B", significant<5>, &Row::b},
                   {"", "B - A", change, [](auto& row) { return row.difference.mean; }},
                   {"", "unit", nullptr, [](auto& row) { return row.relative ? "%" : row.unit; }},
                   {"", "95 % interval", fixed<0>, interval},
                   {"", "verdict", nullptr, &Row::verdict}}),
              {.indent = "  "});
    for (const lab::GateRow& row : comparison.gates)
        fmt::print("gate {}: {} ({})\n", row.gate.text, name_of(row.state),
                   row.low == row.low
                       ? fmt::format("{:.4g}, {:.4g} to {:.4g}", row.value, row.low, row.high)
                       : std::string("too few runs for an interval"));
    for (const std::string& note : comparison.notes) fmt::print("note: {}\n", note);
    fmt::print("{}\n", lab::method_text());
}

Result<int> compare_lab(const LabArguments& a, const CommonArguments& common) {
    GS_TRY(const LabSide first, lab_side_of(a.a, a.database));
    GS_TRY(const LabSide second, lab_side_of(a.b, a.database));
    GS_TRY(const std::vector<lab::Gate> gates, gates_of(a, second));
    GS_TRY(const lab::RunComparison comparison, lab::compare_runs(first.runs, second.runs, gates));
    Json out = lab::comparison_json(comparison);
    out["command"] = "lab compare";
    print_comparison(out, comparison);
    if (common.json) print_json(out);
    const bool open =
        std::any_of(comparison.gates.begin(), comparison.gates.end(),
                    [](const lab::GateRow& row) { return row.state != lab::GateState::holds; });
    return comparison.fails() || (a.strict && open) ? kGate : kDone;
}

Result<int> run(const LabArguments& a, const CommonArguments& common) {
    switch (a.verb) {
        case LabVerb::run:
            return run_lab(a, common);
        case LabVerb::list:
            return list_lab(a, common);
        case LabVerb::compare:
            return compare_lab(a, common);
        case LabVerb::report:
            return report_lab({a.database, a.a, a.b, a.html.empty() ? "lab.html" : a.html}, common);
        case LabVerb::check_log:
            return check_benchmark_logs(a.logs, a.suite.empty() ? "time_to_quality" : a.suite,
                                        common);
    }
    return kFailed;
}

}  // namespace

Subcommand lab_command() {
    return subcommand<LabArguments>(
        "lab", "run, compare and report suites of trainings",
        "  gausscope lab run smoke --label before       train a suite; run it again to resume\n"
        "  gausscope lab run smoke --label after\n"
        "  gausscope lab compare before after           with intervals, verdicts and gates\n"
        "  gausscope lab report before after --html lab.html\n"
        "  gausscope lab run time_to_quality && gausscope lab check-log "
        "lab.db.runs/runs/*/benchmark.jsonl\n"
        "  gausscope lab run default --captures photos/ --database nightly.db\n"
        "  gausscope lab run smoke --program old=a/gausscope --program new=b/gausscope\n",
        add_options, run);
}

}  // namespace gs::cli
