// StudioState: everything that commands may read and change: the engine's newest results and the
// studio's own state. Lives on the UI thread and needs no window, so that tests can drive it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/session.h"
#include "app/studio/film.h"
#include "app/studio/import.h"
#include "app/studio/measures.h"
#include "app/studio/notes.h"
#include "app/studio/saved_views.h"
#include "panels/state/inspection.h"
#include "panels/viewport/navigation.h"

namespace gs {

class Studio;  // app/studio/studio.h

/// A command's request to the window side; the studio runs these in order, after the frame.
struct UiAction {
    std::function<Result<void>(Studio&)> run;
    int frames_before = 0;  ///< drawn first: popups and tabs need a few to take their place
};

/// A notice and since when it is shown.
struct TimedNotice {
    Notice notice;
    std::chrono::steady_clock::time_point since;
};

/// A marked row of a pixel's answer; the next answer clears it.
struct MarkedEntry {
    std::shared_ptr<const PixelAnswer> of;
    std::uint64_t row = 0;
};

/// Work on the window's side, besides the engine's activities: scripts wait for both.
struct WindowWork {
    bool reading_traces = false;
    bool examining = false;        ///< a capture that is to be imported
    bool panels = false;           ///< those in sight, and their pictures
    bool input = false;            ///< what a script pressed, typed or clicked is being answered
    std::uint64_t last_frame = 0;  ///< UI frame of the last work
    std::uint64_t last_input = 0;  ///< and of the last input that waited; 0: none did
    bool any_trace = false;        ///< one was read
    std::string trace_problem;     ///< why the last trace could not be read
    bool any() const { return reading_traces || examining || panels; }
};

struct StudioState : Published {
    explicit StudioState(Session& s);

    Session& session;
    ViewSettings view;
    SheetSettings sheet_settings;
    ProblemsSettings problems_settings;
    ToolState tools;
    NavigationState navigation;                        ///< the viewport's camera
    std::optional<std::size_t> picked_camera;          ///< the capture camera visited last
    std::optional<std::size_t> hovered_camera;         ///< and the one under the mouse
    std::optional<std::pair<int, int>> hovered_pixel;  ///< of the picture; none: elsewhere
    MarkedEntry marked_entry;                          ///< of the inspected pixel's list, outlined
    int width = 800, height = 600;                     ///< the viewport's size in pixels
    FilmEditor film;                                   ///< the camera path of the open scene
    std::vector<SavedView> saved_views;                ///< of the open scene
    fs::path views_file;                               ///< where they are kept; set by the studio
    std::shared_ptr<const MeasureState> measured;      ///< beside them; null: no measurements
    Notes notes;                                       ///< pinned to the open scene
    std::vector<TimedNotice> notices;                  ///< oldest first, a few
    std::uint64_t notices_told = 0;
    std::optional<LeaveQuestion> asks_to_leave;         ///< something would be lost
    ImportBase import_base;                             ///< defaults for opening captures
    std::unique_ptr<Import> import;                     ///< the open import question; null: none
    std::vector<std::unique_ptr<Import>> left_imports;  ///< that still read
    StepSpeed step_speed;
    std::string sample_dir;  ///< where open.sample puts the sample capture
    std::deque<UiAction> ui_actions;
    std::uint64_t last_sent = 0;       ///< serial of the last engine command
    std::uint64_t request_serial = 0;  ///< of the last view request
    std::uint64_t ui_frames = 0;       ///< UI frames drawn
    std::uint64_t pictures_asked = 0, pictures_written = 0;
    WindowWork work;

    /// Asks no more, and waits for nothing.
    void end_import();
    /// Whether edited or fixed splats are unsaved.
    bool would_lose() const { return selection && selection->unsaved; }
    /// What is written that would stop with the scene, or with the program.
    std::vector<std::string> being_written(bool quits) const;
    /// The row of the inspected pixel's list that is marked.
    std::optional<std::uint64_t> inspected_row() const {
        if (!inspection || !inspection->pixel || marked_entry.of != inspection->pixel) return {};
        return marked_entry.row;
    }
    /// Takes the engine's newest results; true if anything was new.
    bool take_published();
    /// Adds picked points to the measurements.
    void take_picked(PickedPoints picked);
    /// Speed of training, once known.
    void follow_speed();
    void add_notice(bool error, const std::string& text, std::vector<std::string> lines = {},
                    bool warning = false);
    /// Removes expired notices; true if there were any. Errors and details stay longer.
    bool drop_old_notices();
};

/// Logs an error and shows it.
void complain(StudioState& state, const std::string& text);
/// Gives the engine a job; an error when it cannot take one.
Result<void> send(StudioState& state, EngineJob job);
/// Gives the engine a job that replaces the scene; asks first if something would be lost or stopped
/// (app/studio/studio.h).
Result<void> leave_scene(StudioState& state, EngineJob job);
/// Queues an action for the window side, after this frame.
Result<void> ask(StudioState& state, std::function<Result<void>(Studio&)> run);

/// The photo at the current sweep's time from the same folder (the same camera) as photo `now`
/// (below 0: none), else the first. Nothing: there is none.
std::optional<std::size_t> photo_to_follow(const DriveState& drive,
                                           const std::vector<CameraRow>* photos, int now);
/// Moves the camera to a pose of the camera path; nothing: stays.
void look_from(StudioState& state, const std::optional<PathPose>& pose);
/// Goes to a saved view. Errors (usage): its photo is missing.
Result<void> look_from(StudioState& state, const SavedView& view);
/// Takes, saves and records measurements; `label`: of the change. Errors: of write_measures().
Result<void> set_measured(StudioState& state, MeasureState measured, std::string label);
/// Sets up: along the line from the first of two points to the second, or perpendicular to the
/// ground at three, towards the camera. Errors (usage): they are no line or plane.
Result<void> set_up_from(StudioState& state, const std::vector<Vec3d>& points);
/// Updates the camera's up direction: the one set, else the scene's.
void take_measured_up(StudioState& state);
/// The request for the viewport's picture at another size.
ViewRequest view_request_of(const StudioState& state, int width, int height);

}  // namespace gs
