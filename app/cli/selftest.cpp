#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/cases/cases.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/selftest_checks.h"
#include "app/cli/subcommand.h"
#include "base/try.h"
#include "renderer/device/cuda/device.h"

namespace gs::cli {
namespace {

struct SelftestArguments {
    bool quick = false;
    bool cases = false;
};

void add_options(CLI::App& app, SelftestArguments& a) {
    app.add_flag("--quick", a.quick, "smaller scenes");
    app.add_flag("--cases", a.cases,
                 "the directed cases instead: every kernel's shapes and edges, small");
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
    const auto device = cuda_device_info();
    return {"CUDA", "every stage", device ? "not asked for" : device.error().text(), false, false};
}

/// The backends to check: the one named, or with "auto" all there are.
struct Checked {
    std::optional<Backend> cpu, cuda;
};
Result<Checked> backends(const CommonArguments& common) {
    Checked out;
    const auto take = [](std::string_view name, std::optional<Backend>& to) -> Result<void> {
        GS_TRY(to, choose_backend(name));
        return {};
    };
    if (common.backend != "cuda") GS_TRY_VOID(take("cpu", out.cpu));
    if (common.backend == "cuda" || (common.backend == "auto" && cuda_device_info()))
        GS_TRY_VOID(take("cuda", out.cuda));
    return out;
}

Result<int> run(const SelftestArguments& a, const CommonArguments& common) {
    GS_TRY(auto chosen, backends(common));
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
    if (!a.cases) add_gl_checks(checks, chosen.cuda ? *chosen.cuda : *chosen.cpu);

    fmt::print("{}\n\n", names);
    std::size_t failed = 0, absent = 0;
    Json rows = Json::array();
    for (const auto& check : checks) {
        const CheckRow row = carry_out(check);
        const char* verdict = !row.ran ? "absent" : row.passed ? "ok" : "FAILED";
        failed += row.ran && !row.passed ? 1 : 0;
        absent += row.ran ? 0 : 1;
        fmt::print("{:<7} {:<9} {:<{}} {:>7.0f} ms  {}\n", verdict, row.backend, row.name,
                   a.cases ? 62 : 42, row.milliseconds, row.measured);
        std::fflush(stdout);
        rows.push_back({{"backend", row.backend},
                        {"name", row.name},
                        {"passed", row.passed},
                        {"ran", row.ran},
                        {"measured", row.measured},
                        {"ms", row.milliseconds}});
    }
    fmt::print("\nbackends checked: {}\n{} checks, {} failed, {} absent\n", names, checks.size(),
               failed, absent);
    if (common.json)
        print_json({{"command", "selftest"},
                    {"backend", names},
                    {"backends_checked", checked},
                    {"checks", rows},
                    {"failed", failed},
                    {"absent", absent}});
    return failed > 0 ? kGate : kDone;
}

}  // namespace

Subcommand selftest_command() {
    return subcommand<SelftestArguments>(
        "selftest",
        "check this machine: every stage against the reference, gradients, determinism, OpenGL",
        "  gausscope selftest\n", add_options, run);
}

}  // namespace gs::cli
