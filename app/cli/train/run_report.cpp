// `gausscope report`: writes a run's folder as one HTML page.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/bundle/run_report.h"
#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "base/try.h"

namespace gs::cli {
namespace {

struct RunReportArguments {
    std::string run, output;
    bool examine = true;
};

void add_options(CLI::App& app, RunReportArguments& a) {
    app.add_option("RUN", a.run, "folder of a training run")->required();
    add_value(app, "-o,--output FILE", a.output, "the page [RUN/report.html]");
    app.add_flag("!--no-doctor", a.examine, "omit the doctor's findings; the model is not read");
}

Result<int> run(const RunReportArguments& a, const CommonArguments& common) {
    const fs::path output = a.output.empty() ? fs::path(a.run) / "report.html" : fs::path(a.output);
    GS_TRY(const Report report, report_of_run(a.run, a.examine));
    GS_TRY_VOID(prepare_output_file(output));
    const std::string html = report_html(report);
    GS_TRY_VOID(write_text_file(output, html));
    const Json out{{"command", "report"},
                   {"run", a.run},
                   {"output", output.string()},
                   {"bytes", html.size()},
                   {"pictures", report.pictures.size()},
                   {"findings", report.findings.size()},
                   {"notes", report.notes.size()}};
    say("written: {output}, {bytes:bytes}", out);
    if (common.json) print_json(out);
    return kDone;
}

}  // namespace

Subcommand report_command() {
    return subcommand<RunReportArguments>("report", "write a run's folder as one HTML page",
                                          "  gausscope report out/run\n"
                                          "  gausscope report out/run -o garden.html\n",
                                          add_options, run);
}

}  // namespace gs::cli
