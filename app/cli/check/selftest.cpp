#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/backend/limits.h"
#include "app/cli/add_value.h"
#include "app/cli/cases/cases.h"
#include "app/cli/check/bench_limits.h"
#include "app/cli/check/selftest_checks.h"
#include "app/cli/check/selftest_report.h"
#include "app/cli/common.h"
#include "app/cli/machine.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "base/exception_words.h"
#include "base/try.h"
#include "renderer/device/cuda/device.h"

namespace gs::cli {
namespace {

struct SelftestArguments {
    bool quick = false;
    bool cases = false;
    std::vector<std::string> only;  ///< parts of names of cases
    std::string report;             ///< file
};

void add_options(CLI::App& app, SelftestArguments& a) {
    app.add_flag("--quick", a.quick, "smaller scenes");
    app.add_flag("--cases", a.cases,
                 "run the directed cases instead: small tests of every kernel's shapes and edges");
    add_value(app, "--only TEXT", a.only,
              "run only cases with TEXT in their name, such as \"frame:\"; repeatable")
        ->needs("--cases")
        ->expected(1)
        ->take_all();
    add_value(app, "--report FILE", a.report,
              "write machine, checks, limits and times of a few scenes to this file, and as "
              "text next to it; rewritten after each check");
}

// An exception is the check's result: one broken stage must not hide the others.
CheckRow carry_out(const std::function<CheckRow()>& check) {
    const auto begin = std::chrono::steady_clock::now();
    CheckRow row;
    try {
        row = check();
    } catch (const std::exception& error) {
        row = {"", "a check ended early", words_of(error), false};
    }
    row.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return row;
}

CheckRow no_cuda() {
    const auto device = first_cuda_device();
    return {"CUDA", "every stage", device ? "not requested" : device.error().text(), false, false};
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

/// Writes the results so far: a check that hangs, or ends the process, loses nothing.
class SelftestReport {
  public:
    /// An empty `file`: none is written.
    SelftestReport(int device, std::string file) : file_(std::move(file)) {
        json = {{"command", "selftest"},
                {"machine", file_.empty() ? Json() : machine_json(device)},
                {"problem", nullptr},
                {"under_way", nullptr},
                {"checks", Json::array()},
                {"failed", 0},
                {"absent", 0},
                {"ceilings", nullptr},
                {"scenes", Json::array()}};
    }
    /// Reports the next check. Errors: the file cannot be written.
    Result<void> before(const std::string& what) {
        json["under_way"] = what;
        return write();
    }
    Result<void> end() {
        json["under_way"] = nullptr;
        return write();
    }
    bool wanted() const { return !file_.empty(); }
    Json json;

  private:
    Result<void> write() const { return wanted() ? write_report(json, file_) : Result<void>(); }
    std::string file_;
};

/// Carries out the checks, prints a row of each as it ends.
Result<void> carry_out_all(const CheckList& checks, int name_width, SelftestReport& report) {
    std::size_t failed = 0, absent = 0;
    for (std::size_t i = 0; i < checks.size(); ++i) {
        GS_TRY_VOID(report.before(fmt::format("check {} of {}", i + 1, checks.size())));
        const CheckRow row = carry_out(checks[i]);
        const char* verdict = !row.ran ? "absent" : row.passed ? "ok" : "FAILED";
        failed += row.ran && !row.passed ? 1 : 0;
        absent += row.ran ? 0 : 1;
        fmt::print("{:<7} {:<9} {:<{}} {:>7.0f} ms  {}\n", verdict, row.backend, row.name,
                   name_width, row.milliseconds, row.measured);
        std::fflush(stdout);
        report.json["checks"].push_back({{"backend", row.backend},
                                         {"name", row.name},
                                         {"verdict", verdict},
                                         {"passed", row.passed},
                                         {"ran", row.ran},
                                         {"measured", row.measured},
                                         {"ms", row.milliseconds}});
        report.json["failed"] = failed;
        report.json["absent"] = absent;
    }
    return {};
}

/// The requested cases. Errors (usage): no such name.
Result<void> choose_cases(const CaseList& all, const std::vector<std::string>& only,
                          CheckList& checks) {
    const auto asked_for = [&](const std::string& name) {
        return only.empty() || std::ranges::any_of(only, [&](const std::string& part) {
                   return name.find(part) != std::string::npos;
               });
    };
    for (const DirectedCase& one : all)
        if (asked_for(one.name)) checks.push_back(one.check);
    if (!checks.empty()) return {};
    return fail(ErrorKind::usage, "", fmt::format("no case name contains \"{}\"", only.front()),
                "gausscope selftest --cases prints all names");
}

/// Measures everything in the report besides the checks. A failed measurement is reported in its
/// place.
Result<void> time_scenes(const Backend& backend, bool quick, SelftestReport& report) {
    if (auto told = report.before("measuring the ceilings"); !told) return told;
    const auto ceilings = machine_ceilings(backend.device, {}, true);
    if (ceilings) report.json["ceilings"] = ceilings_json(*ceilings);
    std::string gpu;
    int multiprocessors = 0;
    if (backend.cuda)  // asking makes a context
        if (const auto device = cuda_device_info(backend.device)) {
            gpu = device->name;
            multiprocessors = device->multiprocessors;
        }
    for (const ReportScene& scene : report_scenes(quick)) {
        GS_TRY_VOID(report.before(fmt::format("timing the scene {}", scene.name)));
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
            row["problem"] = words_of(error);
        }
        report.json["scenes"].push_back(std::move(row));
    }
    return {};
}

Result<int> run(const SelftestArguments& a, const CommonArguments& common) {
    if (!a.report.empty()) GS_TRY_VOID(prepare_output_file(a.report));
    auto found = backends(common);
    if (!found) {
        // If nothing can be checked, the file still describes the machine and the reason.
        SelftestReport report(-1, a.report);
        report.json["problem"] = found.error().text();
        GS_TRY_VOID(report.end());
        return tl::unexpected(found.error());
    }
    Checked chosen = std::move(*found);
    const SelftestEffort effort = a.quick ? SelftestEffort::quick() : SelftestEffort{};
    CheckList checks;
    CaseList cases;
    if (!a.cases) add_reference_checks(checks);
    std::string names;
    Json checked = Json::array();
    for (const auto* backend : {&chosen.cpu, &chosen.cuda}) {
        if (!*backend) continue;
        if (a.cases) {
            add_cases(cases, **backend);
        } else {
            add_backend_checks(checks, **backend, effort);
            (*backend)->cuda ? add_cuda_checks(checks, **backend, effort)
                             : add_cpu_checks(checks, effort);
        }
        names += (names.empty() ? "" : ", ") + (*backend)->name;
        checked.push_back((*backend)->cuda ? "cuda" : "cpu");
    }
    if (a.cases) GS_TRY_VOID(choose_cases(cases, a.only, checks));
    if (!chosen.cuda && common.backend == "auto") checks.push_back(no_cuda);
    const Backend& first = chosen.cuda ? *chosen.cuda : *chosen.cpu;
    if (!a.cases) add_gl_checks(checks, first);

    fmt::print("{}\n\n", names);
    SelftestReport report(first.device, a.report);
    GS_TRY_VOID(carry_out_all(checks, a.cases ? 62 : 42, report));
    const auto failed = report.json["failed"].get<std::size_t>();
    if (report.wanted()) {
        GS_TRY_VOID(time_scenes(first, a.quick, report));
        GS_TRY_VOID(report.end());
        fmt::print("\nreport: {}\n", a.report);
    }
    fmt::print("\nbackends checked: {}\n{} checks, {} failed, {} absent\n", names, checks.size(),
               failed, report.json["absent"].get<std::size_t>());
    if (common.json)
        print_json({{"command", "selftest"},
                    {"backend", names},
                    {"backends_checked", checked},
                    {"checks", report.json["checks"]},
                    {"failed", failed},
                    {"absent", report.json["absent"]}});
    return failed > 0 ? kGate : kDone;
}

}  // namespace

Subcommand selftest_command() {
    return subcommand<SelftestArguments>(
        "selftest",
        "check this machine: every stage against the reference, gradients, determinism, OpenGL",
        "  gausscope selftest\n  gausscope selftest --backend cuda --report here.json      a GPU "
        "not tested yet\n",
        add_options, run);
}

}  // namespace gs::cli
