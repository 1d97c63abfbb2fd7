// Snapshot: everything panels may know, for one UI frame: the engine's newest SessionView and the
// studio's own state. Panels read it, keep only their own view state, and answer with Commands.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/memory_use.h"
#include "base/record/stage.h"
#include "base/setting_kind.h"
#include "base/vec.h"
#include "panels/state/file_types.h"
#include "panels/state/import_state.h"
#include "panels/state/memory_history.h"
#include "panels/state/pictures.h"
#include "panels/state/scene_state.h"
#include "panels/state/selection_state.h"
#include "panels/state/tool.h"
#include "profiler/analysis/cost_model.h"
#include "renderer/maps/view.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

class TraceStore;  // profiler/store/store.h
// Each in its own header beside this one, for the panels that show it.
struct PixelInspection;  // inspection.h
struct CostReport;       // cost_report.h
struct GaussianValues;   // gaussian_values.h
struct PhotoProblems;    // photo_problems.h
struct PredictionState;  // prediction_state.h
struct VerifyReport;     // verify_report.h
struct FilmState;        // film_state.h
struct HistoryState;     // history_state.h
struct MeasureState;     // measure_state.h
struct NotesState;       // notes_state.h
struct PhotoLooks;       // photo_looks.h
struct LabState;         // lab_state.h
struct DriveState;       // drive_state.h

struct CurvePoint {
    float step, value;
};
/// A change made while training, or an alarm; drawn as a mark on every curve.
struct CurveMark {
    std::uint64_t step;
    std::string text;  ///< "lr_means 0.00016 -> 0.0002"
    bool alarm = false;
    double x = -1;  ///< position on an axis other than steps; below 0: at its step
};
/// Changes of the Gaussians by the strategy, one point per round.
struct RoundCurves {
    std::vector<CurvePoint> target;  ///< target number: a curve, or a cap
    std::vector<CurvePoint> cloned, split, added, relocated, pruned;  ///< Gaussians in this round
};
/// Numbers that a trainer of another process logs, by its name for them.
struct LoggedCurve {
    std::string name;
    std::vector<CurvePoint> points;
};
struct Curves {
    std::vector<CurvePoint> loss, train_psnr, gaussians, step_ms, test_psnr, test_ssim, lr_means;
    RoundCurves rounds;
    std::vector<LoggedCurve> logged;
    std::vector<CurveMark> marks;
};

/// The curves of another run, drawn behind the current ones.
struct OtherCurves {
    std::string name, folder;
    Curves curves;
    /// Settings that differ: "lr_means 0.0002 (here 0.00016)".
    std::vector<std::string> differences;
};

/// A saved state of the run in memory.
struct SnapshotRow {
    std::uint64_t step = 0, bytes = 0;
    std::string why;           ///< "before lr_means 0.00016 -> 0.0002"
    std::uint64_t number = 0;  ///< for train.revert and train.branch, as "#3"
};

enum class RunState { empty, loading, ready, training, paused, finished, failed };
inline constexpr std::array<const char*, 7> kRunStateNames{
    "empty", "loading", "ready", "training", "paused", "finished", "failed"};

struct TrainingStatus {
    RunState state = RunState::empty;
    std::string message;    ///< the current load, or why it failed
    bool followed = false;  ///< it runs in another process (app/session/parts/followed_training.h)
    double progress = 0;    ///< 0..1 while loading
    std::uint64_t step = 0, total_steps = 0, run_to = 0;
    /// NaN: unknown (yet); a device reports a step's loss a little later.
    double loss = std::numeric_limits<double>::quiet_NaN(), train_psnr = loss, test_psnr = loss,
           test_ssim = loss;
    std::uint64_t test_step = 0;  ///< step of the last evaluation of the test photos
    double step_ms = 0;           ///< mean of the last 50 steps
    double eta_seconds = 0;
    std::uint64_t gaussians = 0;
    /// Measured share of the engine's time spent on view frames, 0..1; where `followed`, of the
    /// trainer's spent on copies, and the share that it allows.
    double viewer_share = 0, copy_budget = 0;
    std::string last_checkpoint;
    double seconds = 0;  ///< of its steps and measurements, since first_step
    std::uint64_t first_step = 0;
    std::string strategy;  ///< density strategy, in a line; empty: nothing trains
    std::vector<std::pair<std::string, std::string>> files;  ///< the run's output, and where
    std::vector<SnapshotRow> snapshots;                      ///< oldest first
    bool unsaved = false;        ///< steps or edits of a run that its checkpoint does not have
    bool unsaved_edits = false;  ///< edits of Gaussians among them
    std::vector<std::string> not_saved;  ///< why saving it failed, and where its files are

    /// It rests and can continue, also a run that was finished early.
    bool can_start() const {
        return state == RunState::ready || state == RunState::paused ||
               (state == RunState::finished && step < total_steps);
    }
};

/// Asked before something would be lost by quitting, closing or opening another scene.
struct LeaveQuestion {
    enum class Of {
        writing,     ///< a film, or an export, that would stop
        splats,      ///< edited, and in no file
        edited_run,  ///< its checkpoint is from before the edits
        unsaved_run  ///< it could not be saved in its folder
    } of = Of::splats;
    std::vector<std::string> lines{};  ///< what would be lost, where it is
};

/// One hyper-parameter as the Training panel shows it; edited with "train.set NAME VALUE".
struct SettingRow {
    struct Choice {
        std::string word, help;
        std::vector<std::string> changes;  ///< other settings that it changes as well
    };
    std::string name, group, help;
    double value = 0, min = 0, max = 1;
    SettingKind kind = SettingKind::number;
    bool logarithmic = false, live = false;
    double usual = 0;              ///< the default for a run of this length
    std::string unit{}, source{};  ///< of the value; whose default it is
    /// Ends of the slider (typed values may be min to max): two decades around the default
    /// for values that span decades.
    double slider_min = 0, slider_max = 1;
    std::vector<Choice> choices{};  ///< of kind choice, by value
};

struct CameraRow {
    std::size_t view = 0;
    std::string name;
    bool test = false;
    Camera camera;
    int times_sampled = 0;
    double psnr = 0, ssim = 0, loss = 0;  ///< newest; NaN: not measured yet
    std::uint64_t measured_step = 0;      ///< step of the measurement
    std::vector<CurvePoint> psnr_history, loss_history;
};

/// A small picture of a photo, its render, and their difference.
struct SheetPicture {
    std::uint64_t serial = 0;  ///< changes with every new picture
    std::uint64_t step = 0;    ///< of the render
    int parts = 1;             ///< 1: only the photo; 3: photo, render, error
    Image8 strip;              ///< RGB: the parts side by side, each strip.width / parts wide
    std::string problem;       ///< why the photo could not be read: it is black; empty: it could
};
/// The contact sheet's content and order.
enum class SheetShows { all, photo, render, error };
inline constexpr std::array<const char*, 4> kSheetShowsNames{"all", "photo", "render", "error"};
enum class PhotoKey { name, split, psnr, ssim, loss, used, step };
inline constexpr std::array<const char*, 7> kPhotoKeyNames{"name", "split", "psnr", "ssim",
                                                           "loss", "used",  "step"};
struct SheetSettings {
    SheetShows shows = SheetShows::all;
    PhotoKey key = PhotoKey::psnr;
    bool descending = false;
    double width = 120;  ///< of each picture, pixels at a display scale of 1
};
/// The Problems panel's content, and its order of the photos' errors over time.
enum class ProblemsShow { time, regions, place, gaussians, floaters, holes };
inline constexpr std::array<const char*, 6> kProblemsShowNames{"time",      "regions",  "place",
                                                               "gaussians", "floaters", "holes"};
struct ProblemsSettings {
    ProblemsShow shows = ProblemsShow::time;
    PhotoKey key = PhotoKey::psnr;
    bool descending = false;
    bool loss = false;  ///< of the loss, not of PSNR
};
/// The mean difference over the channels (0..1) that is the brightest colour of its errors.
inline constexpr double kSheetErrorRange = 0.25;

struct Histogram {
    std::string name, unit;  ///< "opacity", "scale"
    double lo = 0, hi = 1;
    bool logarithmic = false;
    std::vector<float> counts;
};
/// A GPU's memory as a whole.
struct DeviceMemory {
    std::uint64_t total_bytes = 0, free_bytes = 0;
    std::uint64_t held_bytes = 0;  ///< allocated by this process
};

/// Measured times against the limits of the machine.
struct StageCosts {
    std::string machine;  ///< "NVIDIA H200"
    std::string sample;   ///< what one sample is: "iteration"
    bool measured =
        false;  ///< the ceilings were measured on this machine; false: they are from its data sheet
    double bytes_per_second = std::numeric_limits<double>::quiet_NaN();
    double operations_per_second = std::numeric_limits<double>::quiet_NaN();
    std::vector<StageCost> stages;
};
struct SceneInfo {
    std::string name, path, format;
    std::string run_folder;  ///< of the run that `path` is or is in; empty: none
    std::uint64_t gaussians = 0;
    int sh_degree = 0;
    Vec3d origin{};     ///< subtracted from all positions: see renderer/scene/origin.h
    Vec3f lo{}, hi{};   ///< bounds of the means
    double extent = 1;  ///< radius of the cameras, or of the bounds
    Vec3f center{};
    double radius = 1;         ///< around `center`: the visible scene, from the sparse points
    Vec3f up{0, -1, 0};        ///< world direction that is up, from the cameras
    ClipBox core{};            ///< visible scene by axes: of the sparse points, else of the means
    double near_plane = 0.01;  ///< of pictures, world units
    std::size_t train_views = 0, test_views = 0, points = 0;
    std::vector<std::string> skipped, notes;
    std::vector<Histogram> histograms;  ///< opacity, scale, anisotropy, SH energy
    std::vector<MemoryUse> memory;
};

/// The colour of one pixel of the frame, if panels cannot read it themselves.
struct PixelColor {
    int x = -1, y = -1;
    std::array<std::uint8_t, 4> rgba{};
};

/// A trace that the timeline and the panels beside it can show: this session, an opened file, an
/// attached process.
struct TraceEntry {
    std::uint64_t id = 0;               ///< stays the same while it is open
    std::string name;                   ///< "this session", "run.pftrace", "python train.py (1234)"
    std::string detail;                 ///< a file's path; other facts
    std::string problem;                ///< why it could not be opened, or why it has ended; empty:
                                        ///< no problem
    const TraceStore* store = nullptr;  ///< null while it is read; read by the UI thread only
    double progress = 1;                ///< below 1 while it is read; NaN: unknown
    bool live = false;                  ///< grows
    bool ended = false;                 ///< an attached process that has exited
    bool own = false;                   ///< this session: it cannot be closed
};

/// The engine's published state: immutable parts, updated together (app/session/session.h).
struct SessionView {
    std::shared_ptr<const SceneInfo> scene;  ///< null: nothing is open
    std::shared_ptr<const SceneInfo> other;  ///< the second scene, null: none is open
    std::shared_ptr<const Curves> curves;
    std::shared_ptr<const std::vector<OtherCurves>> other_curves;  ///< null: none
    std::shared_ptr<const std::vector<CameraRow>> cameras;
    std::shared_ptr<const std::vector<SettingRow>> settings;
    /// Null: there is none of this name.
    const SettingRow* setting(std::string_view name) const {
        if (!settings) return nullptr;
        const auto row = std::ranges::find(*settings, name, &SettingRow::name);
        return row == settings->end() ? nullptr : &*row;
    }
    /// By CameraRow::view; null where none was made yet.
    std::shared_ptr<const std::vector<std::shared_ptr<const SheetPicture>>> sheet;
    std::shared_ptr<const ViewFrame> frame;
    std::shared_ptr<const DoctorReport> doctor;         ///< null: not examined yet
    std::shared_ptr<const LevelsState> levels;          ///< null: the scene has no levels
    std::shared_ptr<const MarkedGaussian> marked;       ///< null: none
    std::shared_ptr<const TimeLapseState> time_lapse;   ///< null: no run is open
    std::shared_ptr<const PixelInspection> inspection;  ///< null: no pixel inspected
    std::shared_ptr<const CostReport> cost_report;      ///< null: not asked for
    std::shared_ptr<const GaussianValues> values;       ///< null: nothing is coloured by a value
    std::shared_ptr<const SelectionState> selection;    ///< null: nothing is open
    std::shared_ptr<const HistoryState> history;        ///< edits to undo and redo; null: none
    std::shared_ptr<const PhotoProblems> problems;      ///< null: not searched
    std::shared_ptr<const PhotoLooks> looks;            ///< null: the run learns none
    std::shared_ptr<const VerifyReport> verified;       ///< null: no frame was verified
    std::shared_ptr<const PredictionState> prediction;  ///< times on other GPUs; null: not asked
    std::shared_ptr<const LabState> lab;                ///< suites and their runs
    std::shared_ptr<const DriveState> drive;            ///< a lidar's sweeps; null: there are none
    TrainingStatus training;
    std::vector<Activity> activities;  ///< longest running first
    std::string backend;               ///< "CPU (AVX-512, 2 threads)"

    /// Gaussians of the open model now; density control changes them.
    std::uint64_t gaussians() const {
        return training.gaussians > 0 ? training.gaussians : scene ? scene->gaussians : 0;
    }
};

struct Snapshot : SessionView {
    ViewSettings view;
    ToolState tools;                               ///< the left mouse button's tool
    std::shared_ptr<const FilmState> film;         ///< the camera path; null: none
    std::shared_ptr<const MeasureState> measured;  ///< null: nothing was measured
    std::shared_ptr<const NotesState> notes;       ///< pinned texts; null: none
    SheetSettings sheet_settings;
    ProblemsSettings problems_settings;
    std::vector<Notice> notices;                 ///< oldest first
    std::optional<LeaveQuestion> asks_to_leave;  ///< leaving the scene would lose something
    std::shared_ptr<const ImportState> import;   ///< a capture is about to be opened; null: none
    bool full_screen = false, picture_only = false;  ///< the window fills the screen; no panels
    Camera camera;                      ///< the viewport's camera now (the frame's may be older)
    Vec3d up{0, -1, 0};                 ///< unit vector, world: upright for steering
    double fov_y = 0.87;                ///< radians, vertical, of the free camera
    const TraceStore* trace = nullptr;  ///< of this session; read by the UI thread only
    std::vector<TraceEntry>
        traces;  ///< everything that can be shown, this session first; empty: only `trace`
    std::uint64_t shown_trace = 0;                ///< TraceEntry::id
    std::shared_ptr<const FileTypes> file_types;  ///< null: every file is just a file
    std::vector<std::string> recent;              ///< recently opened paths
    std::vector<std::string> saved_views;         ///< names, for view.go
    std::string device;                           ///< "Intel Xeon ..."
    std::string
        present_path;  ///< how pictures get from the GPU to the screen: "interop"; empty: not used
    std::optional<DeviceMemory> device_memory;
    std::shared_ptr<const StageCosts> costs;
    std::uint64_t process_bytes = 0;       ///< resident memory of the process, 0: unknown
    std::uint64_t process_peak_bytes = 0;  ///< the most it was, 0: unknown
    MemoryHistory memory_history;
    std::uint64_t machine_bytes = 0;  ///< memory of the machine (or its container), 0: unknown
    double ui_fps = 0, ui_ms = 0;
    std::uint64_t dropped_records = 0;
    std::uint64_t frame_texture = 0;    ///< GL name of the viewport texture
    std::uint64_t second_texture = 0;   ///< GL name of the compared photo or second scene; 0: none
    PanelPictures* pictures = nullptr;  ///< thumbnails and the like; null: none can be shown
    PixelColor frame_pixel;  ///< under the mouse, of a frame whose picture is in device memory
    double ui_scale = 1;
    std::string flying_keys = "W A S D Q E";  ///< as this keyboard has them

    /// Also true after a failure to open, which a notice reports.
    bool nothing_open() const {
        return !scene && (training.state == RunState::empty || training.state == RunState::failed);
    }
    /// Only splats: no photos to train on.
    bool nothing_to_train() const { return scene && scene->train_views == 0 && !training.followed; }
    const TraceEntry* shown_entry() const {
        for (const TraceEntry& entry : traces)
            if (entry.id == shown_trace) return &entry;
        return nullptr;
    }
    /// The trace for timeline, find, statistics, flame graph, compare and insights; null:
    /// none (yet).
    const TraceStore* shown() const {
        const TraceEntry* entry = shown_entry();
        return entry ? entry->store : trace;
    }
};

}  // namespace gs
