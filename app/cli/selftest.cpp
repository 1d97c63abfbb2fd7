#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/selftest_checks.h"

namespace gs::cli {

int run_selftest(const Arguments& arguments) {
    const auto rasterizer = make_rasterizer(arguments.common);
    if (!rasterizer) return report(rasterizer.error());
    CheckList checks;
    add_reference_checks(checks);
    add_cpu_checks(checks, arguments.selftest.quick);
    add_gl_checks(checks);

    fmt::print("{}\n\n", (*rasterizer)->name());
    std::size_t failed = 0, absent = 0;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& check : checks) {
        const auto begin = std::chrono::steady_clock::now();
        CheckRow row = check();
        row.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        const char* verdict = !row.ran ? "absent" : row.passed ? "ok" : "FAILED";
        failed += row.ran && !row.passed ? 1 : 0;
        absent += row.ran ? 0 : 1;
        fmt::print("{:<7} {:<9} {:<42} {:>7.0f} ms  {}\n", verdict, row.backend, row.name, row.milliseconds,
                   row.measured);
        std::fflush(stdout);
        rows.push_back({{"backend", row.backend},
                        {"name", row.name},
                        {"passed", row.passed},
                        {"ran", row.ran},
                        {"measured", row.measured},
                        {"ms", row.milliseconds}});
    }
    fmt::print("\nbackends: CPU checked; CUDA: this build has none\n{} checks, {} failed, {} absent\n", checks.size(),
               failed, absent);
    if (arguments.common.json)
        print_json({{"command", "selftest"},
                    {"backend", (*rasterizer)->name()},
                    {"backends_checked", {"cpu"}},
                    {"checks", rows},
                    {"failed", failed},
                    {"absent", absent}});
    return failed > 0 ? kGate : kDone;
}

}  // namespace gs::cli
