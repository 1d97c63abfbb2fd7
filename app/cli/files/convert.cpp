#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/backend/write_scene.h"
#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/files/convert_layout.h"
#include "app/cli/files/simplify.h"
#include "app/cli/options.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "base/comparison.h"
#include "base/expected.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/crop.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/lost_views.h"
#include "renderer/scene/origin.h"
#include "renderer/scene/trained_through.h"
#include "trainer/loss/metrics.h"

namespace gs::cli {
namespace {

// ---- --verify: the loss of a conversion in decibels. Source and result are drawn from the same
// views, and compared with each other and with any photos.

/// `views` is a capture (its test views, or all where it has none) or a file of cameras
/// (docs/cli.md). At most kMostVerifyViews, evenly spread. Drawn on the CPU. Prints the means and
/// returns them: "psnr_between" of the two, "psnr_source" and "psnr_result" against photos, or
/// null; and "views", the same of each. Errors: views that cannot be read, cancelled.
constexpr std::size_t kMostVerifyViews = 24;

// A view to compare from; the photo belongs to the capture.
struct Stand {
    std::string name;
    Camera camera;
    const View* view = nullptr;
};

struct Stands {
    std::shared_ptr<const Capture> capture;
    std::vector<Stand> list;
};

Result<Stands> stands_of(const std::string& views, Vec3d origin, const CommonArguments& common) {
    Stands out;
    if (const CaptureFiles files = find_capture(views); files.certain) {
        GS_TRY(auto options, capture_options(CaptureArguments{}, common));
        options.origin = origin;
        GS_TRY(out.capture, load_with_progress(files, options));
        for (const std::size_t i : scored_views(*out.capture)) {
            const View& view = out.capture->views[i];
            out.list.push_back({view.name, view.camera, view.photo.pixels() > 0 ? &view : nullptr});
        }
    } else {
        GS_TRY(const auto cameras, read_cameras(views, origin));
        for (const NamedCamera& camera : cameras)
            out.list.push_back({camera.name, camera.camera, nullptr});
    }
    out.list = spread(out.list, kMostVerifyViews);
    return out;
}

class Drawer {
  public:
    Drawer() : rasterizer_(make_cpu_rasterizer()), state_(rasterizer_->make_state()) {}
    /// Clamped to 0..1, as a written picture is.
    ImageF draw(const GaussianModel& model, const Camera& camera) {
        const RenderOptions options{
            .antialiased = model.antialiased, .depth = false, .gradients = false};
        ModelSource source(model);
        rasterizer_->forward(source, camera, options, *state_, result_);
        ImageF out = result_.color;
        for (float& value : out.values) value = std::clamp(value, 0.0f, 1.0f);
        return out;
    }

  private:
    std::unique_ptr<Rasterizer> rasterizer_;
    std::unique_ptr<ForwardState> state_;
    RenderResult result_;
};

double psnr_between(const ImageF& a, const ImageF& b) {
    const double values = static_cast<double>(std::max<std::size_t>(1, a.values.size()));
    const double squares = compare({}, a.values, b.values).squares;
    return std::isfinite(squares) ? psnr_of(squares / values) : 0;
}

/// PSNR, dB.
struct ViewCost {
    std::string name;
    std::optional<double> between, source, result;
};

Result<std::vector<ViewCost>> costs_of(const GaussianModel& source, const GaussianModel& result,
                                       const std::string& views, const CommonArguments& common) {
    GS_TRY(const Stands stands, stands_of(views, source.origin, common));
    if (stands.list.empty()) return fail(ErrorKind::usage, views, "no view to verify from");
    std::vector<ViewCost> out;
    Drawer drawer;
    ProgressLine progress("verify");
    for (const Stand& stand : stands.list) {
        if (interrupted()) return fail(ErrorKind::cancelled, views, "verifying was stopped");
        ImageF before = drawer.draw(source, stand.camera),
               after = drawer.draw(result, stand.camera);
        ViewCost cost{stand.name, psnr_between(before, after), {}, {}};
        if (stand.view != nullptr) {
            cost.source = score_picture(before, stand.view->photo, stand.view->mask).psnr;
            cost.result = score_picture(after, stand.view->photo, stand.view->mask).psnr;
        }
        out.push_back(std::move(cost));
        progress.update(out.size(), stands.list.size(), stand.name);
    }
    progress.finish();
    return out;
}

Result<Json> verify_conversion(const GaussianModel& source, const GaussianModel& result,
                               const std::string& views, const CommonArguments& common) {
    GS_TRY(const auto costs, costs_of(source, result, views, common));
    Json out;
    for (const auto& [name, of] : {std::pair{"psnr_between", &ViewCost::between},
                                   {"psnr_source", &ViewCost::source},
                                   {"psnr_result", &ViewCost::result}}) {
        double sum = 0;
        std::size_t count = 0;
        for (const ViewCost& cost : costs)
            if (cost.*of) sum += *(cost.*of), ++count;
        out[name] = count > 0 ? number(sum / static_cast<double>(count)) : nullptr;
    }
    out["views"] = table_json(
        table_of<ViewCost>(std::span(costs), {{"name", "", nullptr, &ViewCost::name},
                                              {"psnr_between", "", nullptr, &ViewCost::between},
                                              {"psnr_source", "", nullptr, &ViewCost::source},
                                              {"psnr_result", "", nullptr, &ViewCost::result}}));
    const auto worst = std::ranges::min_element(costs, {}, &ViewCost::between);
    fmt::print(
        "  verified from {} views: {:.2f} dB against the source's pictures (worst {:.2f} dB, {})\n",
        costs.size(), out["psnr_between"].get<double>(), *worst->between, worst->name);
    if (!out["psnr_source"].is_null())
        say("  against the photos: {psnr_result:.2f} dB, {psnr_source:.2f} dB of the source", out);
    return out;
}

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
    auto scene = read_any_splats(from, {.lod = lod, .progress = told_by(line), .crop = crop});
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
