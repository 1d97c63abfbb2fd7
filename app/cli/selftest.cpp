#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/backend/limits.h"
#include "app/cli/bench_limits.h"
#include "app/cli/cases/cases.h"
#include "app/cli/common.h"
#include "app/cli/machine.h"
#include "app/cli/report.h"
#include "app/cli/selftest_checks.h"
#include "app/cli/selftest_report.h"
#include "app/cli/subcommand.h"
#include "base/try.h"
#include "renderer/device/cuda/device.h"

namespace gs::cli {
namespace {

struct SelftestArguments {
    bool quick = false;
    bool cases = false;
    std::string report;  ///< file
};

void add_options(CLI::App& app, SelftestArguments& a) {
    app.add_flag("--quick", a.quick, "smaller scenes");
    app.add_flag("--cases", a.cases,
                 "the directed cases instead: every kernel's shapes and edges, small");
    app.add_option(
           "--report", a.report,
           "write what this machine is, every check, ceilings and the times of a few scenes "
           "to this file, and as text beside it")
        ->option_text("FILE");
}

// What a check throws is its result: one broken stage must not hide the others.
CheckRow carry_out(const std::function<CheckRow()>& check) {
    const auto begin = std::chrono::steady_clock::now();
    CheckRow row;
    try {
        row = check();
    } catch (const std::exception& error) {
        row = {"", "a check ended early", error.what(), false};
    }
    row.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return row;
}

CheckRow no_cuda() {
    const auto device = first_cuda_device();
    return {"CUDA", "every stage", device ? "not asked for" : device.error().text(), false, false};
}

/// The backends to check: the one named, or with "auto" all there are.
struct Checked {
    std::optional<Backend> cpu, cuda;
};
Result<Checked> backends(const CommonArguments& common) {
    Checked out;
    const auto take = [](std::string_view name, int device,
                         std::optional<Backend>& to) -> Result<void> {
        GS_TRY(to, choose_backend(name, device));
        return {};
    };
    const int device = common.device.value_or(-1);
    if (common.backend == "cpu") GS_TRY_VOID(take("cpu", device, out.cpu));
    if (common.backend == "auto") GS_TRY_VOID(take("cpu", -1, out.cpu));
    if (common.backend == "cuda" || common.device) GS_TRY_VOID(take("cuda", device, out.cuda));
    if (common.backend == "auto" && !common.device)
        if (auto found = choose_backend("auto"); found && found->cuda) out.cuda = std::move(*found);
    return out;
}

/// Carries out the checks, prints a row of each as it ends.
struct Outcome {
    Json rows = Json::array();
    std::size_t failed = 0, absent = 0;
};
Outcome carry_out_all(const CheckList& checks, int name_width) {
    Outcome out;
    for (const auto& check : checks) {
        const CheckRow row = carry_out(check);
        const char* verdict = !row.ran ? "absent" : row.passed ? "ok" : "FAILED";
        out.failed += row.ran && !row.passed ? 1 : 0;
        out.absent += row.ran ? 0 : 1;
        fmt::print("{:<7} {:<9} {:<{}} {:>7.0f} ms  {}\n", verdict, row.backend, row.name,
                   name_width, row.milliseconds, row.measured);
        std::fflush(stdout);
        out.rows.push_back({{"backend", row.backend},
                            {"name", row.name},
                            {"verdict", verdict},
                            {"passed", row.passed},
                            {"ran", row.ran},
                            {"measured", row.measured},
                            {"ms", row.milliseconds}});
    }
    return out;
}

Json report_of(int device) {
    return {{"command", "selftest"}, {"machine", machine_json(device)},
            {"problem", nullptr},    {"checks", Json::array()},
            {"failed", 0},           {"absent", 0},
            {"ceilings", nullptr},   {"scenes", Json::array()}};
}

/// Everything of the report that is measured beside the checks. What cannot be is told in its
/// place.
void time_scenes(const Backend& backend, bool quick, Json& report) {
    const auto ceilings = machine_ceilings(backend.device, {}, true);
    if (ceilings) report["ceilings"] = ceilings_json(*ceilings);
    std::string gpu;
    int multiprocessors = 0;
    if (backend.cuda)  // asking makes a context
        if (const auto device = cuda_device_info(backend.device)) {
            gpu = device->name;
            multiprocessors = device->multiprocessors;
        }
    for (const ReportScene& scene : report_scenes(quick)) {
        fmt::print("timing  {:<9} {} Gaussians, {} x {}\n", label_of(backend), scene.scene.count,
                   scene.width, scene.height);
        std::fflush(stdout);
        Json row{{"name", scene.name},
                 {"gaussians", scene.scene.count},
                 {"width", scene.width},
                 {"height", scene.height}};
        try {
            if (auto timed = scene_json(backend, scene, gpu, multiprocessors))
                row = std::move(*timed);
            else
                row["problem"] = timed.error().text();
        } catch (const DeviceError& error) {
            row["problem"] = error.what();
        }
        report["scenes"].push_back(std::move(row));
    }
}

Result<int> run(const SelftestArguments& a, const CommonArguments& common) {
    if (!a.report.empty()) GS_TRY_VOID(prepare_output_file(a.report));
    auto found = backends(common);
    if (!found) {
        // Also where nothing can be checked the file says what is there, and why not.
        Json report = report_of(-1);
        report["problem"] = found.error().text();
        if (!a.report.empty()) GS_TRY_VOID(write_report(report, a.report));
        return tl::unexpected(found.error());
    }
    Checked chosen = std::move(*found);
    const SelftestEffort effort = a.quick ? SelftestEffort::quick() : SelftestEffort{};
    CheckList checks;
    if (!a.cases) add_reference_checks(checks);
    std::string names;
    Json checked = Json::array();
    for (const auto* backend : {&chosen.cpu, &chosen.cuda}) {
        if (!*backend) continue;
        if (a.cases) {
            add_cases(checks, **backend);
        } else {
            add_backend_checks(checks, **backend, effort);
            (*backend)->cuda ? add_cuda_checks(checks, **backend, effort)
                             : add_cpu_checks(checks, effort);
        }
        names += (names.empty() ? "" : ", ") + (*backend)->name;
        checked.push_back((*backend)->cuda ? "cuda" : "cpu");
    }
    if (!chosen.cuda && common.backend == "auto") checks.push_back(no_cuda);
    const Backend& first = chosen.cuda ? *chosen.cuda : *chosen.cpu;
    if (!a.cases) add_gl_checks(checks, first);

    fmt::print("{}\n\n", names);
    Outcome done = carry_out_all(checks, a.cases ? 62 : 42);
    if (!a.report.empty()) {
        Json report = report_of(first.device);
        report["checks"] = done.rows;
        report["failed"] = done.failed;
        report["absent"] = done.absent;
        time_scenes(first, a.quick, report);
        GS_TRY_VOID(write_report(report, a.report));
        fmt::print("\nreport: {}\n", a.report);
    }
    fmt::print("\nbackends checked: {}\n{} checks, {} failed, {} absent\n", names, checks.size(),
               done.failed, done.absent);
    if (common.json)
        print_json({{"command", "selftest"},
                    {"backend", names},
                    {"backends_checked", checked},
                    {"checks", done.rows},
                    {"failed", done.failed},
                    {"absent", done.absent}});
    return done.failed > 0 ? kGate : kDone;
}

}  // namespace

Subcommand selftest_command() {
    return subcommand<SelftestArguments>(
        "selftest",
        "check this machine: every stage against the reference, gradients, determinism, OpenGL",
        "  gausscope selftest\n  gausscope selftest --backend cuda --report here.json      a GPU "
        "nobody has tried\n",
        add_options, run);
}

}  // namespace gs::cli
