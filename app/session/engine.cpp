#include "app/session/engine.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "app/session/fast_pictures.h"
#include "app/session/scene_info.h"
#include "base/exception_words.h"
#include "base/format.h"
#include "base/log.h"
#include "base/seconds.h"
#include "renderer/raster/frame_size.h"

namespace gs {
namespace {

constexpr auto kSleep = std::chrono::milliseconds(1000),
               kShortSleep = std::chrono::milliseconds(50);    // the bell ends both
constexpr double kStatusInterval = 0.1, kSceneInterval = 4.0;  // seconds

}  // namespace

Engine::Engine(SessionOptions options, SessionInbox& in, SessionOutbox& out,
               std::function<void()> wake)
    : options_(std::move(options)),
      in_(in),
      tell_(out, std::move(wake)),
      training_(lent(), options_.settings, viewer_),
      editor_(lent(), viewer_, tint_),
      doctor_(lent(), viewer_, editor_),
      simplifier_(lent(), editor_),
      levels_(lent(), viewer_, doctor_),
      sheet_(lent(), viewer_),
      inspector_(lent(), viewer_, tint_),
      film_(lent(), viewer_, levels_),
      bundle_(lent(), viewer_, editor_, doctor_),
      exporter_(lent(), editor_, doctor_),
      places_(lent(), viewer_),
      problems_(lent(), viewer_, editor_, doctor_),
      costs_(lent(), viewer_),
      predictor_(lent(), tint_),
      values_(lent(), viewer_, tint_),
      verifier_(lent(), viewer_),
      lab_(lent()),
      drive_(lent()),
      jobs_([&in] { in.bell.put({}); }) {
    backend_ = options_.backend;
    editor_.on_whole_change = [this] { doctor_.mendings_changed(); };
    if (backend_.empty())
        if (const auto rasterizer = options_.make_rasterizer()) backend_ = (*rasterizer)->name();
}

Lent Engine::lent() {
    return {options_,
            scene_,
            jobs_,
            tell_,
            [this](LoadedScene scene) { replace_model(std::move(scene)); },
            [this] {
                tell_.changed().marked = nullptr;
                doctor_.forget_rows();
                viewer_.forget_model();
                costs_.begin();
                predictor_.forget();
                values_.begin();
                sheet_.forget_model();
                inspector_.model_changed();
                problems_.forget();
                drive_.model_changed();
                publish_scene();
            },
            [this] { editor_.begin(); }};
}

void Engine::run(const std::atomic<bool>& stop) {
    while (!stop) {
        bool busy = false;
        try {
            busy = turn();
        } catch (const std::exception&
                     error) {  // a device that failed or memory that ran out: the model is kept
            stop_after_exception(error);
        }
        if (!busy && !stop)
            in_.bell.take_within(tell_.status.changed || training_.something_to_publish() ||
                                         drive_.playing()
                                     ? kShortSleep
                                     : kSleep);
    }
}

bool Engine::turn() {
    bool busy = take_commands();
    if (const Jobs::News news = jobs_.follow(); news != Jobs::News::none) {
        busy = tell_.status.changed = true;
        if (news == Jobs::News::results || seconds_since(tell_.status.last) > 0.02)
            tell_.status.at_once();
    }
    lab_.follow();
    drive_.follow(training_.running());
    busy |= training_.work();
    editor_.follow_rows();
    if (scene_ && viewer_.looks()) values_.follow_rows(shown(), *viewer_.request());
    busy |= draw_when_due();
    busy |= scene_ && inspector_.answer_when_due();
    busy |= scene_ && sheet_.draw_when_due(shown());
    busy |= scene_ && film_.draw_when_due(shown());
    busy |= scene_ && problems_.work(shown());
    busy |= scene_ && costs_.measure_when_due(shown());
    busy |= publish_when_due();
    return busy;
}

bool Engine::take_commands() {
    bool any = false;
    while (auto command = in_.commands.try_take()) {
        any = true;
        tell_.command = command->serial;
        try {
            command->run(*this);
        } catch (const FrameTooLarge& error) {  // of this command; what is shown stays
            tell_.error(words_of(error));
        } catch (const std::exception& error) {
            stop_after_exception(error);
        }
        commands_done_ = command->serial;
        tell_.command = 0;
        tell_.status.at_once();
    }
    return any;
}

void Engine::open(const OpenRequest& request) {
    if (request.beside && !scene_ && !jobs_.running("load"))
        return tell_.error("nothing is open to compare with: open a capture or splats first");
    next_beside_.reset();
    // Its coordinates are to be those of what it is compared with.
    if (request.beside && jobs_.running("load")) {
        next_beside_ = request;
        return;
    }
    OpenRequest full = request;
    if (request.beside)
        full.origin = scene_->capture ? scene_->capture->origin : scene_->model->origin;
    // What is opened beside a capture belongs to it, unless another one is named or known.
    if (!request.beside && full.capture.empty() && scene_ && scene_->capture) {
        const auto kind = kind_of_path(request.path);
        const bool knows = kind && *kind != PathKind::splats && knows_its_capture(request.path);
        if (kind && *kind != PathKind::capture && *kind != PathKind::bundle && !knows)
            full.capture = scene_->capture->path;
    }
    jobs_.start<LoadedScene>(
        {request.beside ? "compare" : "load", "opening " + request.path},
        [full, options = options_](const Progress& progress) {
            return load_scene(full, options, progress);
        },
        [this, full](LoadedScene scene) {
            if (full.beside)
                adopt_beside(std::move(scene));
            else
                adopt(std::move(scene), full.train);
        },
        [this, full, command = tell_.command](const Error& error) {
            if (!full.beside) next_beside_.reset();
            if (!scene_ && !full.beside)
                training_.not_opened(error.kind == ErrorKind::cancelled ? "" : error.text());
            tell_.failed(error, "opening " + full.path + " was cancelled", command);
        });
}

/// What they give is of a scene that is closed.
void Engine::end_jobs_of_scene() {
    for (const std::string& what : jobs_.scene_gone())
        tell_.done(what + " was cancelled: its scene is closed");
}

void Engine::close() {
    if (jobs_.running("load")) tell_.done("loading was cancelled");
    jobs_.drop("load");
    training_.finish();
    end_jobs_of_scene();
    film_.forget();
    close_beside();
    doctor_.forget();
    problems_.forget();
    scene_.reset();
    levels_.begin();
    training_.begin();
    sheet_.begin();
    inspector_.clear();
    verifier_.forget();
    viewer_.forget_scene();
    tint_.forget();
    costs_.begin();
    predictor_.forget();
    values_.begin();
    info_ = {};
    editor_.begin();
    drive_.begin();
    ++scene_serial_;
    tell_.changed().scene = nullptr;
    tell_.changed().frame = nullptr;
}

void Engine::adopt(LoadedScene scene, bool train) {
    training_.finish();
    end_jobs_of_scene();
    film_.forget();
    doctor_.forget();
    problems_.forget();
    scene_.reset();  // as a whole: its parts refer to each other
    scene_.emplace(std::move(scene));
    levels_.begin();
    training_.begin();
    sheet_.begin();
    inspector_.clear();
    verifier_.forget();
    viewer_.forget_scene();
    tint_.forget();
    editor_.begin();
    costs_.begin();
    predictor_.forget();
    values_.begin();
    drive_.begin();
    ++scene_serial_;
    if (scene_->trainer && options_.backend.empty())
        backend_ = scene_->trainer->rasterizer().name();
    tell_.done(
        fmt::format("opened {} ({}) in {:.2f} s", scene_->name, scene_->format, scene_->seconds));
    for (const std::string& note : scene_->notes) log_info("{}: {}", scene_->name, note);
    info_ = describe_scene(*scene_);
    publish_scene();
    if (train) training_.start();
    if (!scene_->levels)
        doctor_.start(false);  // a set is examined when the first view has chosen its levels
    if (next_beside_) open(OpenRequest(*next_beside_));
}

void Engine::replace_model(LoadedScene scene) {
    scene_.reset();  // as a whole: its parts refer to each other
    scene_.emplace(std::move(scene));
    tell_.changed().marked = nullptr;
    viewer_.forget_model();
    tint_.forget();
    costs_.begin();
    predictor_.forget();
    values_.begin();
    sheet_.forget_model();
    inspector_.model_changed();
    doctor_.forget_rows();
    problems_.forget();
    drive_.model_changed();
    publish_scene();
}

void Engine::adopt_beside(LoadedScene scene) {
    beside_.emplace(std::move(scene));
    viewer_.forget_beside();
    SceneInfo info = describe_scene(*beside_);
    describe_model(*beside_->model, info);
    info.memory = {{"parameters", beside_->model->bytes(), options_.on_device},
                   {"forward state", beside_->state->bytes(), options_.on_device,
                    beside_->state->high_water()}};
    tell_.changed().other = std::make_shared<const SceneInfo>(std::move(info));
    tell_.done(fmt::format("comparing with {} ({}), opened in {:.2f} s", beside_->name,
                           beside_->format, beside_->seconds));
}

void Engine::close_beside() {
    next_beside_.reset();
    jobs_.drop("compare");
    beside_.reset();
    viewer_.forget_beside();
    tell_.changed().other = nullptr;
}

void Engine::end_compare() {
    if (!beside_ && !next_beside_ && !jobs_.running("compare"))
        return tell_.error("nothing is being compared");
    close_beside();
    tell_.done("the comparison has ended");
}

bool Engine::draw_when_due() {
    if (auto request = in_.view.take()) {
        viewer_.look(std::move(*request));
        // Told before this picture, so that who waits for both waits long enough.
        if (levels_.choose()) publish_status();
    }
    // Asked once: what values cost is drawn on the same credit as the picture they are for.
    if (!scene_ || !viewer_.due(shown())) return false;
    values_.follow(shown(), *viewer_.request());
    try {
        tell_.changed().frame = viewer_.next_picture(shown());
    } catch (const FrameTooLarge& error) {  // this one is not drawn; what is worked on goes on
        viewer_.look_away();
        tell_.error(words_of(error));
    }
    tell_.status.changed = true;
    return true;
}

Shown Engine::shown() {
    return {*scene_, beside_ ? &*beside_ : nullptr, &tint_, training_.running(),
            training_.evaluating()};
}

std::optional<Shown> Engine::open_scene() {
    if (scene_) return shown();
    tell_.error("nothing is open");
    return std::nullopt;
}

void Engine::picture(const PictureRequest& request) {
    if (!scene_) return tell_.error("nothing is open that a picture could be taken of");
    const Camera& camera = request.request.camera;
    if (camera.width < 1 || camera.height < 1 || camera.width > 16384 || camera.height > 16384)
        return tell_.error(
            fmt::format("a picture of {} x {} pixels is not possible (1 to 16384 each)",
                        camera.width, camera.height));
    if (viewer_.looks()) values_.follow(shown(), *viewer_.request());  // as the viewport shows it
    tell_.picture({tell_.command, request, viewer_.picture(shown(), request.request)});
}

void Engine::save_bundle(BundleRequest request) {
    if (!scene_) return tell_.error("nothing is open that could be saved");
    bundle_.save(std::move(request), shown());
}

void Engine::tell_of_fast(const ViewRequest& request) {
    if (scene_) tell_.done(words_of_fast(*scene_, request, options_.on_device), true);
}

void Engine::measure_limits(bool again) {
    if (!options_.limits) return tell_.error("this machine's limits cannot be measured here");
    auto limits = options_.limits(again);
    if (!limits) return tell_.error(limits.error().text());
    tell_.done("measured what " + limits->machine + " can do at most");
    tell_.changed().limits = std::move(*limits);
}

void Engine::cancel(const std::string& name) {
    bool any = jobs_.cancel(name);
    if (name.empty() || name == "film") any |= film_.cancel();
    if (name.empty() || name == "problems") any |= problems_.cancel();
    if (!any) tell_.done("nothing was going on that could be cancelled");
}

void Engine::undo() {
    const std::uint64_t edit = editor_.undo_stamp(), setting = training_.undo_stamp();
    if (edit == 0 && setting == 0)
        return tell_.error("nothing was changed that could be taken back");
    // A crop of a run is both.
    if (edit >= setting && !editor_.undo()) return;
    if (setting >= edit) training_.undo();
}

void Engine::redo() {
    // What was changed after it stands on other ground.
    const std::uint64_t newest = std::max(editor_.undo_stamp(), training_.undo_stamp());
    const auto valid = [&](std::uint64_t stamp) {
        return stamp > newest ? stamp : std::numeric_limits<std::uint64_t>::max();
    };
    const std::uint64_t edit = valid(editor_.redo_stamp()), setting = valid(training_.redo_stamp());
    if (std::min(edit, setting) == std::numeric_limits<std::uint64_t>::max())
        return tell_.error("nothing was taken back that could be made again");
    if (setting <= edit && !training_.redo()) return;
    if (edit <= setting) editor_.redo();
}

/// Of a picture, say; a step that fails is the run's own concern.
void Engine::stop_after_exception(const std::exception& error) {
    // Or the same would fail again and again.
    training_.drop_evaluation();
    viewer_.look_away();
    sheet_.want({});
    film_.forget();
    (void)problems_.cancel();
    costs_.stop();
    values_.begin();
    if (scene_) described_step_ = scene_->steps_done();
    tell_.error(words_of(error));
    tell_.status.at_once();
}

void Engine::publish_status() {
    Published& view = tell_.changed();
    EngineStatus& status = view.status;
    training_.describe(view);
    const TaskProgress* loading = jobs_.progress_of("load");
    if (!loading) loading = jobs_.progress_of("compare");
    if (loading) {
        view.training.state = RunState::loading;
        view.training.message = loading->what;
        view.training.progress = loading->share;
    }
    status.frame_cost = viewer_.frame_cost();
    // An export is done when it is written, and so is what came after it.
    status.commands_done = drive_.done(problems_.done(film_.done(jobs_.done(commands_done_))));
    view.activities = jobs_.activities();
    film_.describe(view.activities);
    if (const auto looking = problems_.activity()) view.activities.push_back(*looking);
    status.scene_serial = scene_serial_;
    status.run_folder = scene_ && scene_->run ? scene_->run->taken_folder().string() : "";
    view.backend = backend_;
    view.bundle = scene_ ? scene_->bundle : nullptr;
    tell_.status.told();
}

void Engine::describe_memory() {
    info_.memory.clear();
    if (scene_->trainer) {
        for (const MemoryUse& use : scene_->trainer->memory())
            info_.memory.push_back({use.category, use.bytes, use.device, use.peak});
        std::uint64_t snapshots = 0;
        for (const RunSnapshot& snapshot : scene_->run->snapshots()) snapshots += snapshot.bytes();
        if (snapshots > 0) info_.memory.push_back({"snapshots of the run", snapshots});
    } else {
        info_.memory = {{"parameters", scene_->model->bytes()},
                        {"forward state", scene_->state->bytes(), options_.on_device,
                         scene_->state->high_water()}};
        if (options_.on_device)
            info_.memory.push_back({"parameters", scene_->model->bytes(), true});
    }
    if (sheet_.bytes() > 0) info_.memory.push_back({"contact sheet", sheet_.bytes()});
    if (beside_)
        info_.memory.push_back({"second scene", beside_->model->bytes(), options_.on_device});
    described_sheet_ = sheet_.bytes();
    tell_.changed().scene = std::make_shared<const SceneInfo>(info_);
}

void Engine::publish_scene() {
    const Clock::time_point begin = Clock::now();
    describe_model(scene_->trainer ? scene_->trainer->model() : *scene_->model, info_);
    describe_memory();
    described_step_ = scene_->steps_done();
    describe_seconds_ = seconds_since(begin);
    last_scene_ = Clock::now();
}

bool Engine::publish_when_due() {
    bool any = training_.publish_when_due();
    // Histograms need a copy of the model; they may not take more than about a fiftieth of the
    // time.
    if (scene_ && described_step_ != scene_->steps_done() &&
        (!training_.running() ||
         seconds_since(last_scene_) > std::max(kSceneInterval, 50 * describe_seconds_))) {
        publish_scene();
        any = true;
    } else if (scene_ && sheet_.bytes() != described_sheet_ && seconds_since(last_scene_) > 1) {
        last_scene_ = Clock::now();
        describe_memory();
    }
    if (tell_.status.due(kStatusInterval)) publish_status();
    tell_.publish();
    return any;
}

}  // namespace gs
