#include "app/session/loading.h"

#include <chrono>

#include "app/bundle/bundle_file.h"
#include "app/sample/sample_capture.h"
#include "base/file.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/checkpoint.h"
#include "trainer/density/init.h"
#include "trainer/replay/step_notes.h"
#include "trainer/run/step_file.h"

namespace gs {
namespace {

std::string name_of_path(const std::string& path) {
    fs::path p(path);
    if (!p.has_filename()) p = p.parent_path();
    return p.filename().string();
}

/// A model of a run's folder has the name of its file.
std::string name_of_model(const OpenRequest& request) {
    const PathContents& from = request.contents;
    if (!from.run) return name_of_path(from.path);
    const std::string file = from.model().filename().string();
    return request.beside ? name_of_path(from.path) + "/" + file : file;
}

Result<std::unique_ptr<TrainingBackend>> training_of(const SessionOptions& options) {
    if (options.make_training) return options.make_training();
    GS_TRY(auto rasterizer, options.make_rasterizer());
    return make_cpu_training(std::move(rasterizer));
}

/// In the requested folder, a resumed run in its own, else in a new one; also where that turns out
/// to have another run.
void begin_run(LoadedScene& scene, std::unique_ptr<Trainer> trainer, const SessionOptions& options,
               const CaptureOptions& loading, const OpenRequest& from) {
    RunOptions run = options.run;
    run.capture = from.capture.path;
    const fs::path asked = options.output_dir;
    run.folder = asked;
    if (from.contents.kind == PathKind::checkpoint) {
        run.resumed_from = from.contents.model();
        if (asked.empty()) run.folder = from.contents.folder();
    }
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

/// Adds the capture and loading options of a checkpoint or run from its files, where the request
/// names no capture.
Result<void> add_capture(OpenRequest& request, CaptureOptions& loading) {
    const fs::path file = request.contents.model();
    const RunPhotos photos = photos_of_run(request.contents.folder(), file, loading);
    loading = photos.loading;
    if (!request.capture.path.empty()) return {};
    if (photos.capture.empty()) {
        // A damaged checkpoint is not asked for its photos.
        GS_TRY_VOID(read_checkpoint_model(file));
        return fail(ErrorKind::usage, file.string(), "a checkpoint needs its capture to resume",
                    "open the capture first, or run: open CHECKPOINT CAPTURE");
    }
    if (!path_exists(photos.capture))
        return fail(ErrorKind::not_found, photos.capture, "the photos of this run no longer exist",
                    fmt::format("give their new path: open {} CAPTURE", file.string()));
    request.capture = find_capture(photos.capture);
    return {};
}

Result<std::shared_ptr<const Capture>> shared_capture(const CaptureFiles& files,
                                                      const CaptureOptions& loading) {
    GS_TRY(Capture capture, load_capture(files, loading));
    return std::make_shared<const Capture>(std::move(capture));
}

Result<std::unique_ptr<Trainer>> new_trainer(std::shared_ptr<const Capture> capture,
                                             const SessionOptions& options) {
    const Span span(Stage::init);
    GS_TRY(auto backend, training_of(options));
    return Trainer::create(std::move(capture), options.settings, std::move(backend));
}

Result<std::unique_ptr<Trainer>> resumed_trainer(const OpenRequest& request,
                                                 std::shared_ptr<const Capture> capture,
                                                 const SessionOptions& options) {
    GS_TRY(auto backend, training_of(options));
    GS_TRY(auto trainer,
           Trainer::resume(request.contents.model(), std::move(capture), std::move(backend)));
    TrainingSettings settings = trainer->settings();
    GS_TRY_VOID(change_settings(settings, request.settings));
    GS_TRY_VOID(trainer->set_settings(settings));
    return trainer;
}

Result<LoadedScene> load_training_scene(OpenRequest request, const SessionOptions& options,
                                        CaptureOptions loading) {
    const bool resumes = request.contents.kind == PathKind::checkpoint;
    if (resumes)
        GS_TRY_VOID(add_capture(request, loading));
    else
        request.capture = request.contents.capture;
    LoadedScene scene;
    const Progress progress = loading.progress;
    GS_TRY(scene.capture, shared_capture(request.capture, loading));
    if (progress) progress("preparing the run", 0, 0);
    scene.name = scene.capture->name;
    scene.format = scene.capture->format + (resumes ? ", from a checkpoint" : "");
    scene.notes = texts_of(scene.capture->notes);
    GS_TRY(auto trainer, resumes ? resumed_trainer(request, scene.capture, options)
                                 : new_trainer(scene.capture, options));
    begin_run(scene, std::move(trainer), options, loading, request);
    return scene;
}

std::shared_ptr<const GaussianModel> share(GaussianModel model) {
    return std::make_shared<const GaussianModel>(std::move(model));
}

Result<LoadedScene> load_splat_file(const OpenRequest& request, const SplatSource& source,
                                    const SessionOptions& options, const Progress& progress) {
    GS_TRY(SplatFile file, read_splats(source, {.progress = progress}));
    LoadedScene scene{.name = name_of_model(request),
                      .format = std::move(file.format),
                      .notes = std::move(file.notes)};
    scene.trained = file.trained;
    if (request.origin) meet_origin(file.model, *request.origin);
    GS_TRY_VOID(show_model(scene, share(std::move(file.model)), options));
    return scene;
}

/// A streamed set: its coarsest level, at first.
Result<LoadedScene> load_level_scene(const std::string& path, const fs::path& meta,
                                     const SessionOptions& options, const Progress& progress) {
    GS_TRY(LevelSet set, read_level_set(meta));
    const LevelChoice coarsest = coarsest_levels(set);
    LevelStore store;
    GS_TRY_VOID(store.read_all(set, coarsest, progress));
    LoadedScene scene{.name = name_of_path(path)};
    // A file that every set has names none.
    if (scene.name == meta.filename())
        scene.name = name_of_path(meta.parent_path().string()) + "/" + scene.name;
    scene.format = fmt::format("streamed SOG, {} levels", set.levels);
    GS_TRY_VOID(show_model(scene, share(store.gather(set, coarsest, scene.level_runs)), options));
    scene.coarsest = std::make_shared<const LevelStore>(std::move(store));
    scene.levels = std::make_shared<const LevelSet>(std::move(set));
    return scene;
}

Result<LoadedScene> load_splat_scene(OpenRequest request, const SessionOptions& options,
                                     CaptureOptions loading) {
    GS_TRY(const SplatSource source, request.contents.splats);
    // The splats of a run are shown without its photos where those are gone.
    if (request.contents.run && !request.beside) (void)add_capture(request, loading);
    GS_TRY(auto scene,
           source.has_levels() && !request.beside
               ? load_level_scene(request.contents.path, source.file, options, loading.progress)
               : load_splat_file(request, source, options, loading.progress));
    if (request.capture.path.empty()) return scene;
    loading.origin = scene.model->origin;
    GS_TRY(scene.capture, shared_capture(request.capture, loading));
    scene.loading = std::move(loading);
    return scene;
}

/// The splats of a bundle, with its cameras, and with its photos where it has them.
Result<LoadedScene> load_bundle(const OpenRequest& request, const SessionOptions& options,
                                CaptureOptions capture_options) {
    GS_TRY(const auto bundle, unpack_bundle(request.contents.path, capture_options.progress));
    OpenRequest inside = request;
    inside.contents = find_contents(bundle->member(member_name::kScene));
    if (inside.capture.path.empty() && !request.beside) {
        inside.capture = find_capture(bundle->member(member_name::kCapture));
        // As packed: do not shrink or hold out photos again.
        CaptureOptions as_packed{.undistort = false,
                                 .photos = bundle->facts.photos,
                                 .threads = capture_options.threads,
                                 .progress = capture_options.progress};
        capture_options = std::move(as_packed);
    }
    std::vector<std::string> notes = bundle->notes;
    if (!inside.capture.path.empty() && !inside.capture.certain) {
        notes.push_back("its cameras cannot be read and are skipped");
        inside.capture = {};
    }
    GS_TRY(auto scene, load_splat_scene(inside, options, std::move(capture_options)));
    if (!bundle->facts.photos && scene.capture) {  // by choice: no fault of the capture
        auto cameras = std::make_shared<Capture>(*scene.capture);
        cameras->missing.clear();
        scene.capture = std::move(cameras);
        notes.emplace_back("the bundle was saved without photos");
    }
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
    GS_TRY(CheckpointModel checkpoint, read_checkpoint_model(request.contents.model()));
    LoadedScene scene{.name = name_of_model(request),
                      .format = fmt::format("checkpoint of step {}", checkpoint.steps),
                      .sh_degree = checkpoint.sh_degree};
    scene.trained.unscented = checkpoint.unscented;
    if (request.origin) set_origin(checkpoint.model, *request.origin);
    GS_TRY_VOID(show_model(scene, share(std::move(checkpoint.model)), options));
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
    LoadedScene scene{
        .name = name_of_path(path),
        .format = fmt::format("captured step {} of {}", in.step + 1, step.origin.capture),
        .notes = std::move(notes)};
    scene.sh_degree = in.options.sh_degree;
    scene.trained.unscented = in.options.projection == ProjectionMethod::ut;
    scene.capture = std::make_shared<const Capture>(std::move(capture));
    GS_TRY_VOID(show_model(scene, share(std::move(in.model)), options));
    scene.near_plane = in.options.near_plane;
    return scene;
}

Result<LoadedScene> load_any(const OpenRequest& request, const SessionOptions& options,
                             CaptureOptions loading) {
    const PathContents& from = request.contents;
    const PathKind kind = request.beside ? from.model_kind() : from.kind;
    if (kind == PathKind::capture && request.beside)
        return fail(ErrorKind::unsupported, from.path, "a capture has no splats to compare with",
                    "give a splat file, a checkpoint, or the folder of a training run");
    if (kind == PathKind::checkpoint && request.beside)
        return load_checkpoint_model(request, options);
    if (kind == PathKind::capture || kind == PathKind::checkpoint)
        return load_training_scene(request, options, std::move(loading));
    if (kind == PathKind::splats) return load_splat_scene(request, options, std::move(loading));
    if (kind == PathKind::bundle) return load_bundle(request, options, std::move(loading));
    if (kind == PathKind::step) return load_step(from.path, options);
    return tl::unexpected(from.problem);
}

/// What the request asks for; the sample capture is written where it is missing.
Result<PathContents> contents_of(const OpenRequest& request, const Progress& progress) {
    if (request.contents.kind != PathKind::unknown) return request.contents;
    PathContents found = find_contents(request.contents.path);
    if (!request.make_sample || found.kind == PathKind::capture) return found;
    GS_TRY_VOID(write_sample_capture(found.path, {.progress = progress}));
    return find_contents(found.path);
}

}  // namespace

Result<void> show_model(LoadedScene& scene, std::shared_ptr<const GaussianModel> model,
                        const SessionOptions& options) {
    scene.model = std::move(model);
    compute_bounds(*scene.model, scene.bounds);
    GS_TRY(scene.rasterizer, options.make_rasterizer());
    scene.state = scene.rasterizer->make_state();
    scene.source = scene.rasterizer->source_of(*scene.model, scene.bounds.span());
    scene.near_plane = scene.capture
                           ? near_plane_for(static_cast<double>(scene_extent_of(*scene.capture)))
                           : near_plane_of(*scene.model);
    return {};
}

Result<LoadedScene> load_scene(OpenRequest request, SessionOptions options,
                               const Progress& progress) {
    const Span span(Stage::load);
    const auto begin = std::chrono::steady_clock::now();
    if (request.as) {
        options.capture = request.as->loading;
        options.settings = request.as->settings;
        options.output_dir = request.as->output_dir;
    }
    GS_TRY(request.contents, contents_of(request, progress));
    if (request.capture.path.empty() && !request.contents.knows_capture)
        request.capture = find_capture(request.open_capture);
    CaptureOptions loading = options.capture;
    loading.progress = progress;
    const PathContents& from = request.contents;
    auto scene = load_any(request, options, std::move(loading));
    if (scene) {
        scene->path = from.path;
        scene->run_folder = from.run_folder;
        scene->seconds = seconds_since(begin);
        if (scene->run) scene->run->options().load_seconds = scene->seconds;
    } else if (scene.error().path.empty()) {
        scene.error().path = from.path;
    }
    return scene;
}

Result<LoadedScene> train_further(const LoadedScene& scene, const SessionOptions& options) {
    if (!scene.capture || scene.bundle)
        return fail(
            ErrorKind::usage, "",
            fmt::format("cannot train: {} is open without the folder of its photos", scene.name),
            "open it with its capture");
    LoadedScene out = same_scene(scene);
    out.levels = nullptr;
    GS_TRY(auto backend, training_of(options));
    GS_TRY(auto trainer,
           Trainer::create(scene.capture,
                           settings_to_continue(options.settings,
                                                changed_settings(options.settings), *scene.model),
                           std::move(backend), scene.model));
    SessionOptions own = options;
    own.output_dir.clear();
    own.run.splats = scene.path;
    OpenRequest from;
    from.capture.path = scene.capture->path;
    begin_run(out, std::move(trainer), own, scene.loading, from);
    return out;
}

std::string why_not_whole(const LoadedScene& scene) {
    if (!scene.levels) return {};
    const LevelSet& set = *scene.levels;
    std::size_t finest = 0;  // regions, which are drawn in order
    for (const LevelRun& run : scene.level_runs) {
        if (run.level == kEveryLevel) continue;
        if (finest == set.regions.size() || run.level != set.piece(set.regions[finest], 0).level)
            break;
        ++finest;
    }
    if (finest == set.regions.size()) return {};
    return "not all of the streamed set is drawn at its finest level: use gausscope convert, or "
           "draw all of it: lod.level 0, with a lod.memory that it fits into";
}

LoadedScene same_scene(const LoadedScene& scene) {
    return {.name = scene.name,
            .path = scene.path,
            .format = scene.format,
            .run_folder = scene.run_folder,
            .capture = scene.capture,
            .levels = scene.levels,
            .bundle = scene.bundle,
            .trained = scene.trained,
            .sh_degree = scene.sh_degree,
            .notes = scene.notes,
            .followed = scene.followed,
            .followed_steps = scene.followed_steps,
            .loading = scene.loading,
            .seconds = scene.seconds};
}

}  // namespace gs
