#include "app/session/engine.h"

#include <algorithm>
#include <exception>

#include "app/session/engine_context.h"
#include "app/session/parts/bundle_saver.h"
#include "app/session/parts/contact_sheet.h"
#include "app/session/parts/costs.h"
#include "app/session/parts/drive_part.h"
#include "app/session/parts/editor.h"
#include "app/session/parts/exporter.h"
#include "app/session/parts/film_render.h"
#include "app/session/parts/followed_training.h"
#include "app/session/parts/frame_verifier.h"
#include "app/session/parts/inspector.h"
#include "app/session/parts/lab_part.h"
#include "app/session/parts/photo_problems.h"
#include "app/session/parts/place_finder.h"
#include "app/session/parts/predictor.h"
#include "app/session/parts/row_edits.h"
#include "app/session/parts/run_recording.h"
#include "app/session/parts/run_settings.h"
#include "app/session/parts/scene_doctor.h"
#include "app/session/parts/scene_info.h"
#include "app/session/parts/scene_report.h"
#include "app/session/parts/selector.h"
#include "app/session/parts/simplifier.h"
#include "app/session/parts/streamed_levels.h"
#include "app/session/parts/training.h"
#include "app/session/parts/values.h"
#include "app/session/shown_tint.h"
#include "app/session/viewer.h"
#include "base/exception_words.h"
#include "base/format.h"
#include "base/log.h"
#include "base/seconds.h"
#include "renderer/raster/frame_size.h"

namespace gs {
namespace {

constexpr auto kSleep = std::chrono::milliseconds(1000),
               kShortSleep = std::chrono::milliseconds(50);  // the bell ends both
constexpr double kStatusInterval = 0.1;                      // seconds

bool is_restless(const std::unique_ptr<EnginePart>& part) { return part->is_restless(); }

/// Publishes the status because of them. False: there is none.
bool publish_news(Jobs::News news, Paced& status) {
    if (news == Jobs::News::none) return false;
    status.changed = true;
    if (news == Jobs::News::results || seconds_since(status.last) > 0.02) status.at_once();
    return true;
}

}  // namespace

Engine::Engine(SessionOptions options, SessionInbox& in, SessionOutbox& out,
               std::function<void()> wake)
    : options_(std::move(options)),
      in_(in),
      events_(out, std::move(wake)),
      jobs_([&in] { in.bell.put({}); }) {
    parts_.push_back(std::make_unique<History>(events_));
    parts_.push_back(std::make_unique<ShownTint>());
    parts_.push_back(std::make_unique<Viewer>());
    // Each after the parts that it works with.
    add<RunProgress, FollowedTraining, Training, RunSettings, RunRecording, Editor, RowEdits,
        Selector, SceneDoctor, StreamedLevels, ContactSheet, SceneReport, Values, BundleSaver,
        Inspector, FilmRender, ProblemFinder, Costs, Simplifier, Exporter, PlaceFinder, Predictor,
        FrameVerifier, LabPart, DrivePart>();
    backend_ = options_.backend;
    part<Editor>().on_whole_change = [this] { part<SceneDoctor>().fixes_changed(); };
    if (backend_.empty())
        if (const auto rasterizer = options_.make_rasterizer()) backend_ = (*rasterizer)->name();
}

Engine::~Engine() = default;

template <class... P>
void Engine::add() {
    (parts_.push_back(P::PartWith::template make<P>(*this, context())), ...);
}

EngineContext Engine::context() {
    return {options_,
            options_.settings,
            scene_,
            beside_,
            jobs_,
            events_,
            part<History>(),
            [this](LoadedScene scene) { replace_model(std::move(scene)); },
            [this](LoadedScene scene) { adopt(std::move(scene), false); },
            [this](SceneChange change) { report(change); }};
}

void Engine::report(SceneChange change) {
    for (const auto& part : parts_) part->scene_changed(change);
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
            in_.bell.take_within(events_.status.changed || std::ranges::any_of(parts_, is_restless)
                                     ? kShortSleep
                                     : kSleep);
    }
}

bool Engine::turn() {
    bool busy = take_commands();
    busy |= publish_news(jobs_.follow(), events_.status);
    busy |= part<Training>().advance();
    {
        const std::optional<Shown> now = shown_if_open();
        for (const auto& part : parts_) part->before_picture(now ? &*now : nullptr);
    }
    busy |= draw_when_due();
    if (scene_) busy |= publish_news(jobs_.slice(shown(), part<Viewer>()), events_.status);
    busy |= publish_when_due();
    return busy;
}

bool Engine::take_commands() {
    bool any = false;
    while (auto command = in_.commands.try_take()) {
        any = true;
        events_.command = command->serial;
        try {
            command->run(*this);
        } catch (const FrameTooLarge& error) {  // of this command; what is shown stays
            events_.error(words_of(error));
        } catch (const std::exception& error) {
            stop_after_exception(error);
        }
        commands_done_ = command->serial;
        events_.command = 0;
        events_.status.at_once();
    }
    return any;
}

void Engine::open(const OpenRequest& request) {
    if (request.beside && !scene_ && !jobs_.running("load"))
        return events_.error("nothing to compare with: open a capture or splats first");
    next_beside_.reset();
    // Use the coordinates of the scene it is compared with.
    if (request.beside && jobs_.running("load")) {
        next_beside_ = request;
        return;
    }
    OpenRequest full = request;
    if (request.beside)
        full.origin = scene_->capture ? scene_->capture->origin : scene_->model->origin;
    // A second scene belongs to the open capture, unless another one is named or known.
    if (!request.beside && scene_ && scene_->capture) full.open_capture = scene_->capture->path;
    jobs_.start<LoadedScene>(
        {request.beside ? "compare" : "load", "opening " + full.contents.path},
        [full, options = options_](const Progress& progress) {
            return load_scene(full, options, progress);
        },
        [this, full](LoadedScene scene) {
            if (full.beside)
                adopt_beside(std::move(scene));
            else
                adopt(std::move(scene), full.train);
        },
        [this, full, command = events_.command](const Error& error) {
            if (!full.beside) next_beside_.reset();
            if (scene_ && !full.beside) part<Training>().prepare_to_close(Training::Closing::stay);
            if (!scene_ && !full.beside)
                part<Training>().not_opened(error.kind == ErrorKind::cancelled ? "" : error.text());
            events_.failed(error, "opening " + full.contents.path + " was cancelled", command);
        });
}

/// Results of its jobs are discarded.
void Engine::end_scene() {
    for (const std::string& what : jobs_.scene_gone())
        events_.done(what + " was cancelled: the scene is closed");
    report(SceneChange::closing);
    scene_.reset();  // as a whole: its parts refer to each other
}

void Engine::close() {
    if (jobs_.running("load")) events_.done("loading was cancelled");
    jobs_.drop("load");
    close_beside();
    end_scene();
    report(SceneChange::scene);
    events_.changed().frame = nullptr;
}

void Engine::adopt(LoadedScene scene, bool train) {
    end_scene();
    scene_.emplace(std::move(scene));
    report(SceneChange::scene);
    if (scene_->trainer && options_.backend.empty())
        backend_ = scene_->trainer->rasterizer().name();
    events_.done(
        fmt::format("opened {} ({}) in {:.2f} s", scene_->name, scene_->format, scene_->seconds));
    for (const std::string& note : scene_->notes) log_info("{}: {}", scene_->name, note);
    if (train) part<Training>().start();
    if (!scene_->levels)
        part<SceneDoctor>().start(
            false);  // a set is examined when the first view has chosen its levels
    if (next_beside_) open(OpenRequest(*next_beside_));
}

void Engine::replace_model(LoadedScene scene) {
    scene_.reset();  // as a whole: its parts refer to each other
    scene_.emplace(std::move(scene));
    report(SceneChange::model);
}

void Engine::start_training() {
    if (part<FollowedTraining>().follows()) return part<Training>().start();
    if (!scene_ || scene_->run || !scene_->capture) return part<Training>().start();
    auto further = train_further(*scene_, options_);
    if (!further) return events_.error(further.error().text());
    const std::uint64_t count = scene_->gaussian_count();
    adopt(std::move(*further), true);
    events_.done(fmt::format("training the {} Gaussians of {} further",
                             format_count(static_cast<double>(count)), scene_->name),
                 true, {"settings that would undo what they have learned were changed to fit"});
}

void Engine::adopt_beside(LoadedScene scene) {
    beside_.emplace(std::move(scene));
    part<Viewer>().forget_beside();
    SceneInfo info = describe_scene(*beside_);
    describe_model(*beside_->model, info);
    info.memory = {{"parameters", beside_->model->bytes(), options_.on_device},
                   {"forward state", beside_->state->bytes(), options_.on_device,
                    beside_->state->high_water()}};
    events_.changed().other = std::make_shared<const SceneInfo>(std::move(info));
    events_.done(fmt::format("comparing with {} ({}), opened in {:.2f} s", beside_->name,
                             beside_->format, beside_->seconds));
}

void Engine::close_beside() {
    next_beside_.reset();
    jobs_.drop("compare");
    beside_.reset();
    part<Viewer>().forget_beside();
    events_.changed().other = nullptr;
}

void Engine::end_compare() {
    if (!beside_ && !next_beside_ && !jobs_.running("compare"))
        return events_.error("no comparison to end");
    close_beside();
    events_.done("comparison ended");
}

bool Engine::draw_when_due() {
    if (auto request = in_.view.take()) {
        views_taken_ = request->serial;
        events_.status.changed = true;
        part<Viewer>().look(std::move(*request));
        // Published before this picture, so that callers waiting for both wait long enough.
        if (part<StreamedLevels>().choose()) publish_status();
    }
    // Ask once: values are computed on the same credit as their picture.
    if (!scene_ || !part<Viewer>().due(shown())) return false;
    part<Values>().follow(shown(), *part<Viewer>().request());
    try {
        events_.changed().frame = part<Viewer>().next_picture(shown());
    } catch (const FrameTooLarge& error) {  // skip this picture; other work continues
        part<Viewer>().look_away();
        events_.error(words_of(error));
    }
    events_.status.changed = true;
    return true;
}

Shown Engine::shown() {
    return {*scene_, beside_ ? &*beside_ : nullptr, &part<ShownTint>(), part<Training>().running(),
            part<Training>().evaluating()};
}

std::optional<Shown> Engine::shown_if_open() {
    return scene_ ? std::optional(shown()) : std::nullopt;
}

std::optional<Shown> Engine::open_scene() {
    if (!scene_) events_.error("no scene is open");
    return shown_if_open();
}

void Engine::picture(const PictureRequest& request) {
    if (!scene_) return events_.error("no picture to save: open a scene first");
    const Camera& camera = request.request.camera;
    if (camera.width < 1 || camera.height < 1 || camera.width > 16384 || camera.height > 16384)
        return events_.error(
            fmt::format("cannot make a picture of {} x {} pixels (1 to 16384 each)", camera.width,
                        camera.height));
    if (part<Viewer>().looks())
        part<Values>().follow(shown(), *part<Viewer>().request());  // as the viewport shows it
    events_.picture({events_.command, request, part<Viewer>().picture(shown(), request.request)});
}

void Engine::cancel(const std::string& name) {
    if (!jobs_.cancel(name)) events_.done("nothing to cancel");
}

/// Of a picture, say; a step that fails is the run's own concern.
void Engine::stop_after_exception(const std::exception& error) {
    // Or the same would fail again and again.
    jobs_.cancel_slices();
    part<Viewer>().look_away();
    part<Values>().clear();
    part<SceneReport>().skip_step();
    events_.error(words_of(error));
    events_.status.at_once();
}

void Engine::publish_status() {
    Published& view = events_.changed();
    EngineStatus& status = view.status;
    view.activities = jobs_.activities();
    status.commands_done = jobs_.done(commands_done_);
    status.carried_out = commands_done_;
    status.views_taken = views_taken_;
    for (const auto& part : parts_) part->describe(view);
    for (const char* name : {"compare", "load"})
        for (const Activity& activity : view.activities) {
            if (activity.name != name) continue;
            view.training.state = RunState::loading;
            view.training.message = activity.what;
            view.training.progress = activity.share;
        }
    status.frame_cost = part<Viewer>().frame_cost();
    status.run_folder = scene_ && scene_->run ? scene_->run->keeper().folder().string() : "";
    view.backend = backend_;
    view.bundle = scene_ ? scene_->bundle : nullptr;
    events_.status.published();
}

bool Engine::publish_when_due() {
    const bool training = part<Training>().running() || part<FollowedTraining>().running();
    bool any = part<RunProgress>().publish_when_due(training);
    any |= part<SceneReport>().publish_when_due(training);
    if (events_.status.due(kStatusInterval)) publish_status();
    events_.publish();
    return any;
}

}  // namespace gs
