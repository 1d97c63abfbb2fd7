#include "app/session/parts/exporter.h"

#include "app/backend/write_scene.h"
#include "app/session/parts/lapse_state.h"
#include "base/format.h"
#include "base/record/scope.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/crop.h"
#include "renderer/scene/trained_through.h"
#include "trainer/run/lapse_video.h"

namespace gs {

void Exporter::splats(const std::string& path, const std::optional<ClipBox>& crop) {
    if (!ctx_.scene) return ctx_.events.error("nothing to export: open a scene first");
    std::shared_ptr<const GaussianModel> model = ctx_.scene->model;
    if (ctx_.scene->trainer)
        model = std::make_shared<const GaussianModel>(ctx_.scene->trainer->model());
    if (crop) model = std::make_shared<const GaussianModel>(cropped(*model, *crop));
    if (model->count == 0) return ctx_.events.error("nothing to export: the clip box is empty");
    write(std::move(model), path, !crop);
}

void Exporter::selection(const std::string& path) {
    if (const auto model = the<Editor>().selected_model()) write(model, path, false);
}

/// `whole`: all of the open scene, so that it counts as saved.
void Exporter::write(std::shared_ptr<const GaussianModel> model, const std::string& path,
                     bool whole) {
    if (ctx_.scene)
        if (const std::string problem = why_not_whole(*ctx_.scene); !problem.empty())
            return ctx_.events.error("cannot export: " + problem);
    if (const TaskProgress* running = ctx_.jobs.progress_of("export"))
        return ctx_.events.error(running->what + " is in progress: one export at a time");
    const std::uint64_t command = ctx_.events.command;
    const TrainedThrough trained = ctx_.scene ? ctx_.scene->trained_through() : TrainedThrough();
    ctx_.jobs.start<SplatNotes>(
        {.name = "export", .what = "writing " + path, .command = command, .writes = true},
        [model, path, trained](const Progress& progress) -> Result<SplatNotes> {
            const Span span(Stage::export_splats);
            SplatWriteOptions options;
            options.progress = [&](std::string_view, std::size_t done, std::size_t total) {
                return progress("writing " + path, done, total);
            };
            options.trained = trained;
            return write_scene(path, *model, options);
        },
        [this, path, model, command, whole, trained](SplatNotes notes) {
            if (whole && ctx_.scene && ctx_.scene->model == model) {
                the<Editor>().exported();
                the<SceneDoctor>().exported();
            }
            for (std::string& warning : drawn_otherwise(trained, model->antialiased))
                notes.push_back(std::move(warning));
            ctx_.events.done(fmt::format("exported {} Gaussians to {} ({})",
                                         format_count(static_cast<double>(model->count)), path,
                                         format_bytes(static_cast<double>(splat_bytes(path)))),
                             true, std::move(notes), command);
        },
        [this, command](const Error& error) { ctx_.events.error(error.text(), command); });
}

void Exporter::poses(const std::string& folder, CameraFormat format) {
    if (!ctx_.scene || !ctx_.scene->capture)
        return ctx_.events.error("no poses to export: open a capture first");
    const std::shared_ptr<const Capture> capture = ctx_.scene->capture;
    std::vector<Camera> cameras;
    for (std::size_t v = 0; v < capture->views.size(); ++v)
        cameras.push_back(ctx_.scene->trainer ? ctx_.scene->trainer->camera_of(v)
                                              : capture->views[v].camera);
    const std::uint64_t command = ctx_.events.command;
    const std::size_t count = cameras.size();
    ctx_.jobs.start<std::vector<std::string>>(
        {.name = "poses", .what = "writing " + folder, .command = command, .writes = true},
        [capture, cameras = std::move(cameras), folder, format](const Progress&) {
            return write_cameras(folder, format, *capture, cameras);
        },
        [this, folder, count, command](std::vector<std::string> notes) {
            ctx_.events.done(fmt::format("exported the cameras of {} photos to {}", count, folder),
                             true, std::move(notes), command);
        },
        [this, command](const Error& error) { ctx_.events.error(error.text(), command); });
}

void Exporter::time_lapse(const std::string& path, const std::string& view, double fps) {
    if (!ctx_.scene) return ctx_.events.error("no time lapse: open a run first");
    if (const TaskProgress* running = ctx_.jobs.progress_of("time lapse"))
        return ctx_.events.error(running->what + " is in progress: one time-lapse video at a time");
    const std::uint64_t command = ctx_.events.command;
    VideoOptions options{.fps = fps};
    ctx_.jobs.start<LapseVideo>(
        {.name = "time lapse", .what = "writing " + path, .command = command, .writes = true},
        [views = lapse_views(*ctx_.scene), view, path, options](const Progress& progress) {
            return write_lapse_video(views, view, path, options, progress);
        },
        [this, path, fps, command](LapseVideo video) {
            ctx_.events.done(
                fmt::format("{}: {} pictures of {}, {:.1f} s ({})", path, video.pictures,
                            video.view, static_cast<double>(video.pictures) / fps, video.encoder),
                true, std::move(video.skipped), command);
        },
        ctx_.events.if_failed("the time lapse's video was cancelled"));
}

}  // namespace gs
