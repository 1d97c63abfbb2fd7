#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/backend/tiled_levels.h"
#include "app/backend/write_scene.h"
#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "app/sample/sample_capture.h"
#include "base/assets.h"
#include "base/full_disk.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/splats/level_set.h"

namespace gs::cli {
namespace {

struct SampleArguments {
    std::string folder, scenery = "diorama";
    int views = 48, width = 640, height = 480, points = 20000;
    std::string of;  ///< a scene to make a large set of levels of; empty: a capture is made
    int tiles = 8;
    bool force = false;
};

std::vector<std::string> sceneries() {
    std::vector<std::string> out;
    for (const std::string& path : assets_in("sample")) out.push_back(fs::path(path).stem());
    return out;
}

void add_options(CLI::App& app, SampleArguments& a) {
    app.add_option("DIR", a.folder, "folder to write to, or a lod-meta.json with --of")->required();
    add_value(app, "--views N", a.views, whole_from(1, 1000), "photos [48]");
    add_value(app, "--scenery NAME", a.scenery, CLI::IsMember(sceneries()),
              "scene to render: diorama, toys, village [diorama]");
    add_value(app, "--width PIXELS", a.width, whole_from(16, 8192), "photo width [640]");
    add_value(app, "--height PIXELS", a.height, whole_from(16, 8192), "photo height [480]");
    add_value(app, "--points N", a.points, whole_from(1, 10000000),
              "approximate number of sparse points [20000]");
    const char* set = "A large set of levels";
    add_value(app, "--of SCENE", a.of, "splat file to repeat: DIR/lod-meta.json is written")
        ->group(set);
    add_value(app, "--tiles N", a.tiles, whole_from(1, 1000), "N times N copies of it [8]")
        ->group(set);
    app.add_flag("--force", a.force, "write into a folder that is not empty");
}

Result<int> write_tiles(const SampleArguments& a, const CommonArguments& common) {
    GS_TRY(const SplatFile scene, read_any_splats(find_contents(a.of)));
    catch_interrupts();
    ProgressLine progress("sample");
    const auto begin = std::chrono::steady_clock::now();
    const auto notes = write_tiled_levels(a.folder, scene.model, a.tiles, common.seed.value_or(42),
                                          told_by(progress));
    progress.finish();
    if (!notes) return report(notes.error());
    for (const std::string& note : *notes) log_info("{}: {}", a.folder, note);
    GS_TRY(const LevelSet set, read_level_set(a.folder));
    const double seconds = seconds_since(begin);
    fmt::print("{}: {} Gaussians at {} levels, {} at the coarsest, in {:.1f} s\n", a.folder,
               set.gaussians(0), set.levels, set.gaussians(set.levels - 1), seconds);
    if (common.json)
        print_json({{"command", "sample"},
                    {"path", a.folder},
                    {"gaussians", set.gaussians(0)},
                    {"levels", set.levels},
                    {"coarsest", set.gaussians(set.levels - 1)},
                    {"regions", set.regions.size()},
                    {"seconds", seconds}});
    return kDone;
}

Result<int> run(const SampleArguments& a, const CommonArguments& common) {
    const fs::path folder = a.folder;
    if (is_level_set(folder) == a.of.empty())
        return fail(ErrorKind::usage, a.folder, "--of makes a lod-meta.json, and needs its name",
                    "gausscope sample big/lod-meta.json --of scene.ply --tiles 8");
    std::error_code error;
    if (a.of.empty() && fs::exists(folder, error) && !fs::is_directory(folder, error))
        return fail(ErrorKind::usage, a.folder, "a file of this name already exists",
                    "name another folder");
    if (!a.of.empty() && !a.force && fs::exists(folder, error))
        return fail(ErrorKind::usage, a.folder, "a set is there already",
                    "name another one, or add --force");
    const fs::path source = fs::weakly_canonical(a.of, error), place = fs::absolute(folder);
    if (!a.of.empty() && (source == fs::weakly_canonical(place.parent_path(), error) ||
                          source == fs::weakly_canonical(place, error)))
        return fail(ErrorKind::usage, a.folder, "is the scene that is to be repeated",
                    "name another folder");
    if (!a.force && fs::is_directory(folder, error) && !fs::is_empty(folder, error) && !error)
        return fail(ErrorKind::usage, a.folder, "the folder is not empty",
                    "name another one, or add --force");
    auto made = prepare_output_folder(a.of.empty() ? folder : fs::absolute(folder).parent_path());
    if (!made) {
        if (!is_of_disk(made.error())) made.error().advice = "name another folder";
        return tl::unexpected(made.error());
    }
    if (!a.of.empty()) return write_tiles(a, common);

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
        "  gausscope sample diorama/ && gausscope diorama/\n"
        "  gausscope sample big/lod-meta.json --of scene.ply --tiles 20\n",
        add_options, run);
}

}  // namespace gs::cli
