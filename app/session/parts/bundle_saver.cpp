#include "app/session/parts/bundle_saver.h"

#include <fmt/format.h>

#include "app/bundle/capture_file.h"
#include "base/format.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"

namespace gs {
namespace {

/// Everything that the work beside training needs of the scene.
struct BundleScene {
    std::shared_ptr<const GaussianModel> model;
    std::shared_ptr<const Capture> capture;
    Image8 picture;
    BundleFacts facts;
    TrainedThrough trained;
};

Result<void> write_parts(BundleRequest& request, const BundleScene& scene,
                         const Progress& progress) {
    const fs::path& folder = request.folder->path();
    SplatWriteOptions options;
    options.progress = [&](std::string_view, std::size_t done, std::size_t total) {
        return progress("packing the scene", done, total);
    };
    options.trained = scene.trained;
    GS_TRY_VOID(write_splats(folder / member_name::kScene, *scene.model, options));
    if (scene.capture) {
        GS_TRY_VOID(write_capture(folder / member_name::kCapture, *scene.capture, request.photos,
                                  progress));
    }
    const fs::path picture = folder / member_name::kPicture;
    GS_TRY_VOID(write_png(picture, scene.picture));
    GS_TRY(auto shown, report_picture("The viewport", picture));
    request.report.pictures.insert(request.report.pictures.begin(), std::move(shown));
    return write_text_file(folder / member_name::kReport, report_html(request.report));
}

}  // namespace

void BundleSaver::save(BundleRequest given, const Shown& shown) {
    if (const TaskProgress* running = ctx_.jobs.progress_of("bundle"))
        return ctx_.events.error(running->what + " is in progress: one bundle at a time");
    const LoadedScene& open = shown.scene;
    if (const std::string problem = why_not_whole(open); !problem.empty())
        return ctx_.events.error("cannot make a bundle: " + problem);
    auto scene = std::make_shared<BundleScene>();
    scene->picture = the<Viewer>().picture(shown, given.view)->rgba;
    scene->model =
        open.trainer ? std::make_shared<const GaussianModel>(open.trainer->model()) : open.model;
    scene->capture = open.capture;
    scene->trained = open.trained_through();
    scene->facts.name = open.name;
    scene->facts.made = given.report.made;
    scene->facts.backend =
        open.trainer ? open.trainer->rasterizer().name() : open.rasterizer->name();
    scene->facts.sh_degree = render_options(open, ViewSettings()).sh_degree;
    scene->facts.step = open.bundle ? open.bundle->facts.step : open.steps_done();
    scene->facts.photos = given.photos && open.capture;
    const std::uint64_t command = ctx_.events.command;
    const std::string path = given.path;
    auto request = std::make_shared<BundleRequest>(std::move(given));
    ctx_.jobs.start<std::uint64_t>(
        {.name = "bundle", .what = "packing " + path, .command = command, .writes = true},
        [request, scene](const Progress& progress) -> Result<std::uint64_t> {
            const Span span(Stage::export_splats);
            GS_TRY_VOID(write_parts(*request, *scene, progress));
            GS_TRY_VOID(
                write_bundle(request->path, request->folder->path(), scene->facts, progress));
            std::error_code ignored;
            return fs::file_size(request->path, ignored);
        },
        [this, path, command, model = scene->model](std::uint64_t bytes) {
            if (ctx_.scene && ctx_.scene->model == model) {
                the<Editor>().exported();
                the<SceneDoctor>().exported();
            }
            ctx_.events.done(
                fmt::format("saved {} ({})", path, format_bytes(static_cast<double>(bytes))), true,
                {}, command);
        },
        ctx_.events.if_failed("saving " + path + " was cancelled"));
}

}  // namespace gs
