#include "app/studio/studio.h"

#include <imgui.h>

#include <algorithm>
#include <utility>

#include "app/session/engine.h"
#include "app/session/parts/followed_training.h"
#include "app/window/window.h"
#include "base/format.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kIdleWait = 1.0, kScriptWait = 0.005, kTypingWait = 0.25;  // seconds
constexpr int kSettleFrames =
    3;  // ImGui needs a few frames after input until everything has its place
constexpr std::uint64_t kInputFrames = 5;  // until what a script typed has had its effect
constexpr double kTitleInterval = 0.5;     // seconds between two titles of the window
constexpr double kLongestLeap = 0.5;       // seconds of a film between two frames
constexpr double kShutdownSeconds = 120;   // the longest that saving at the end may take

}  // namespace

Studio::Studio(const StudioOptions& options, const CommandTable& table, Window& window,
               Preferences preferences)
    : options_(options),
      table_(table),
      window_(window),
      preferences_(std::move(preferences)),
      session_(options.session, [&window] { window.wake(); }),
      state_(session_),
      ui_(window, table_, preferences_, options.machine),
      traces_([&window] { window.wake(); }),
      keys_(table_, state_, ui_, preferences_, options.remember ? config_folder() : fs::path()),
      scene_({options_, table_, state_, ui_, traces_, preferences_,
              [this](const Result<void>& done) { check(done); }}),
      frames_to_draw_(kSettleFrames) {
    if (auto keys = keys_.choose({}); !keys) (void)keys_.choose(kDefaultKeys);
    state_.view = preferences_.view;
    state_.import_base = {options.session.capture,    options.settings,
                          options.session.run,        options.backend,
                          options.session.output_dir, options.session.free_device_bytes};
    state_.sample_dir = (cache_folder() / "sample").string();
}

void Studio::wait() {
    double patience = kIdleWait;
    if (script_)
        patience = kScriptWait;
    else if (ui_.wants_next_frame() || frames_to_draw_ > 0 || state_.film.playing())
        patience = 0;
    else if (ui_.typing())
        patience = kTypingWait;
    if (requests_.moving()) patience = std::min(patience, 0.03);
    // Updates from the engine alone may wait a little: the UI takes at most a fifth of a core
    // beside a training run.
    const double pause =
        std::max(1.0 / 30, 4 * ui_.last_frame_seconds()) - seconds_since(last_draw_);
    if (published_ && frames_to_draw_ == 0) patience = std::clamp(pause, 0.0, patience);
    window_.wait_events(patience);
}

bool Studio::gather() {
    published_ |= state_.take_published();
    take_events();
    take_pictures();
    if (window_.take_activity()) frames_to_draw_ = kSettleFrames;
    const double since = seconds_since(last_draw_);
    const double pause = std::max(1.0 / 30, 4 * ui_.last_frame_seconds());
    return frames_to_draw_ > 0 || ui_.wants_next_frame() || state_.film.playing() ||
           ((published_ || script_ || requests_.moving()) && since >= pause) ||
           (ui_.typing() && since > kTypingWait);
}

void Studio::take_events() {
    while (auto event = session_.out().events.try_take()) {
        if (script_) script_->take_event(*event);
        if (event->error && event->command == 1 && !options_.contents.path.empty())
            nothing_to_show();
        if (event->notice)
            state_.add_notice(event->error, event->text, event->lines, event->warning);
        published_ = true;
    }
    while (auto found = session_.out().found.try_take()) {
        check(state_.notes.take(*found));
        published_ = true;
    }
    published_ |= state_.drop_old_notices();
}

void Studio::take_pictures() {
    while (auto picture = session_.out().pictures.try_take()) {
        const PictureRequest& asked = (*picture)->asked;
        const ViewFrame& frame = *(*picture)->frame;
        const Image8 image =
            asked.overlays ? ui_.overlay_picture(frame, asked.request.settings) : frame.rgba;
        ++state_.pictures_written;
        if (auto written = write_png(asked.path, image); !written) {
            complain(state_, written.error().text());
            if (script_) script_->take_event({(*picture)->command, true, written.error().text()});
        } else {
            wrote(asked.path, fmt::format("{} x {}", image.width, image.height));
        }
    }
    // A picture that the engine refused will not come: its command is done, and pictures come
    // before that is said.
    if (state_.status.commands_done >= state_.last_sent)
        state_.pictures_written = state_.pictures_asked;
}

void Studio::wrote(const std::string& path, const std::string& more) {
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    const std::string words = (error ? path : whole.lexically_normal().string()) +
                              (more.empty() ? "" : " (" + more + ")");
    log_info("wrote {}", words);
    // Scripts get no notices: their pictures of the window would show them.
    if (!script_) state_.add_notice(false, "wrote " + words);
}

void Studio::handle_input() {
    for (const std::string& path : window_.take_dropped_files())
        table_.give(state_, "import", {path});
    if (options_.interrupted && options_.interrupted()) quit_ = true;
    if (!window_.close_requested()) return;
    window_.stay_open();
    check(quit(QuitAnswer::none));
}

void Studio::advance_script() {
    if (!script_) return;
    WindowWork& work = state_.work;
    work.reading_traces = traces_.library().reading();
    work.examining = state_.import && state_.import->working();
    work.panels = ui_.working();
    if (work.any()) work.last_frame = state_.ui_frames;
    if (!ui_.input().empty()) work.last_input = state_.ui_frames;
    work.input = work.last_input > 0 && state_.ui_frames < work.last_input + kInputFrames;
    work.any_trace = false;
    for (const TraceEntry& entry : traces_.library().entries()) {
        if (entry.own) continue;
        work.any_trace |= entry.store != nullptr;
        work.trace_problem = entry.problem;
    }
    auto ended = script_->advance(state_);
    if (ended && !*ended) return;
    if (!ended) {
        complain(state_, ended.error().text());
        exit_code_ = 1;
    }
    script_.reset();
    if (options_.headless || exit_code_ != 0) quit_ = true;
}

void Studio::check(const Result<void>& done) {
    if (done) return;
    complain(state_, done.error().text());
    if (script_) exit_code_ = 1, quit_ = true;
}

void Studio::nothing_to_show() {
    if (options_.headless && !script_) exit_code_ = 2, quit_ = true;
}

Result<void> Studio::quit(QuitAnswer answer) {
    frames_to_draw_ = kSettleFrames;
    return answer == QuitAnswer::none ? leave({}) : leaving_.answer(answer);
}

Result<void> leave_scene(StudioState& state, EngineJob job) {
    if (!state.would_lose() && !state.training.unsaved && state.being_written(false).empty())
        return send(state, std::move(job));
    return ask(state, [job = std::move(job)](Studio& s) { return s.leave(job); });
}

Result<void> Studio::leave(EngineJob job) {
    frames_to_draw_ = kSettleFrames;
    return leaving_.begin(std::move(job), script_.has_value());
}

Result<void> Studio::import(PathContents contents) {
    ImportBase base = state_.import_base;
    // The start options are those of the capture that they name.
    const std::string& named = options_.contents.path;
    if (!named.empty() && named != contents.path) base.loading = {};
    // Settings made before anything was open apply to the scene opened now.
    if (!state_.scene && state_.settings)
        for (const SettingRow& row : *state_.settings)
            if (row.value != row.usual) {
                std::erase_if(base.settings, [&](const auto& s) { return s.first == row.name; });
                base.settings.emplace_back(row.name, row.value);
            }
    state_.end_import();
    state_.import =
        std::make_unique<Import>(std::move(contents), std::move(base), [this] { window_.wake(); });
    frames_to_draw_ = kSettleFrames;
    return {};
}

Result<void> Studio::open_trace(const std::string& path) {
    traces_.library().open(path);
    remember_path(preferences_.recent, path);
    return ui_.show_panel("Timeline", false);
}

Result<void> attach_to_process(Studio& studio, std::uint32_t pid, int stacks_hz) {
    const bool trains = service::TrainerLink::exists(pid);
    if (trains)
        GS_TRY_VOID(leave_scene(studio.state(),
                                [pid](Engine& e) { e.part<FollowedTraining>().follow(pid); }));
    const auto attached = studio.traces().library().attach(pid, stacks_hz);
    return trains ? Result<void>() : attached;
}

void Studio::carry_out_ui_actions() {
    std::deque<UiAction> actions = std::exchange(state_.ui_actions, {});
    for (UiAction& action : actions) {
        if (action.frames_before-- > 0)
            state_.ui_actions.push_back(std::move(action));
        else
            check(action.run(*this));
    }
    if (!actions.empty()) frames_to_draw_ = kSettleFrames;
}

/// Unsaved training is saved by the engine on closing; the window stays responsive only to the
/// system until then.
void Studio::save_and_close() {
    const std::uint64_t serial = session_.send([](Engine& e) { e.close(); });
    const Clock::time_point begin = Clock::now();
    while (serial != 0 && state_.status.commands_done < serial &&
           seconds_since(begin) < kShutdownSeconds) {
        window_.wait_events(0.02);
        gather();
    }
    if (auto saved = traces_.finish(options_.trace); !saved) {
        complain(state_, saved.error().text());
        exit_code_ = exit_code_ ? exit_code_ : 1;
    }
    scene_.leave();
    preferences_.view = state_.view;
    preferences_.folders = ui_.workspace().file_dialog.folders;
    // Files opened by scripts do not count as recent.
    if (options_.remember && !options_.headless) write_preferences(config_folder(), preferences_);
}

void Studio::open_start_paths() {
    const auto open = [&](OpenRequest request) {
        state_.last_sent =
            session_.send([request = std::move(request)](Engine& e) { e.open(request); });
    };
    if (!options_.contents.path.empty())
        open({.contents = options_.contents,
              .capture = find_capture(options_.capture),
              .train = options_.train,
              .overwrite = options_.overwrite,
              .settings = options_.settings});
    if (!options_.compare.empty()) open({.contents = {.path = options_.compare}, .beside = true});
    for (const std::string& path : options_.traces) check(open_trace(path));
    bool trains = false;
    for (const std::uint32_t pid : options_.attach) {
        trains |= service::TrainerLink::exists(pid);
        if (const auto attached = attach_to_process(*this, pid, options_.stacks_hz); !attached) {
            check(attached);
            nothing_to_show();
        }
    }
    if (trains || !options_.contents.path.empty() ||
        (options_.traces.empty() && options_.attach.empty()))
        return;
    scene_.show_for_traces();
}

void Studio::scale_interface(std::optional<double> factor) {
    preferences_.interface_scale =
        factor ? std::clamp(preferences_.interface_scale * *factor, 0.5, 3.0) : 1.0;
    frames_to_draw_ = kSettleFrames;
}

std::string window_title(const StudioState& state) {
    if (!state.scene) return "gausscope";
    std::string title = state.scene->name;
    if (const fs::path folder = state.status.run_folder; !folder.empty()) {
        std::string run = folder.filename().string();
        if (run.starts_with(title + "-")) run.erase(0, title.size() + 1);
        title += fmt::format(" · run {} · step {}", run,
                             format_count(static_cast<double>(state.training.step)));
    }
    return title + " - gausscope";
}

void Studio::draw_frame() {
    const Span span(Stage::ui, state_.ui_frames);
    published_ = false;
    if (state_.film.playing())
        look_from(state_, state_.film.advance(std::min(seconds_since(last_draw_), kLongestLeap)));
    last_draw_ = Clock::now();
    if (frames_to_draw_ > 0) --frames_to_draw_;
    if (scene_.follow()) requests_.forget();
    keys_.follow(window_.key_layout());
    ui_.frame(state_, traces_.own(), traces_.library(), preferences_.recent, keys_.layout(),
              [this](const KeyPress& key) { return keys_.take(key); });
    ++state_.ui_frames;
    carry_out_ui_actions();
    advance_script();
    requests_.ask_sheet(session_, ui_.wanted_sheet());
    requests_.follow(state_, script_ || ui_.viewport_visible(), script_.has_value());
    const bool steps = state_.training.state == RunState::training;
    if (steps && seconds_since(last_title_) < kTitleInterval) return;
    last_title_ = Clock::now();
    window_.set_title(window_title(state_));
}

int Studio::run(std::optional<std::vector<ScriptLine>> script) {
    if (script) script_.emplace(std::move(*script), options_.script, table_);
    open_start_paths();
    log_info("{}", window_.description());
    while (!quit_) {
        wait();
        traces_.drain();
        published_ |= traces_.library().update();
        if (traces_.library().take_failure()) nothing_to_show();
        for (const std::string& name : traces_.library().take_ended()) {
            state_.add_notice(false, name + " has ended",
                              {"Its recording is still open; save it with trace.save."});
            published_ = true;
        }
        const bool draw = gather();
        handle_input();
        check(leaving_.advance());
        quit_ |= leaving_.quits();
        const bool hidden = window_.minimized();
        if (hidden) requests_.follow(state_, script_.has_value(), script_.has_value());
        if (draw && !hidden) draw_frame();
    }
    save_and_close();
    return exit_code_;
}

}  // namespace gs
