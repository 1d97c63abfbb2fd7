// The studio: window, panels, engine thread and commands put together, one UI frame after another.
// Commands reach the window side through it (StudioState::ui_actions).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/trace_library.h"
#include "app/studio/command_table.h"
#include "app/studio/options.h"
#include "app/studio/preferences.h"
#include "app/studio/script.h"
#include "app/studio/studio_state.h"
#include "app/studio/studio_ui.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/store/store.h"

namespace gs {

/// Runs until the window is closed, `quit`, or the end of a headless script. Returns the program's
/// exit code: 0; 1 when a script failed; 2 when there is neither a display nor EGL, the script is
/// not usable, or what a headless studio without a script was to open is not.
int run_studio(const StudioOptions& options, const CommandTable& table);

enum class QuitAnswer { none, now, stay };

class Studio {
  public:
    Studio(const StudioOptions& options, const CommandTable& table, Window& window,
           Preferences preferences);
    /// The exit code. `script`: none, when the studio is driven by hand.
    int run(std::optional<std::vector<ScriptLine>> script);

    // ---- for commands, between two frames
    StudioUi& ui() { return ui_; }
    TraceLibrary& traces() { return traces_; }
    /// The timeline's trace; this session's while another is being read.
    const TraceStore& shown_trace();
    /// Ends the program; asks first if something would be lost.
    Result<void> quit(QuitAnswer answer);
    /// Runs a job that replaces the scene, after asking if something would be lost; a script's
    /// request counts as the answer. Answered by quit().
    Result<void> leave(EngineJob job);
    Result<void> show_layout(const std::string& name);
    /// Without a choice, toggles.
    void full_screen(std::optional<bool> on) {
        window_.set_full_screen(on.value_or(!window_.full_screen()));
    }
    /// Saves to the user's assets, where show_layout() finds it. usage: an invalid file name.
    Result<void> save_layout(const std::string& name);
    /// Asks how to open the capture.
    Result<void> import(PathContents contents);
    Result<void> open_trace(const std::string& path);
    /// To and from the clipboard.
    void copy_text(const std::string& text);
    std::string copied_text() const;
    /// Gives a command, as a panel does.
    Result<void> give(const std::string& name, const Arguments& arguments) {
        return table_.run(state_, name, arguments);
    }
    Result<void> save_trace(const std::string& path);
    /// Shows only the picture; without a choice, toggles.
    /// Writes the last frame drawn.
    Result<void> window_picture(const std::string& path);
    /// Reports a written file; `more`: further facts.
    void wrote(const std::string& path, const std::string& more = {});
    /// Saves one file. usage: nothing is open, or not a .gsb file; unwritable.
    Result<void> save_bundle(const std::string& path, bool photos);
    /// Adds a note to the timeline's selection. usage: nothing selected.
    Result<void> note_span(const std::string& text);
    /// Shows it in the timeline.
    Result<void> show_stretch(TimeRange range);

  private:
    using Clock = std::chrono::steady_clock;

    void wait();
    bool gather();
    void take_events();
    void take_pictures();
    void handle_input();
    bool put_tool_away();
    void follow_scene();
    void follow_run(bool another);
    void follow_drive();
    void use_bundle(const UnpackedBundle& bundle);
    void keep_last_view();
    void keep_layout(const fs::path& run);
    void use_layout_of_run();
    void request_view();
    void request_sheet();
    void advance_script();
    void follow_work();
    void carry_out_ui_actions();
    /// Reports a failure; it ends a script.
    void check(const Result<void>& done);
    /// Opening failed: a headless studio without a script ends.
    void nothing_to_show();
    void open_start_paths();
    void run_command(const std::string& name, const Arguments& arguments);
    void complain(const std::string& text);
    void save_and_close();

    const StudioOptions& options_;
    const CommandTable& table_;
    Window& window_;
    Preferences preferences_;
    Session session_;
    StudioState state_;
    StudioUi ui_;
    TraceStore trace_;
    std::unique_ptr<service::MultiCollector> collector_ = service::MultiCollector::of_own_ring();
    TraceLibrary traces_;
    std::optional<ScriptRunner> script_;
    std::uint64_t scene_seen_ = 0;
    std::string run_seen_;
    std::optional<std::size_t> sweep_seen_;  ///< that the viewport has followed
    EngineJob leaves_;  ///< job waiting for an answer; empty: quitting, or nothing
    ViewRequest sent_;
    SheetRequest sheet_wanted_;
    bool sent_any_ = false, quit_ = false;
    int exit_code_ = 0, frames_to_draw_;
    bool published_ = false;
    bool trace_layout_ =
        false;  ///< shown for looking at traces only; preferences_.layout is the user's own
    bool run_layout_ = false;  ///< that of a run, which keeps it; preferences_.layout as above
    Clock::time_point last_draw_{}, last_move_{};
};

}  // namespace gs
