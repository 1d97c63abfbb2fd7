#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/backend/write_scene.h"
#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/files/convert_layout.h"
#include "app/cli/files/convert_verify.h"
#include "app/cli/files/simplify.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/crop.h"
#include "renderer/scene/origin.h"
#include "renderer/scene/trained_through.h"

namespace gs::cli {
namespace {

struct ConvertArguments {
    std::string input, output;
    int lod = 0;          ///< level of a streamed set, 0 = finest
    int spz_version = 4;  ///< 3 or 4
    std::string crop;     ///< a box; empty: everything
    SimplifyRequest simplify;
    std::string layout;  ///< "inria": OUT is a folder; empty: a file
    std::string verify;  ///< a capture or a file of cameras; empty: not verified
};

void add_options(CLI::App& app, ConvertArguments& a) {
    app.add_option("IN", a.input,
                   "splat file, checkpoint, run, or a folder with meta.json or lod-meta.json")
        ->required();
    app.add_option(
           "OUT", a.output,
           "file to write; its extension chooses the format: .ply .compressed.ply .splat .spz .sog "
           "meta.json lod-meta.json .glb .gltf .csv .html")
        ->required();
    add_value(app, "--lod N", a.lod, whole_from(0, 63), "level of a streamed set, 0 = finest [0]");
    add_value(app, "--spz-version N", a.spz_version, whole_from(3, 4), "3 (gzip) or 4 (zstd) [4]");
    add_value(app, "--crop X0,Y0,Z0,X1,Y1,Z1", a.crop,
              "keep only Gaussians in this box, in the file's units (x right, y down)");
    add_value(app, "--simplify N|P%", a.simplify.to,
              "merge neighbours until N Gaussians, or N % of them, remain");
    add_value(app, "--simplify-from VIEWS", a.simplify.views,
              "views to preserve: a capture or a file of cameras [the run's capture; else "
              "views all around the scene]");
    add_value(app, "--layout NAME", a.layout, CLI::IsMember({"inria"}),
              "write the run IN as a folder OUT laid out by another trainer: inria "
              "(point_cloud/iteration_N, cameras.json, cfg_args, input.ply)");
    add_value(
        app, "--verify VIEWS", a.verify,
        "render source and result from a capture or a file of cameras and print the difference");
}

Result<SplatFile> read_with_progress(const PathContents& from, int lod,
                                     const std::optional<ClipBox>& crop) {
    ProgressLine line("read");
    SplatReadOptions options;
    options.lod = lod;
    options.progress = told_by(line);
    options.crop = crop;
    auto scene = read_any_splats(from, options);
    line.finish();
    return scene;
}

/// In decibels, from the views of --verify.
Result<Json> verify(const ConvertArguments& a, const CommonArguments& common,
                    const GaussianModel& source) {
    GS_TRY(auto result, read_with_progress(find_contents(a.output), 0, {}));
    meet_origin(result.model, source.origin);
    return verify_conversion(source, result.model, a.verify, common);
}

/// The options agree, and the output can be written. Keep the result until it is.
Result<std::optional<NewFolders>> prepare(const ConvertArguments& a) {
    if (a.simplify.to.empty() && !a.simplify.views.empty())
        return fail(ErrorKind::usage, "", "--simplify-from without --simplify",
                    "say how many Gaussians to keep, for example --simplify 50%");
    // A SOG as a folder is given by the meta.json in it, a set of levels by its lod-meta.json.
    const fs::path output(a.output);
    std::optional<NewFolders> made;
    if ((output.filename() == "meta.json" || is_level_set(output)) && output.has_parent_path()) {
        GS_TRY(made, prepare_output_folder(output.parent_path()));
    }
    GS_TRY_VOID(prepare_output_file(output));
    return made;
}

/// The Gaussians of the input that the output is made of.
Result<SplatFile> read_source(const ConvertArguments& a, const PathContents& input) {
    std::optional<ClipBox> crop;
    if (!a.crop.empty()) {
        GS_TRY(crop, parse_box(a.crop));
    }
    GS_TRY(auto scene, read_with_progress(input, a.lod, crop));
    for (const std::string& note : scene.notes) log_info("{}: {}", a.input, note);
    if (!crop) return scene;
    scene.model = cropped(scene.model, *crop);
    if (scene.model.count == 0)
        return fail(ErrorKind::usage, a.input, "the --crop box contains no Gaussian",
                    "gausscope info shows the bounds of the scene");
    return scene;
}

Result<int> run(const ConvertArguments& a, const CommonArguments& common) {
    catch_interrupts();
    if (!a.layout.empty()) {
        GS_TRY(const Json out, convert_to_inria(a.input, a.output));
        if (common.json) print_json(out);
        return kDone;
    }
    GS_TRY(const auto made, prepare(a));
    const PathContents input = find_contents(a.input);
    GS_TRY(const SplatFile scene, read_source(a, input));
    std::optional<Simplified> simple;
    if (!a.simplify.to.empty()) {
        GS_TRY(simple, simplified_as_asked(scene.model, a.simplify, input.folder(), common));
    }
    const GaussianModel& result = simple ? simple->model : scene.model;
    ProgressLine line("write");
    const SplatWriteOptions options{a.spz_version, scene.trained, told_by(line)};
    const auto written = write_scene(a.output, result, options);
    line.finish();
    if (!written) return tl::unexpected(written.error());
    const std::uint64_t bytes = splat_bytes(a.output);
    fmt::print("{}: {} Gaussians, degree {}, {}\n", a.output, result.count, result.sh_degree,
               human_bytes(bytes));
    if (simple)
        fmt::print("  merged from {} Gaussians, weighted by {} views ({})\n", scene.model.count,
                   simple->cameras, simple->from);
    for (const std::string& note : *written) fmt::print("  note: {}\n", note);
    const std::vector<std::string> elsewhere = drawn_otherwise(scene.trained, result.antialiased);
    for (const std::string& warning : elsewhere) log_warning("{}: {}", a.input, warning);

    Json out{{"command", "convert"},   {"input", a.input},          {"output", a.output},
             {"format", scene.format}, {"gaussians", result.count}, {"sh_degree", result.sh_degree},
             {"bytes", bytes},         {"notes", scene.notes},      {"lost", *written}};
    if (!elsewhere.empty()) out["drawn_otherwise"] = elsewhere;
    if (simple)
        out["simplified"] = {{"from_gaussians", scene.model.count},
                             {"views", simple->cameras},
                             {"views_of", simple->from}};
    if (!a.verify.empty()) {
        GS_TRY(out["verify"], verify(a, common, scene.model));
    }
    if (common.json) print_json(out);
    return kDone;
}

}  // namespace

Subcommand convert_command() {
    return subcommand<ConvertArguments>(
        "convert", "convert between splat formats",
        "  gausscope convert in.ply out.spz\n"
        "  gausscope convert in.ply out.sog --verify captures/fox\n"
        "  gausscope convert scene.ply levels/lod-meta.json\n"
        "  gausscope convert scene.ply scene.html\n"
        "  gausscope convert scene/lod-meta.json out.ply --lod 2\n"
        "  gausscope convert in.ply part.ply --crop -1,-1,-1,1,1,1\n"
        "  gausscope convert out/ for-sibr/ --layout inria\n"
        "  gausscope convert out/ small.spz --simplify 50% --verify captures/fox\n",
        add_options, run);
}

}  // namespace gs::cli
