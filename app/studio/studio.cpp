#include "app/studio/studio.h"
#include "app/session/contact_sheet.h"

#include <imgui.h>

#include <algorithm>
#include <utility>

#include "app/bundle/bundle_file.h"
#include "app/session/engine.h"
#include "app/studio/same_picture.h"
#include "app/window/window.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "base/try.h"
#include "panels/state/drive_state.h"
#include "profiler/files/export_perfetto.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kIdleWait = 1.0, kScriptWait = 0.005, kTypingWait = 0.25;  // seconds
constexpr double kSettleSeconds = 0.15;  // the camera rests when it has not moved for this long
constexpr int kSettleFrames =
    3;  // ImGui needs a few frames after input until everything has its place
constexpr double kLongestLeap = 0.5;      // seconds of a film between two frames
constexpr double kShutdownSeconds = 120;  // the longest that saving at the end may take

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
      traces_(trace_, [&window] { window.wake(); }),
      frames_to_draw_(kSettleFrames) {
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
    if (sent_.moving) patience = std::min(patience, 0.03);
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
           ((published_ || script_ || sent_.moving) && since >= pause) ||
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
            complain(written.error().text());
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

void Studio::complain(const std::string& text) {
    log_error("{}", text);
    state_.add_notice(true, text);
}

void Studio::run_command(const std::string& name, const Arguments& arguments) {
    if (auto done = table_.run(state_, name, arguments); !done) complain(done.error().text());
}

/// False: none was taken.
bool Studio::put_tool_away() {
    return std::exchange(state_.tools.tool, Tool::navigate) != Tool::navigate;
}

void Studio::handle_input() {
    for (const std::string& path : window_.take_dropped_files()) run_command("import", {path});
    for (const KeyPress& key : window_.take_keys()) {
        if (state_.asks_to_quit) continue;  // the question's own keys go to it
        const CommandRow* row = table_.find_key(key.chord);
        if (!row || (key.repeat && row->name.rfind("train.", 0) == 0)) continue;
        if (ui_.takes_key(key.chord) ||
            (key.chord == "Escape" && (ui_.uncover() || put_tool_away())))
            continue;
        // A command that needs arguments is finished in the palette.
        if (row->needs_arguments())
            ui_.show_palette(row->name);
        else
            run_command(row->name, {});
    }
    if (options_.interrupted && options_.interrupted()) quit_ = true;
    if (!window_.close_requested()) return;
    window_.stay_open();
    check(quit(QuitAnswer::none));
}

/// A run is among what was used last as soon as it has a folder. What was made of the scene before
/// it trained goes there; of `another` scene, what lies there is read.
void Studio::follow_run(bool another) {
    if (state_.status.run_folder == run_seen_) return;
    run_seen_ = state_.status.run_folder;
    if (run_seen_.empty()) return;
    remember_path(preferences_.recent, run_seen_);
    if (another) return;
    state_.views_file = views_file(run_seen_, {}, {});
    if (state_.measured && !state_.measured->empty())
        check(write_measures(measures_file(state_.views_file), *state_.measured));
    if (const auto kept = state_.film.keep_in(film_file(state_.views_file)); !kept)
        complain(kept.error().text());
}

/// A run is looked at again from where it was left.
void Studio::keep_last_view() {
    std::error_code error;
    if (!options_.remember || options_.headless || state_.views_file.filename() != "views.txt" ||
        !fs::is_directory(state_.views_file.parent_path(), error))
        return;
    std::erase_if(state_.saved_views, [](const SavedView& v) { return v.name == kLastView; });
    state_.saved_views.push_back({kLastView, state_.view.capture_view, state_.navigation});
    check(write_views(state_.views_file, state_.saved_views));
    keep_layout(state_.views_file.parent_path());
}

void Studio::copy_text(const std::string& text) { ImGui::SetClipboardText(text.c_str()); }

std::string Studio::copied_text() const {
    const char* text = ImGui::GetClipboardText();
    return text ? text : "";
}

void Studio::follow_scene() {
    const bool another = state_.scene && state_.status.scene_serial != scene_seen_;
    if (another && scene_seen_ != 0) keep_last_view();  // of the one before
    follow_run(another);
    if (!another) return check(state_.notes.move_to(notes_file(state_.views_file)));
    scene_seen_ = state_.status.scene_serial;
    if (trace_layout_) ui_.load_layout(preferences_.layout);
    trace_layout_ = false;
    sent_any_ = false;  // the engine waits for a request that knows this scene
    state_.view.capture_view = -1;
    state_.view.near_plane = 0;  // lengths and places of the world before
    state_.view.clip.reset();
    state_.tools.radius = 0;
    state_.tools.lo = state_.tools.hi = {};
    state_.picked_camera.reset();
    state_.hovered_camera.reset();
    state_.views_file =
        state_.bundle ? state_.bundle->folder.path() / member_name::kViews
                      : views_file(state_.status.run_folder.empty() ? state_.scene->run_folder
                                                                    : state_.status.run_folder,
                                   state_.scene->path, config_folder());
    state_.measured =
        std::make_shared<const MeasureState>(read_measures(measures_file(state_.views_file)));
    SceneInfo scene = *state_.scene;
    if (const auto& up = state_.measured->up)
        scene.up = {static_cast<float>(up->x), static_cast<float>(up->y),
                    static_cast<float>(up->z)};
    state_.navigation = first_view(scene);
    if (state_.cameras && !state_.cameras->empty()) run_command("view.capture", {"0"});
    state_.saved_views = read_views(state_.views_file);
    if (const auto read = state_.film.open(film_file(state_.views_file), state_.scene->origin);
        !read)
        complain(read.error().text());
    if (const auto read = state_.notes.open(notes_file(state_.views_file)); !read)
        complain(read.error().text());
    if (state_.bundle) use_bundle(*state_.bundle);
    for (const SavedView& view : state_.saved_views)
        if (view.name == kLastView && options_.remember) (void)look_from(state_, view);
    use_layout_of_run();
    trace_.restart_warm_up();
    remember_path(preferences_.recent, state_.scene->path);
}

/// The viewport looks through a photo of the sweep's moment, of the camera that it looks through.
void Studio::follow_drive() {
    const DriveState* drive = state_.drive.get();
    std::optional<std::size_t> sweep;
    if (drive && drive->following) sweep = drive->chosen;
    if (std::exchange(sweep_seen_, sweep) == sweep || !sweep) return;
    if (const auto photo = photo_to_follow(*drive, state_.cameras.get(), state_.view.capture_view))
        run_command("view.capture", {std::to_string(*photo)});
}

void Studio::request_sheet() {
    const SheetRequest wanted = ui_.wanted_sheet();
    if (wanted == sheet_wanted_) return;
    if (session_.send([wanted](Engine& engine) { engine.part<ContactSheet>().want(wanted); }) != 0)
        sheet_wanted_ = wanted;
}

void Studio::request_view() {
    ViewRequest request = view_request_of(state_, state_.width, state_.height);
    // Hidden pictures are not drawn: a request without pixels stops the engine's pictures.
    // Scripts may wait for them.
    if (!script_ && (window_.minimized() || !ui_.viewport_visible()))
        request.camera.width = request.camera.height = 0;
    const bool changed = !sent_any_ || !same_picture(request, sent_);
    if (changed && sent_any_ && !same_pose(request.camera, sent_.camera) &&
        request.settings.capture_view < 0 && !script_)
        last_move_ = Clock::now();
    request.moving = seconds_since(last_move_) < kSettleSeconds;
    if (!changed && request.moving == sent_.moving) return;
    request.serial = ++state_.request_serial;
    sent_ = request;
    sent_any_ = true;
    session_.request_view(std::move(request));
}

void Studio::follow_work() {
    WindowWork& work = state_.work;
    work.reading_traces = traces_.reading();
    work.examining = state_.import && state_.import->working();
    work.panels = ui_.working();
    if (work.any()) work.last_frame = state_.ui_frames;
    work.any_trace = false;
    for (const TraceEntry& entry : traces_.entries()) {
        if (entry.own) continue;
        work.any_trace |= entry.store != nullptr;
        work.trace_problem = entry.problem;
    }
}

void Studio::advance_script() {
    if (!script_) return;
    follow_work();
    auto ended = script_->advance(state_);
    if (ended && !*ended) return;
    if (!ended) {
        complain(ended.error().text());
        exit_code_ = 1;
    }
    script_.reset();
    if (options_.headless || exit_code_ != 0) quit_ = true;
}

void Studio::check(const Result<void>& done) {
    if (done) return;
    complain(done.error().text());
    if (script_) exit_code_ = 1, quit_ = true;
}

void Studio::nothing_to_show() {
    if (options_.headless && !script_) exit_code_ = 2, quit_ = true;
}

const TraceStore& Studio::shown_trace() {
    collector_->drain_into(trace_);
    const TraceStore* shown = traces_.shown_store();
    return shown ? *shown : trace_;
}

Result<void> Studio::quit(QuitAnswer answer) {
    const bool asks = answer == QuitAnswer::none && state_.would_lose() && !script_;
    const EngineJob leaves = std::exchange(leaves_, {});
    state_.asks_to_quit = asks;
    frames_to_draw_ = kSettleFrames;
    if (leaves && answer == QuitAnswer::now) return send(state_, leaves);
    quit_ = !asks && answer != QuitAnswer::stay;
    return {};
}

Result<void> leave_scene(StudioState& state, EngineJob job) {
    if (!state.would_lose()) return send(state, std::move(job));
    return ask(state, [job = std::move(job)](Studio& s) { return s.leave(job); });
}

Result<void> Studio::leave(EngineJob job) {
    if (script_) return send(state_, std::move(job));
    leaves_ = std::move(job);
    state_.asks_to_quit = true;
    frames_to_draw_ = kSettleFrames;
    return {};
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
    traces_.open(path);
    remember_path(preferences_.recent, path);
    return ui_.show_panel("Timeline", false);
}

Result<void> Studio::save_trace(const std::string& path) {
    GS_TRY_VOID(export_perfetto(shown_trace(), path));
    wrote(path);
    return {};
}

Result<void> Studio::window_picture(const std::string& path) {
    GS_TRY_VOID(write_png(path, ui_.window_picture()));
    wrote(path);
    return {};
}

Result<void> Studio::note_span(const std::string& text) {
    auto note = ui_.selected_stretch(shown_trace());
    if (!note)
        return fail(ErrorKind::usage, "", "nothing is selected in the timeline",
                    "click a span, or drag over a time range with Shift held");
    note->text = text;
    note->step = state_.training.step;
    return state_.notes.add(std::move(*note));
}

Result<void> Studio::show_stretch(TimeRange range) {
    ui_.trace_view().jump = TracePlace{range, kNoTrack, 0};
    ui_.trace_view().selection = range;
    return ui_.show_panel("Timeline", false);
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
    collector_->finish(trace_);
    if (!options_.trace.empty()) {
        if (auto saved = export_perfetto(trace_, options_.trace); saved)
            log_info("wrote {}", options_.trace);
        else
            complain(saved.error().text()), exit_code_ = exit_code_ ? exit_code_ : 1;
    }
    keep_last_view();
    preferences_.view = state_.view;
    preferences_.folders = ui_.folders();
    if (!trace_layout_ && !run_layout_) preferences_.layout = ui_.layout();
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
    for (const std::uint32_t pid : options_.attach)
        if (const auto attached = traces_.attach(pid, options_.stacks_hz); !attached) {
            check(attached);
            nothing_to_show();
        }
    if (!options_.contents.path.empty() || (options_.traces.empty() && options_.attach.empty()))
        return;
    preferences_.layout = ui_.layout();
    check(ui_.show_layout("traces"));
    trace_layout_ = true;
}

int Studio::run(std::optional<std::vector<ScriptLine>> script) {
    if (script) script_.emplace(std::move(*script), options_.script, table_);
    open_start_paths();
    log_info("{}", window_.description());
    while (!quit_) {
        wait();
        collector_->drain_into(trace_);
        published_ |= traces_.update();
        if (traces_.take_failure()) nothing_to_show();
        for (const std::string& name : traces_.take_ended()) {
            state_.add_notice(false, name + " has ended",
                              {"Its recording is still open; save it with trace.save."});
            published_ = true;
        }
        const bool draw = gather();
        handle_input();
        if (window_.minimized()) request_view();
        if (!draw || window_.minimized()) continue;
        const Span span(Stage::ui, state_.ui_frames);
        published_ = false;
        if (state_.film.playing())
            look_from(state_,
                      state_.film.advance(std::min(seconds_since(last_draw_), kLongestLeap)));
        last_draw_ = Clock::now();
        if (frames_to_draw_ > 0) --frames_to_draw_;
        follow_scene();
        follow_drive();
        ui_.frame(state_, trace_, traces_, preferences_.recent);
        ++state_.ui_frames;
        carry_out_ui_actions();
        advance_script();
        request_sheet();
        request_view();
        if (state_.scene) window_.set_title(state_.scene->name + " - gausscope");
    }
    save_and_close();
    return exit_code_;
}

}  // namespace gs
