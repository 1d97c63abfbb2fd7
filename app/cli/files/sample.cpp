#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/sample/sample_capture.h"
#include "base/assets.h"
#include "base/full_disk.h"
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
    add_value(app, "--views N", a.views, whole_from(1, 1000), "photos [48]");
    add_value(app, "--scenery NAME", a.scenery, CLI::IsMember(sceneries()),
              "scene to render: diorama, toys, village [diorama]");
    add_value(app, "--width PIXELS", a.width, whole_from(16, 8192), "photo width [640]");
    add_value(app, "--height PIXELS", a.height, whole_from(16, 8192), "photo height [480]");
    add_value(app, "--points N", a.points, whole_from(1, 10000000),
              "approximate number of sparse points [20000]");
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
        if (!is_of_disk(made.error())) made.error().advice = "name another folder";
        return tl::unexpected(made.error());
    }

    catch_interrupts();
    ProgressLine progress("sample");
    SampleOptions options{a.views, a.width,  a.height, a.points, common.seed.value_or(42),
                          {},      a.scenery};
    options.progress = told_by(progress);
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
