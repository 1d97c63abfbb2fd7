#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/convert_verify.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/simplify.h"
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
    std::string verify;  ///< a capture or a file of cameras; empty: not verified
};

void add_options(CLI::App& app, ConvertArguments& a) {
    app.add_option("IN", a.input,
                   "splat file, checkpoint, run, or a folder with meta.json or lod-meta.json")
        ->required();
    app.add_option(
           "OUT", a.output,
           "file to write; its extension chooses the format: .ply .compressed.ply .splat .spz "
           ".sog meta.json .glb "
           ".gltf .csv")
        ->required();
    app.add_option("--lod", a.lod, "level of a streamed set, 0 = finest [0]")
        ->check(whole_from(0, 63))
        ->option_text("N");
    app.add_option("--spz-version", a.spz_version, "3 (gzip) or 4 (zstd) [4]")
        ->check(whole_from(3, 4))
        ->option_text("N");
    app.add_option("--crop", a.crop,
                   "keep only Gaussians in this box, in the file's units (x right, y down)")
        ->option_text("X0,Y0,Z0,X1,Y1,Z1");
    app.add_option("--simplify", a.simplify.to,
                   "merge neighbours until N Gaussians, or N % of them, remain")
        ->option_text("N|P%");
    app.add_option("--simplify-from", a.simplify.views,
                   "views to preserve: a capture or a file of cameras [the run's capture; else "
                   "views all around the scene]")
        ->option_text("VIEWS");
    app.add_option(
           "--verify", a.verify,
           "render source and result from a capture or a file of cameras and print the difference")
        ->option_text("VIEWS");
}

void print_cost(const ConversionCost& cost) {
    const auto worst = std::min_element(
        cost.views.begin(), cost.views.end(),
        [](const ViewCost& a, const ViewCost& b) { return a.between < b.between; });
    fmt::print(
        "  verified from {} views: {:.2f} dB against the source's pictures (worst {:.2f} dB, {})\n",
        cost.views.size(), cost.between, worst->between, worst->name);
    if (cost.source && cost.result)
        fmt::print("  against the photos: {:.2f} dB, {:.2f} dB of the source\n", *cost.result,
                   *cost.source);
}

Json optional_number(const std::optional<double>& value) {
    return value ? number(*value) : Json(nullptr);
}

Json cost_json(const ConversionCost& cost) {
    Json views = Json::array();
    for (const ViewCost& view : cost.views)
        views.push_back({{"name", view.name},
                         {"psnr_between", number(view.between)},
                         {"psnr_source", optional_number(view.source)},
                         {"psnr_result", optional_number(view.result)}});
    return {{"psnr_between", number(cost.between)},
            {"psnr_source", optional_number(cost.source)},
            {"psnr_result", optional_number(cost.result)},
            {"views", views}};
}

Result<SplatFile> read_with_progress(const PathContents& from, int lod) {
    ProgressLine line("read");
    SplatReadOptions options;
    options.lod = lod;
    options.progress = told_by(line);
    auto scene = read_any_splats(from, options);
    line.finish();
    return scene;
}

Result<ConversionCost> verify(const ConvertArguments& a, const CommonArguments& common,
                              const GaussianModel& source) {
    GS_TRY(auto result, read_with_progress(find_contents(a.output), 0));
    meet_origin(result.model, source.origin);
    return verify_conversion(source, result.model, a.verify, common);
}

Result<int> run(const ConvertArguments& a, const CommonArguments& common) {
    catch_interrupts();
    const fs::path output(a.output);
    std::optional<ClipBox> crop;
    if (!a.crop.empty()) {
        GS_TRY(crop, parse_box(a.crop));
    }
    if (a.simplify.to.empty() && !a.simplify.views.empty())
        return fail(ErrorKind::usage, "", "--simplify-from without --simplify",
                    "say how many Gaussians to keep, for example --simplify 50%");
    // A SOG as a folder is given by the meta.json in it.
    std::optional<NewFolders> made;
    if (output.filename() == "meta.json" && output.has_parent_path()) {
        GS_TRY(made, prepare_output_folder(output.parent_path()));
    }
    GS_TRY_VOID(prepare_output_file(output));
    const PathContents input = find_contents(a.input);
    GS_TRY(auto scene, read_with_progress(input, a.lod));
    for (const std::string& note : scene.notes) log_info("{}: {}", a.input, note);

    if (crop) {
        scene.model = cropped(scene.model, *crop);
        if (scene.model.count == 0)
            return fail(ErrorKind::usage, a.input, "the --crop box contains no Gaussian",
                        "gausscope info shows the bounds of the scene");
    }
    std::optional<Simplified> simple;
    if (!a.simplify.to.empty()) {
        GS_TRY(simple, simplified_as_asked(scene.model, a.simplify, input.folder(), common));
    }
    const GaussianModel& result = simple ? simple->model : scene.model;
    ProgressLine line("write");
    const SplatWriteOptions options{a.spz_version, scene.trained, told_by(line)};
    const auto written = write_splats(a.output, result, options);
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
        GS_TRY(const auto cost, verify(a, common, scene.model));
        print_cost(cost);
        out["verify"] = cost_json(cost);
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
        "  gausscope convert scene/lod-meta.json out.ply --lod 2\n"
        "  gausscope convert in.ply part.ply --crop -1,-1,-1,1,1,1\n"
        "  gausscope convert out/ small.spz --simplify 50% --verify captures/fox\n",
        add_options, run);
}

}  // namespace gs::cli
