// The studio: window, panels, engine thread and commands put together, one UI frame after another.
// Commands reach the window side through it (StudioState::ui_actions).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/studio/command_table.h"
#include "app/studio/leaving.h"
#include "app/studio/options.h"
#include "app/studio/preferences.h"
#include "app/studio/scene_follower.h"
#include "app/studio/script.h"
#include "app/studio/studio_keys.h"
#include "app/studio/studio_state.h"
#include "app/studio/studio_traces.h"
#include "app/studio/studio_ui.h"
#include "app/studio/viewport_requests.h"

namespace gs {

/// Runs until the window is closed, `quit`, or the end of a headless script. Returns the program's
/// exit code: 0; 1 when a script failed; 2 when there is neither a display nor EGL, the script is
/// not usable, or what a headless studio without a script was to open is not.
int run_studio(const StudioOptions& options, const CommandTable& table);

class Studio {
  public:
    Studio(const StudioOptions& options, const CommandTable& table, Window& window,
           Preferences preferences);
    /// The exit code. `script`: none, when the studio is driven by hand.
    int run(std::optional<std::vector<ScriptLine>> script);

    // ---- for commands, between two frames
    StudioState& state() { return state_; }
    StudioUi& ui() { return ui_; }
    StudioTraces& traces() { return traces_; }
    SceneFollower& scene() { return scene_; }
    StudioKeys& keys() { return keys_; }
    /// Ends the program; asks first if something would be lost.
    Result<void> quit(QuitAnswer answer);
    /// Runs a job that replaces the scene, after asking if something would be lost; a script's
    /// request counts as the answer. Answered by quit().
    Result<void> leave(EngineJob job);
    /// Interface: times this, remembered; nothing: as the display says.
    void scale_interface(std::optional<double> factor);
    /// Asks how to open the capture.
    Result<void> import(PathContents contents);
    Result<void> open_trace(const std::string& path);
    /// Gives a command, as a panel does.
    Result<void> give(const std::string& name, const Arguments& arguments) {
        return table_.run(state_, name, arguments);
    }
    /// Reports a written file; `more`: further facts.
    void wrote(const std::string& path, const std::string& more = {});

  private:
    using Clock = std::chrono::steady_clock;

    void wait();
    bool gather();
    void take_events();
    void take_pictures();
    void handle_input();
    void draw_frame();
    void advance_script();
    void carry_out_ui_actions();
    /// Reports a failure; it ends a script.
    void check(const Result<void>& done);
    /// Opening failed: a headless studio without a script ends.
    void nothing_to_show();
    void open_start_paths();
    void save_and_close();

    const StudioOptions& options_;
    CommandTable table_;  ///< with the keys of this keyboard
    Window& window_;
    Preferences preferences_;
    Session session_;
    StudioState state_;
    StudioUi ui_;
    StudioTraces traces_;
    StudioKeys keys_;
    SceneFollower scene_;
    ViewportRequests requests_;
    std::optional<ScriptRunner> script_;
    Leaving leaving_{state_};
    bool quit_ = false;
    int exit_code_ = 0, frames_to_draw_;
    bool published_ = false;
    Clock::time_point last_draw_{}, last_title_{};
};

/// Saves one file. usage: nothing is open, or not a .gsb file; unwritable.
Result<void> save_bundle(Studio& studio, const std::string& path, bool photos);
/// Shows what a process records (TraceLibrary::attach), and its training where it hands that over
/// (FollowedTraining).
Result<void> attach_to_process(Studio& studio, std::uint32_t pid, int stacks_hz);
/// What the window is called: scene, run, step.
std::string window_title(const StudioState& state);

}  // namespace gs
