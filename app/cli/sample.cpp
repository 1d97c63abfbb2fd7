#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/sample/sample_capture.h"
#include "base/assets.h"
#include "base/try.h"

namespace gs::cli {
namespace {

struct SampleArguments {
    std::string folder, scenery = "diorama";
    int views = 48, width = 640, height = 480, points = 20000;
    bool force = false;
};

std::vector<std::string> sceneries() {
    std::vector<std::string> out;
    for (const std::string& path : assets_in("sample")) out.push_back(fs::path(path).stem());
    return out;
}

void add_options(CLI::App& app, SampleArguments& a) {
    app.add_option("DIR", a.folder, "folder to write to")->required();
    app.add_option("--views", a.views, "photos [48]")->check(whole_from(1, 1000))->option_text("N");
    app.add_option("--scenery", a.scenery, "scene to render: diorama, toys, village [diorama]")
        ->check(CLI::IsMember(sceneries()))
        ->option_text("NAME");
    app.add_option("--width", a.width, "photo width [640]")
        ->check(whole_from(16, 8192))
        ->option_text("PIXELS");
    app.add_option("--height", a.height, "photo height [480]")
        ->check(whole_from(16, 8192))
        ->option_text("PIXELS");
    app.add_option("--points", a.points, "approximate number of sparse points [20000]")
        ->check(whole_from(1, 10000000))
        ->option_text("N");
    app.add_flag("--force", a.force, "write into a folder that is not empty");
}

Result<int> run(const SampleArguments& a, const CommonArguments& common) {
    const fs::path folder = a.folder;
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
        return fail(ErrorKind::usage, a.folder, "a file of this name already exists",
                    "name another folder");
    if (!a.force && fs::is_directory(folder, error) && !fs::is_empty(folder, error) && !error)
        return fail(ErrorKind::usage, a.folder, "the folder is not empty",
                    "name another one, or add --force");
    auto made = prepare_output_folder(folder);
    if (!made) {
        made.error().advice = "name another folder";
        return tl::unexpected(made.error());
    }

    catch_interrupts();
    ProgressLine progress("sample");
    SampleOptions options{a.views, a.width,  a.height, a.points, common.seed.value_or(42),
                          {},      a.scenery};
    options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
        progress.update(done, total, what);
        return !interrupted();
    };
    const auto written = write_sample_capture(folder, options);
    progress.finish();
    if (!written) {
        report(written.error());
        return kFailed;
    }
    fmt::print("{}: {} photos of {} x {}, {} points, in {:.1f} s\n", a.folder, written->views,
               a.width, a.height, written->points, written->seconds);
    if (common.json)
        print_json({{"command", "sample"},
                    {"path", a.folder},
                    {"scenery", a.scenery},
                    {"views", written->views},
                    {"width", a.width},
                    {"height", a.height},
                    {"points", written->points},
                    {"seconds", written->seconds}});
    return kDone;
}

}  // namespace

Subcommand sample_command() {
    return subcommand<SampleArguments>(
        "sample", "write the built-in sample capture: posed photos and sparse points",
        "  gausscope sample diorama/ && gausscope diorama/\n", add_options, run);
}

}  // namespace gs::cli
