#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "renderer/base/log.h"
#include "renderer/io/splat_io.h"

namespace gs::cli {

int run_convert(const Arguments& arguments) {
    const ConvertArguments& a = arguments.convert;
    catch_interrupts();
    if (auto ready = prepare_output_file(a.output); !ready) return report(ready.error());
    ProgressLine progress("read");
    auto scene = read_splats(a.input, [&](std::string_view what, std::size_t done, std::size_t total) {
        progress.update(done, total, what);
        return !interrupted();
    });
    progress.finish();
    if (!scene) return report(scene.error());
    for (const std::string& note : scene->notes) log_info("{}: {}", a.input, note);
    if (auto written = write_splats(a.output, scene->model); !written) return report(written.error());
    const std::uint64_t bytes = fs::file_size(a.output);
    fmt::print("{}: {} Gaussians, degree {}, {}\n", a.output, scene->model.count, scene->model.sh_degree,
               human_bytes(bytes));
    if (arguments.common.json)
        print_json({{"command", "convert"},
                    {"input", a.input},
                    {"output", a.output},
                    {"format", scene->format},
                    {"gaussians", scene->model.count},
                    {"sh_degree", scene->model.sh_degree},
                    {"bytes", bytes},
                    {"notes", scene->notes}});
    return kDone;
}

}  // namespace gs::cli
