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

/// What a command asks of the window side; the studio carries these out in order, after the frame.
struct UiAction {
    std::function<Result<void>(Studio&)> run;
    int frames_before = 0;  ///< drawn first: popups and tabs need a few to take their place
};

/// A notice and since when it is shown.
struct TimedNotice {
    Notice notice;
    std::chrono::steady_clock::time_point since;
};

/// A row of an answer about a pixel; with the next answer none is marked.
struct MarkedEntry {
    std::shared_ptr<const PixelAnswer> of;
    std::uint64_t row = 0;
};

/// What the window's side works on, beside the engine's activities: waits of scripts need both.
struct WindowWork {
    bool reading_traces = false;
    bool examining = false;        ///< a capture that is to be imported
    bool panels = false;           ///< those in sight, and their pictures
    std::uint64_t last_frame = 0;  ///< UI frame of the last work
    bool any_trace = false;        ///< one was read
    std::string trace_problem;     ///< why the last trace could not be read
    bool any() const { return reading_traces || examining || panels; }
};

struct StudioState : Published {
    explicit StudioState(Session& s) : session(s) {}

    Session& session;
    ViewSettings view;
    SheetSettings sheet_settings;
    ProblemsSettings problems_settings;
    ToolState tools;
    NavigationState navigation;                        ///< where the viewport looks from
    std::optional<std::size_t> picked_camera;          ///< the capture camera that was last gone to
    std::optional<std::size_t> hovered_camera;         ///< and the one under the mouse
    std::optional<std::pair<int, int>> hovered_pixel;  ///< of the picture; none: elsewhere
    MarkedEntry marked_entry;                          ///< of the inspected pixel's list, outlined
    int width = 800, height = 600;                     ///< pixels the viewport has room for
    FilmEditor film;                                   ///< the camera path of what is open
    std::vector<SavedView> saved_views;                ///< of what is open
    fs::path views_file;                               ///< where they are kept; set by the studio
    std::shared_ptr<const MeasureState> measured;      ///< beside them; null: nothing was measured
    Notes notes;                                       ///< pinned to what is open
    std::vector<TimedNotice> notices;                  ///< oldest first, a few
    std::uint64_t notices_told = 0;
    bool asks_to_quit = false;       ///< something would be lost
    ImportBase import_base;          ///< what captures are opened with
    std::unique_ptr<Import> import;  ///< asks how to open a capture; null: nothing is asked
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
    /// Edited or mended splats that are in no file.
    bool would_lose() const { return selection && selection->unsaved; }
    /// The row of the inspected pixel's list that is marked.
    std::optional<std::uint64_t> inspected_row() const {
        if (!inspection || !inspection->pixel || marked_entry.of != inspection->pixel) return {};
        return marked_entry.row;
    }
    /// Takes whatever the engine has published; true when anything was new.
    bool take_published();
    /// Adds what was picked to what was measured.
    void take_picked(PickedPoints picked);
    /// How fast training has been, once that is known.
    void follow_speed();
    void add_notice(bool error, const std::string& text, std::vector<std::string> lines = {},
                    bool warning = false);
    /// Takes away what was shown long enough; true when there was any. Errors and details stay
    /// longer.
    bool drop_old_notices();
};

/// Gives the engine a job; an error when it cannot take one.
Result<void> send(StudioState& state, EngineJob job);
/// Gives the engine a job after which the scene is another one; where mended splats would be lost,
/// only once that was asked (app/studio/studio.h).
Result<void> leave_scene(StudioState& state, EngineJob job);
/// Leaves something to the window side, after this frame.
Result<void> ask(StudioState& state, std::function<Result<void>(Studio&)> run);

/// Of the photos of the chosen sweep's moment, the one from the same folder of photos (the same
/// camera) as photo `now`, below 0: none; else the first. Nothing: there is none.
std::optional<std::size_t> photo_to_follow(const DriveState& drive,
                                           const std::vector<CameraRow>* photos, int now);
/// Looks from a place of the camera path; nothing: stays.
void look_from(StudioState& state, const std::optional<PathPose>& pose);
/// Looks from a saved view. Errors (usage): of a photo that is not there.
Result<void> look_from(StudioState& state, const SavedView& view);
/// Takes and keeps what was measured. Errors: of write_measures().
Result<void> set_measured(StudioState& state, MeasureState measured);
/// What is up from now on: along the line from the first of two points to the second, or away from
/// the ground at three, to the side where the camera is. Errors (usage): they are no line or plane.
Result<void> set_up_from(StudioState& state, const std::vector<Vec3d>& points);
/// The camera goes by what was said to be up, else by what the scene says.
void take_measured_up(StudioState& state);
/// The request that shows what the viewport shows, at a size of one's own.
ViewRequest view_request_of(const StudioState& state, int width, int height);

}  // namespace gs
