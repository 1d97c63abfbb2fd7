#include "app/studio/studio.h"

#include <chrono>
#include <cstdlib>

#include "app/commands/preferences.h"
#include "app/commands/script.h"
#include "app/session/trace_library.h"
#include "app/studio/studio_ui.h"
#include "app/window/window.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/files/export_perfetto.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kIdleWait = 1.0, kScriptWait = 0.005, kTypingWait = 0.25;  // seconds
constexpr double kSettleSeconds = 0.15;  // the camera rests when it has not moved for this long
constexpr int kSettleFrames =
    3;  // ImGui needs a few frames after input until everything has its place
constexpr double kShutdownSeconds = 120;  // the longest that saving at the end may take

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What of a request decides the picture.
auto picture_key(const ViewRequest& r) {
    const Camera& c = r.camera;
    const ViewSettings& v = r.settings;
    const auto& m = c.rotation.m;
    return std::tuple(
        c.width, c.height,
        std::array{c.fx, c.fy, c.cx, c.cy, c.translation.x, c.translation.y, c.translation.z},
        std::array{m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]},
        v.mode, v.style, v.colormap, v.range, v.range_lo, v.range_hi, v.percentile, v.logarithmic,
        v.capture_view, v.sh_degree, v.scale_modifier, v.viewer_budget, v.lod_budget, v.lod_pixels,
        v.lod_level, v.compare != Compare::off, v.with, v.swapped, v.signed_error,
        std::array{v.background.x, v.background.y, v.background.z});
}
bool same_pose(const Camera& a, const Camera& b) {
    const auto key = [](const Camera& c) {
        ViewRequest r;
        r.camera = c;
        return picture_key(r);
    };
    return key(a) == key(b);
}

class Studio {
  public:
    Studio(const StudioOptions& options, Window& window, Preferences preferences)
        : options_(options),
          window_(window),
          preferences_(std::move(preferences)),
          session_(options.session, [&window] { window.wake(); }),
          state_(session_),
          ui_(window, table_, preferences_, options.machine),
          traces_(trace_, [&window] { window.wake(); }) {
        state_.view = preferences_.view;
        state_.sample_dir = (cache_folder() / "sample").string();
    }

    int run(std::vector<ScriptLine> script);

  private:
    void wait();
    bool gather();
    void take_events();
    void take_pictures();
    void handle_input();
    void follow_scene();
    void request_view();
    void advance_script();
    void carry_out_ui_actions();
    void carry_out(const ShowPanel& action);
    void carry_out(const ShowPalette& action) { ui_.show_palette(action.command); }
    void carry_out(const ResetLayout&) { ui_.reset_layout(), trace_layout_ = false; }
    void carry_out(const SaveTrace& action);
    void carry_out(const WindowPicture& action);
    void carry_out(const QuitStudio&) { quit_ = true; }
    void carry_out(const OpenTrace& action);
    void carry_out(const AttachProcess& action) { check(traces_.attach(action.pid)); }
    void carry_out(const ShowTrace& action) { check(traces_.show(action.which)); }
    void carry_out(const CloseTrace& action) { check(traces_.close(action.which)); }
    void carry_out(const SaveStatistics& action);
    void carry_out(const FindSpans& action);
    void carry_out(const ShowTime& action);
    void carry_out(const SelectTime& action) { ui_.trace_view().selection = action.range; }
    /// What a UI action could not do is said; a script ends with it.
    void check(const Result<void>& done);
    void open_start_paths();
    void run_command(const std::string& name, const Arguments& arguments);
    void complain(const std::string& text);
    void save_and_close();

    const StudioOptions& options_;
    Window& window_;
    Preferences preferences_;
    CommandTable table_;
    Session session_;
    StudioState state_;
    StudioUi ui_;
    TraceStore trace_;
    std::unique_ptr<service::MultiCollector> collector_ = service::MultiCollector::of_own_ring();
    TraceLibrary traces_;
    std::optional<ScriptRunner> script_;
    std::uint64_t scene_seen_ = 0;
    ViewRequest sent_;
    bool sent_any_ = false, quit_ = false, opened_anything_ = false;
    int exit_code_ = 0, frames_to_draw_ = kSettleFrames;
    bool published_ = false;
    bool trace_layout_ =
        false;  ///< shown for looking at traces only; preferences_.layout is the user's own
    Clock::time_point last_draw_{}, last_move_{}, last_title_{};
};

void Studio::wait() {
    double patience = kIdleWait;
    if (script_)
        patience = kScriptWait;
    else if (ui_.wants_next_frame() || frames_to_draw_ > 0)
        patience = 0;
    else if (ui_.typing())
        patience = kTypingWait;
    if (sent_.moving) patience = std::min(patience, 0.03);
    // What only the engine published may wait a little: the UI takes at most a fifth of a core
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
    return frames_to_draw_ > 0 || ui_.wants_next_frame() ||
           ((published_ || script_ || sent_.moving) && since >= pause) ||
           (ui_.typing() && since > kTypingWait);
}

void Studio::take_events() {
    while (auto event = session_.out().events.try_take()) {
        if (script_) script_->take_event(*event);
        if (event->notice) state_.add_notice(event->error, event->text, event->lines);
        published_ = true;
    }
    published_ |= state_.drop_old_notices();
}

void Studio::take_pictures() {
    while (auto picture = session_.out().pictures.try_take()) {
        const PictureCommand& asked = (*picture)->asked;
        const ViewFrame& frame = *(*picture)->frame;
        const Image8 image =
            asked.overlays ? ui_.overlay_picture(frame, asked.request.settings) : frame.rgba;
        ++state_.pictures_written;
        if (auto written = write_png(asked.path, image); !written) {
            complain(written.error().text());
            if (script_) script_->take_event({(*picture)->command, true, written.error().text()});
        } else {
            log_info("wrote {} ({} x {})", asked.path, image.width, image.height);
        }
    }
    // A picture that the engine refused will not come: its command is done, and pictures come
    // before that is said.
    if (state_.status.commands_done >= state_.last_sent)
        state_.pictures_written = state_.pictures_asked;
}

void Studio::complain(const std::string& text) {
    log_error("{}", text);
    state_.add_notice(true, text);
}

void Studio::run_command(const std::string& name, const Arguments& arguments) {
    if (auto done = table_.run(state_, name, arguments); !done) complain(done.error().text());
}

void Studio::handle_input() {
    for (const std::string& path : window_.take_dropped_files()) run_command("open", {path});
    for (const KeyPress& key : window_.take_keys()) {
        const CommandRow* row = table_.find_key(key.chord);
        if (!row || (key.repeat && row->info.name.rfind("train.", 0) == 0)) continue;
        const bool text_key = key.chord.find('+') == std::string::npos &&
                              (key.chord.size() == 1 || key.chord[0] != 'F');
        if ((ui_.typing() && text_key) || ui_.takes_key(key.chord)) continue;
        // A command that needs arguments is finished in the palette.
        if (row->least > 0)
            ui_.show_palette(row->info.name);
        else
            run_command(row->info.name, {});
    }
    if (window_.close_requested() || (options_.interrupted && options_.interrupted())) quit_ = true;
}

void Studio::follow_scene() {
    if (state_.status.scene_serial == scene_seen_ || !state_.scene) return;
    scene_seen_ = state_.status.scene_serial;
    if (trace_layout_) ui_.load_layout(preferences_.layout);
    trace_layout_ = false;
    sent_any_ = false;  // the engine waits for a request that knows this scene
    opened_anything_ = true;
    state_.view.capture_view = -1;
    state_.navigation = first_view(*state_.scene);
    if (state_.cameras && !state_.cameras->empty()) run_command("view.capture", {"0"});
    trace_.restart_warm_up();
    remember_path(preferences_.recent, state_.scene->path);
}

void Studio::request_view() {
    ViewRequest request = view_request_of(state_, state_.width, state_.height);
    // What nobody looks at is not drawn: a request without pixels stops the engine's pictures.
    // Scripts may wait for them.
    if (!script_ && (window_.minimized() || !ui_.viewport_visible()))
        request.camera.width = request.camera.height = 0;
    const bool changed = !sent_any_ || picture_key(request) != picture_key(sent_);
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

void Studio::advance_script() {
    if (!script_) return;
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

void Studio::carry_out(const ShowPanel& action) { check(ui_.show_panel(action.name, action.hide)); }

void Studio::carry_out(const OpenTrace& action) {
    traces_.open(action.path);
    check(ui_.show_panel("Timeline", false));
    remember_path(preferences_.recent, action.path);
}

void Studio::carry_out(const SaveStatistics& action) {
    const TraceStore* shown = traces_.shown_store();
    const auto written = write_text_file(action.path, ui_.statistics_csv(shown ? *shown : trace_));
    check(written);
    if (written) log_info("wrote {}", action.path);
}

void Studio::carry_out(const FindSpans& action) {
    ui_.trace_view().find = action.name;
    check(ui_.show_panel("Find", false));
}

void Studio::carry_out(const ShowTime& action) {
    ui_.trace_view().jump = action.place;
    check(ui_.show_panel("Timeline", false));
}

void Studio::carry_out(const SaveTrace& action) {
    collector_->drain_into(trace_);
    const TraceStore* shown = traces_.shown_store();
    if (auto saved = export_perfetto(shown ? *shown : trace_, action.path); !saved) {
        complain(saved.error().text());
        if (script_) exit_code_ = 1, quit_ = true;
    } else {
        log_info("wrote {}", action.path);
    }
}

void Studio::carry_out(const WindowPicture& action) {
    if (auto written = write_png(action.path, ui_.window_picture()); !written) {
        complain(written.error().text());
        if (script_) exit_code_ = 1, quit_ = true;
    } else {
        log_info("wrote {}", action.path);
    }
}

void Studio::carry_out_ui_actions() {
    std::deque<UiAction> actions = std::exchange(state_.ui_actions, {});
    for (UiAction& action : actions) {
        if (auto* picture = std::get_if<WindowPicture>(&action);
            picture && picture->settle_frames-- > 0)
            state_.ui_actions.push_back(*picture);
        else
            std::visit([this](const auto& a) { carry_out(a); }, action);
    }
    if (!actions.empty()) frames_to_draw_ = kSettleFrames;
}

/// Unsaved training is saved by the engine on closing; the window stays responsive only to the
/// system until then.
void Studio::save_and_close() {
    const std::uint64_t serial = session_.send(CloseCommand{});
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
    preferences_.view = state_.view;
    if (!trace_layout_) preferences_.layout = ui_.layout();
    if (options_.remember) write_preferences(config_folder(), preferences_);
}

void Studio::open_start_paths() {
    if (!options_.path.empty())
        state_.last_sent =
            session_.send(OpenCommand{options_.path, options_.capture, options_.train, false});
    if (!options_.compare.empty())
        state_.last_sent = session_.send(OpenCommand{options_.compare, "", false, false, true});
    for (const std::string& path : options_.traces) carry_out(OpenTrace{path});
    for (const std::uint32_t pid : options_.attach) carry_out(AttachProcess{pid});
    if (!options_.path.empty() || (options_.traces.empty() && options_.attach.empty())) return;
    preferences_.layout = ui_.layout();
    ui_.show_trace_layout();
    trace_layout_ = true;
}

int Studio::run(std::vector<ScriptLine> script) {
    if (!script.empty()) script_.emplace(std::move(script), options_.script, table_);
    open_start_paths();
    log_info("{}", window_.description());
    while (!quit_) {
        wait();
        collector_->drain_into(trace_);
        published_ |= traces_.update();
        const bool draw = gather();
        handle_input();
        if (window_.minimized()) request_view();
        if (!draw || window_.minimized()) continue;
        const Span span(Stage::ui, state_.ui_frames);
        published_ = false;
        last_draw_ = Clock::now();
        if (frames_to_draw_ > 0) --frames_to_draw_;
        follow_scene();
        ui_.frame(state_, trace_, traces_, preferences_.recent);
        ++state_.ui_frames;
        carry_out_ui_actions();
        advance_script();
        request_view();
        if (state_.scene) window_.set_title(state_.scene->name + " - gausscope");
    }
    save_and_close();
    return exit_code_;
}

}  // namespace

int run_studio(const StudioOptions& options) {
    const CommandTable table;
    std::vector<ScriptLine> script;
    if (!options.script.empty()) {
        const auto text = read_text_file(options.script, 16 << 20);
        auto lines = text ? parse_script(*text, options.script, table)
                          : Result<std::vector<ScriptLine>>(tl::unexpected<Error>(text.error()));
        if (!lines) {
            log_error("{}", lines.error().text());
            return 2;
        }
        script = std::move(*lines);
    } else if (options.headless) {
        log_warning("headless without a script: the studio runs until it is interrupted");
    }
    Preferences preferences = options.remember ? read_preferences(config_folder()) : Preferences();
    WindowOptions window_options;
    window_options.headless = options.headless;
    window_options.width = options.width > 0 ? options.width : preferences.width;
    window_options.height = options.height > 0 ? options.height : preferences.height;
    window_options.scale = options.scale;
    window_options.cuda_device = options.machine.cuda_device;
    auto window = open_window(window_options);
    if (!window) {
        log_error("{}", window.error().text());
        return 2;
    }
    name_this_thread("ui");
    Studio studio(options, **window, std::move(preferences));
    return studio.run(std::move(script));
}

}  // namespace gs
