#include "app/session/loading.h"

#include <chrono>
#include <optional>

#include "app/bundle/bundle_file.h"
#include "app/sample/sample_capture.h"
#include "app/session/levels.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/checkpoint.h"
#include "trainer/init.h"
#include "trainer/run_folder.h"
#include "trainer/step_file.h"
#include "trainer/step_notes.h"

namespace gs {
namespace {

/// So that a damaged splat file is reported by its reader, with the place.
bool has_splat_extension(const fs::path& path) {
    for (const SplatFormat& format : splat_formats())
        for (const std::string& extension : format.extensions)
            if (path.extension() == extension) return true;
    return false;
}

std::string name_of_path(const std::string& path) {
    fs::path p(path);
    if (!p.has_filename()) p = p.parent_path();
    return p.filename().string();
}

Result<std::unique_ptr<TrainingBackend>> training_of(const SessionOptions& options) {
    if (options.make_training) return options.make_training();
    auto rasterizer = options.make_rasterizer();
    if (!rasterizer) return tl::unexpected<Error>(rasterizer.error());
    return make_cpu_training(std::move(*rasterizer));
}

/// The requested folder; a resumed run keeps its own; empty: a new folder. If it turns out to have
/// another run, a new folder is used.
fs::path folder_for(const SessionOptions& options, const fs::path& checkpoint) {
    if (!options.output_dir.empty()) return options.output_dir;
    return checkpoint.empty() ? fs::path() : folder_of_checkpoint(checkpoint);
}

void begin_run(LoadedScene& scene, std::unique_ptr<Trainer> trainer, const SessionOptions& options,
               const CaptureOptions& loading, const OpenRequest& from) {
    RunOptions run = options.run;
    const bool resumes = !from.capture.empty();
    run.capture = resumes ? from.capture : from.path;
    run.resumed_from = resumes ? from.path : "";
    run.folder = folder_for(options, run.resumed_from);
    const fs::path asked = options.output_dir;
    if (!asked.empty())
        run.runs = (asked.has_filename() ? asked : asked.parent_path()).parent_path();
    run.elsewhere = true;
    run.overwrite = from.overwrite;
    run.loading = loading;
    run.loading.progress = {};
    run.backend = options.backend.empty() ? trainer->rasterizer().name() : options.backend;
    scene.run = std::make_unique<Run>(std::move(trainer), std::move(run));
    scene.trainer = &scene.run->trainer();
}

/// A checkpoint with its capture and loading options: from the request, else from the run's files.
Result<OpenRequest> with_capture(OpenRequest request, CaptureOptions& loading) {
    const auto run = read_run_description(fs::path(request.path).parent_path());
    if (run) loading = run->loading_here(loading);
    if (const auto head = read_checkpoint_head(request.path)) loading.origin = head->origin;
    if (!request.capture.empty()) return request;
    if (!run)
        return fail(ErrorKind::usage, request.path, "a checkpoint needs its capture to resume",
                    "open the capture first, or run: open CHECKPOINT CAPTURE");
    std::error_code error;
    if (!fs::exists(run->capture, error))
        return fail(ErrorKind::not_found, run->capture, "the photos of this run no longer exist",
                    fmt::format("give their new path: open {} CAPTURE", request.path));
    request.capture = run->capture;
    return request;
}

Result<LoadedScene> load_training_scene(const OpenRequest& request, const SessionOptions& options,
                                        CaptureOptions capture_options) {
    auto capture = load_capture(request.path, capture_options);
    if (!capture) return tl::unexpected<Error>(capture.error());
    LoadedScene scene;
    scene.capture = std::make_shared<const Capture>(std::move(*capture));
    scene.name = scene.capture->name;
    scene.format = scene.capture->format;
    scene.notes = texts_of(scene.capture->notes);
    const Span span(Stage::init);
    auto backend = training_of(options);
    if (!backend) return tl::unexpected<Error>(backend.error());
    auto trainer = Trainer::create(scene.capture, options.settings, std::move(*backend));
    if (!trainer) return tl::unexpected<Error>(trainer.error());
    begin_run(scene, std::move(*trainer), options, capture_options,
              {.path = request.path, .overwrite = request.overwrite});
    return scene;
}

Result<LoadedScene> load_checkpoint_scene(const OpenRequest& asked, const SessionOptions& options,
                                          CaptureOptions capture_options) {
    GS_TRY(const OpenRequest request, with_capture(asked, capture_options));
    auto capture = load_capture(request.capture, capture_options);
    if (!capture) return tl::unexpected<Error>(capture.error());
    LoadedScene scene;
    scene.capture = std::make_shared<const Capture>(std::move(*capture));
    scene.name = scene.capture->name;
    scene.format = scene.capture->format + ", from a checkpoint";
    scene.notes = texts_of(scene.capture->notes);
    auto backend = training_of(options);
    if (!backend) return tl::unexpected<Error>(backend.error());
    auto trainer = Trainer::resume(request.path, scene.capture, std::move(*backend));
    if (!trainer) return tl::unexpected<Error>(trainer.error());
    TrainingSettings settings = (*trainer)->settings();
    GS_TRY_VOID(change_settings(settings, request.settings));
    GS_TRY_VOID((*trainer)->set_settings(settings));
    begin_run(scene, std::move(*trainer), options, capture_options,
              {.path = request.path, .capture = request.capture, .overwrite = request.overwrite});
    return scene;
}

std::shared_ptr<const GaussianModel> share(GaussianModel model) {
    return std::make_shared<const GaussianModel>(std::move(model));
}

Result<LoadedScene> load_splat_file(const OpenRequest& request, const SessionOptions& options,
                                    const Progress& progress) {
    auto file = read_splats(request.path, progress);
    if (!file) return tl::unexpected<Error>(file.error());
    LoadedScene scene;
    scene.name = name_of_path(request.path);
    scene.format = file->format;
    scene.notes = file->notes;
    scene.trained = file->trained;
    if (request.origin) meet_origin(file->model, *request.origin);
    if (auto shown = show_model(scene, share(std::move(file->model)), options); !shown)
        return tl::unexpected<Error>(shown.error());
    return scene;
}

/// A streamed set: its coarsest level, at first.
Result<LoadedScene> load_level_scene(const OpenRequest& request, const fs::path& meta,
                                     const SessionOptions& options, const Progress& progress) {
    auto set = read_level_set(meta);
    if (!set) return tl::unexpected<Error>(set.error());
    auto gathered = gather_levels(*set, coarsest_levels(*set), {}, progress);
    if (!gathered) return tl::unexpected<Error>(gathered.error());
    LoadedScene scene;
    scene.name = name_of_path(request.path);
    // A file that every set has names none.
    if (scene.name == meta.filename())
        scene.name = name_of_path(meta.parent_path().string()) + "/" + scene.name;
    scene.format = fmt::format("streamed SOG, {} levels", set->levels);
    scene.levels = std::make_shared<const LevelSet>(std::move(*set));
    scene.level_runs = std::move(gathered->runs);
    if (auto shown = show_model(scene, share(std::move(gathered->model)), options); !shown)
        return tl::unexpected<Error>(shown.error());
    return scene;
}

Result<LoadedScene> load_splat_scene(const OpenRequest& request, const SessionOptions& options,
                                     CaptureOptions capture_options) {
    const auto levels = request.beside ? std::nullopt : level_set_at(request.path);
    auto scene = levels ? load_level_scene(request, *levels, options, capture_options.progress)
                        : load_splat_file(request, options, capture_options.progress);
    if (scene && !request.capture.empty()) {
        capture_options.origin = scene->model->origin;
        auto capture = load_capture(request.capture, capture_options);
        if (!capture) return tl::unexpected<Error>(capture.error());
        scene->capture = std::make_shared<const Capture>(std::move(*capture));
    }
    return scene;
}

/// The splats of a bundle, with its cameras, and with its photos where it has them.
Result<LoadedScene> load_bundle(const OpenRequest& request, const SessionOptions& options,
                                CaptureOptions capture_options) {
    GS_TRY(const auto bundle, unpack_bundle(request.path, capture_options.progress));
    OpenRequest inside = request;
    inside.path = bundle->member(member_name::kScene).string();
    if (inside.capture.empty() && !request.beside) {
        inside.capture = bundle->member(member_name::kCapture).string();
        // As packed: do not shrink or hold out photos again.
        CaptureOptions as_packed;
        as_packed.photos = bundle->facts.photos;
        as_packed.undistort = false;
        as_packed.threads = capture_options.threads;
        as_packed.progress = capture_options.progress;
        capture_options = std::move(as_packed);
    }
    std::vector<std::string> notes = bundle->notes;
    if (!inside.capture.empty() && !is_capture(inside.capture)) {
        notes.push_back("its cameras cannot be read and are skipped");
        inside.capture.clear();
    }
    GS_TRY(auto scene, load_splat_scene(inside, options, std::move(capture_options)));
    scene.bundle = bundle;
    scene.sh_degree = bundle->facts.sh_degree;
    if (!bundle->facts.name.empty()) scene.name = bundle->facts.name;
    scene.format = "bundle";
    if (bundle->facts.step > 0) scene.format += fmt::format(" of step {}", bundle->facts.step);
    scene.notes.insert(scene.notes.begin(), notes.begin(), notes.end());
    return scene;
}

Result<LoadedScene> load_checkpoint_model(const OpenRequest& request,
                                          const SessionOptions& options) {
    const std::string& path = request.path;
    auto checkpoint = read_checkpoint_model(path);
    if (!checkpoint) return tl::unexpected<Error>(checkpoint.error());
    LoadedScene scene;
    scene.name = name_of_path(path);
    scene.format = fmt::format("checkpoint of step {}", checkpoint->steps);
    scene.sh_degree = checkpoint->sh_degree;
    scene.trained.unscented = checkpoint->unscented;
    if (request.origin) set_origin(checkpoint->model, *request.origin);
    if (auto shown = show_model(scene, share(std::move(checkpoint->model)), options); !shown)
        return tl::unexpected<Error>(shown.error());
    return scene;
}

/// A captured step: the Gaussians that its view shows as the step read them, the one photo, and as
/// another the picture that the step drew.
Result<LoadedScene> load_step(const std::string& path, const SessionOptions& options) {
    GS_TRY(CapturedStep step, read_step(path));
    std::vector<std::string> notes = step_notes(step);
    StepInputs& in = step.inputs;
    Capture capture;
    capture.name = step.origin.capture;
    capture.path = path;
    capture.format = "captured step";
    capture.views.push_back({.name = step.origin.view,
                             .camera = in.camera,
                             .photo = std::move(in.photo),
                             .mask = std::move(in.mask)});
    capture.views.push_back({.name = step.origin.view + ", as the step drew it",
                             .camera = in.camera,
                             .photo = to_bytes(step.outputs.color),
                             .mask = {}});
    LoadedScene scene;
    scene.name = name_of_path(path);
    scene.format = fmt::format("captured step {} of {}", in.step + 1, step.origin.capture);
    scene.notes = std::move(notes);
    scene.sh_degree = in.options.sh_degree;
    scene.trained.unscented = in.options.projection == ProjectionMethod::ut;
    scene.capture = std::make_shared<const Capture>(std::move(capture));
    GS_TRY_VOID(show_model(scene, share(std::move(in.model)), options));
    scene.near_plane = in.options.near_plane;
    return scene;
}

/// A finished model to draw beside the open scene.
Result<LoadedScene> load_beside(const OpenRequest& request, const SessionOptions& options,
                                const CaptureOptions& capture_options) {
    const auto result = run_in(request.path);
    OpenRequest one = request;
    if (result) one.path = result->model().string();
    const auto kind = kind_of_path(one.path);
    if (!kind) return tl::unexpected<Error>(kind.error());
    if (*kind == PathKind::bundle) return load_bundle(one, options, capture_options);
    if (*kind == PathKind::capture)
        return fail(ErrorKind::unsupported, request.path, "a capture has no splats to compare with",
                    "give a splat file, a checkpoint, or the folder of a training run");
    auto scene = *kind == PathKind::checkpoint ? load_checkpoint_model(one, options)
                 : *kind == PathKind::step     ? load_step(one.path, options)
                                               : load_splat_scene(one, options, capture_options);
    if (scene && result) scene->name = name_of_path(request.path) + "/" + scene->name;
    return scene;
}

/// Loads a run's folder: resumes the run, or shows its splats with their photos.
Result<LoadedScene> load_run(OpenRequest request, const SessionOptions& options,
                             CaptureOptions capture_options) {
    const RunContents run = *run_in(request.path);
    request.path = run.model().string();
    if (!run.checkpoint.empty())
        return load_checkpoint_scene(request, options, std::move(capture_options));
    if (auto with = with_capture(request, capture_options)) request = std::move(*with);
    return load_splat_scene(request, options, std::move(capture_options));
}

Result<LoadedScene> load_any(const OpenRequest& request, const SessionOptions& options,
                             const Progress& progress) {
    if (request.make_sample && !is_capture(request.path)) {
        SampleOptions sample;
        sample.progress = progress;
        if (auto made = write_sample_capture(request.path, sample); !made)
            return tl::unexpected<Error>(made.error());
    }
    CaptureOptions capture_options = options.capture;
    capture_options.progress = progress;
    if (request.beside) return load_beside(request, options, capture_options);
    const auto kind = kind_of_path(request.path);
    if (!kind) return tl::unexpected<Error>(kind.error());
    switch (*kind) {
        case PathKind::capture:
            return load_training_scene(request, options, std::move(capture_options));
        case PathKind::checkpoint:
            return load_checkpoint_scene(request, options, std::move(capture_options));
        case PathKind::splats:
            return load_splat_scene(request, options, std::move(capture_options));
        case PathKind::bundle:
            return load_bundle(request, options, std::move(capture_options));
        case PathKind::run:
            return load_run(request, options, std::move(capture_options));
        case PathKind::step:
            return load_step(request.path, options);
    }
    return fail(ErrorKind::unsupported, request.path, "unknown kind of file");
}

}  // namespace

Result<void> show_model(LoadedScene& scene, std::shared_ptr<const GaussianModel> model,
                        const SessionOptions& options) {
    scene.model = std::move(model);
    compute_bounds(*scene.model, scene.bounds);
    auto rasterizer = options.make_rasterizer();
    if (!rasterizer) return tl::unexpected<Error>(rasterizer.error());
    scene.rasterizer = std::move(*rasterizer);
    scene.state = scene.rasterizer->make_state();
    scene.source = scene.rasterizer->source_of(*scene.model, scene.bounds.span());
    scene.near_plane = scene.capture
                           ? near_plane_for(static_cast<double>(scene_extent_of(*scene.capture)))
                           : near_plane_of(*scene.model);
    return {};
}

Result<LoadedScene> load_scene(const OpenRequest& request, const SessionOptions& given,
                               const Progress& progress) {
    const Span span(Stage::load);
    const auto begin = std::chrono::steady_clock::now();
    SessionOptions options = given;
    if (request.as) {
        options.capture = request.as->loading;
        options.settings = request.as->settings;
        options.output_dir = request.as->output_dir;
    }
    auto scene = load_any(request, options, progress);
    if (scene) {
        scene->path = request.path;
        scene->seconds = seconds_since(begin);
        if (scene->run) scene->run->options().load_seconds = scene->seconds;
    } else if (scene.error().path.empty()) {
        scene.error().path = request.path;
    }
    return scene;
}

Result<PathKind> kind_of_path(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        return fail(ErrorKind::not_found, path, "no such file or folder");
    if (!fs::is_directory(path, ignored)) {
        if (is_bundle(path)) return PathKind::bundle;
        if (is_checkpoint(path)) return PathKind::checkpoint;
        if (is_step_file(path)) return PathKind::step;
        if (is_splat_file(path) || has_splat_extension(path)) return PathKind::splats;
    }
    if (is_capture(path)) return PathKind::capture;
    if (run_in(path)) return PathKind::run;
    if (is_splat_file(path)) return PathKind::splats;  // a folder with a SOG in it
    if (auto busy = still_training(path)) return tl::unexpected(std::move(*busy));
    return fail(ErrorKind::unsupported, path, "not a capture, splat file or run",
                fmt::format("captures contain sparse/0 (COLMAP), transforms.json, OpenSfM's "
                            "reconstruction.json or a drive; splat files are {}",
                            splat_extensions(false)));
}

bool knows_its_capture(const std::string& path) {
    const fs::path folder = run_in(path) ? fs::path(path) : fs::path(path).parent_path();
    std::error_code ignored;
    return fs::is_regular_file(folder / "run.json", ignored);
}

LoadedScene same_scene(const LoadedScene& scene) {
    LoadedScene out;
    out.name = scene.name;
    out.path = scene.path;
    out.format = scene.format;
    out.capture = scene.capture;
    out.levels = scene.levels;
    out.sh_degree = scene.sh_degree;
    out.trained = scene.trained;
    out.bundle = scene.bundle;
    out.notes = scene.notes;
    out.seconds = scene.seconds;
    return out;
}

}  // namespace gs
