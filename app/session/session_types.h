// Types that cross between the UI and the engine thread: jobs and view requests in, status and
// events out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/paths/path_contents.h"
#include "base/ceilings.h"
#include "base/expected.h"
#include "panels/state/snapshot.h"
#include "renderer/raster/rasterizer.h"
#include "trainer/run/run.h"
#include "trainer/settings/settings.h"
#include "trainer/training_backend.h"

namespace gs {

/// Steps between evaluations of the test photos in the studio: its plots need points.
inline constexpr std::uint64_t kStudioEvaluateEvery = 1000;

/// Options chosen for opening a capture; else the session's options apply.
struct OpenedAs {
    CaptureOptions loading;
    TrainingSettings settings;
    std::string output_dir;  ///< of its run; empty: a new one below runs/
};

/// A capture, splat file or checkpoint to open. `capture` belongs to a splat file or checkpoint.
struct OpenRequest {
    PathContents contents{};     ///< of kind unknown: found when it is loaded
    CaptureFiles capture{};      ///< without a path: none
    std::string open_capture{};  ///< used where neither the request nor the path names one
    bool train = false;          ///< start training as soon as it is loaded
    bool make_sample = false;    ///< write the sample capture there first, if it is missing
    bool overwrite = false;      ///< another run in the output folder is removed
    NamedValues settings{};      ///< changes to a resumed run
    std::optional<OpenedAs> as{};
    std::optional<Vec3d> origin{};  ///< of the scene that is open, where this is drawn beside it
    bool beside = false;  ///< keeps what is open and draws this beside it: splats, a checkpoint or
                          ///< a run's folder
};

/// The viewport's request. `camera.width`, `camera.height` are its size in pixels.
struct ViewRequest {
    Camera camera;
    ViewSettings settings;
    std::uint64_t serial = 0;  ///< counted by the asker; ViewFrame::request repeats it
    bool moving = false;       ///< the user is steering: fewer pixels for more pictures per second
};
/// One picture at exactly the requested size, whatever it costs; it comes back through
/// SessionOutbox::pictures.
struct PictureRequest {
    ViewRequest request;
    std::string path;  ///< where the UI will write it
    bool overlays = false;
};

/// What points are picked for, and what PlaceFinder::pick() answers.
enum class PickedFor { next_point, distance, up };
struct PickedPoints {
    PickedFor what = PickedFor::next_point;
    std::vector<Vec3d> points;  ///< world, in the order asked for
};

/// Small pictures of the photos that somebody looks at (app/session/parts/contact_sheet.h).
struct SheetRequest {
    int width = 0;         ///< of each, pixels, but never larger than the photo
    bool renders = false;  ///< not the photo alone, but also what the model draws, and the error
    std::vector<std::size_t> views{};  ///< by CameraRow::view, ascending; empty: none is wanted
    bool operator==(const SheetRequest&) const = default;
};

class Engine;           // app/session/engine.h
struct StudioState;     // app/studio/studio_state.h
struct UnpackedBundle;  // app/bundle/bundle_file.h
/// What the engine is asked to do, on its thread, between two steps.
using EngineJob = std::function<void(Engine&)>;
/// What the engine asks of the studio, on the UI thread: to undo or redo a change of its data.
using StudioJob = std::function<void(StudioState&)>;
struct EngineCommand {
    std::uint64_t serial = 0;
    EngineJob run;
};

/// Counts of the newest training step or view frame: what the cost model goes by.
struct FrameCost {
    RenderCounters counters;
    int width = 0, height = 0, sh_degree = 0;  ///< width 0: nothing has been drawn
};

struct EngineStatus {
    std::uint64_t commands_done = 0;  ///< serial of the last command carried out (or refused)
    std::uint64_t scene_serial = 0;   ///< counts scenes opened; 0: none yet
    bool evaluating = false;
    bool trains = false;            ///< a run is open
    std::uint64_t views_taken = 0;  ///< serial of the last view request that was looked at
    std::uint64_t carried_out = 0;  ///< like commands_done, whatever jobs it began still work
    std::string run_folder;         ///< that of the run, once it has one
    FrameCost step_cost, frame_cost;
};

/// What the engine publishes, all at once: what panels see, and what the studio goes by.
struct Published : SessionView {
    EngineStatus status;
    std::shared_ptr<const UnpackedBundle> bundle;  ///< that the scene came from; null: none
    std::optional<Ceilings> limits;  ///< what this machine can do at most, once that was measured
};

/// Something to tell: an error with the command that caused it, or a success worth a line ("saved
/// ...").
struct EngineEvent {
    std::uint64_t command = 0;  ///< serial, 0: none in particular
    bool error = false;
    std::string text;
    bool notice = false;               ///< to be shown, not only logged; errors always are
    std::vector<std::string> lines{};  ///< details of a notice
    bool warning = false;              ///< something to look at
};

/// What a note is pinned to, for the command that asked.
struct FoundPoint {
    std::uint64_t command = 0;
    Vec3d point{};           ///< world
    std::uint64_t step = 0;  ///< that training has done
    std::int64_t id = -1;    ///< of the Gaussian, in a run
};

struct Picture {
    std::uint64_t command = 0;
    PictureRequest asked;
    std::shared_ptr<const ViewFrame> frame;
};

/// Where pictures and training are computed comes from app/backend/backend.h; the CPU at first.
struct SessionOptions {
    TrainingSettings settings;
    CaptureOptions capture;
    std::string output_dir;  ///< of the first run; empty: a new one below runs/, as for all others
    RunOptions run;  ///< how runs go; their capture, folder and backend are filled in by the engine
    std::string backend;  ///< Backend::name; empty: a rasterizer's own
    std::function<Result<std::unique_ptr<Rasterizer>>()> make_rasterizer = make_cpu_rasterizer;
    bool on_device = false;  ///< these compute in a GPU's memory
    /// Empty: the CPU's, around make_rasterizer().
    std::function<Result<std::unique_ptr<TrainingBackend>>()> make_training;
    /// What this machine can do at most, measured `again` or from before (app/backend/limits.h).
    /// Empty: not known here.
    std::function<Result<Ceilings>(bool again)> limits;
    std::function<std::uint64_t()> free_device_bytes;  ///< of the device; empty on the CPU
};

}  // namespace gs
