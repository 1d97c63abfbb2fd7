// Snapshot: everything panels may know, for one UI frame. The engine publishes immutable parts (shared_ptr<const ...>)
// through Latest<>; the app assembles them. Panels read it, keep only their own view state, and answer with Commands.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panels/file_types.h"
#include "panels/scene_state.h"
#include "profiler/core/stage.h"
#include "renderer/base/log.h"
#include "renderer/base/vec.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

class TraceStore;     // profiler/store.h
class DevicePicture;  // renderer/device/device_picture.h; panels never look into it

enum class ViewMode { color, depth, alpha, contributors, isects, pairs, error, photo };
inline constexpr std::array<const char*, 8> kViewModeNames{"color",  "depth", "alpha", "contributors",
                                                           "isects", "pairs", "error", "photo"};
enum class DrawStyle { splats, points, ellipsoids };
inline constexpr std::array<const char*, 3> kDrawStyleNames{"splats", "points", "ellipsoids"};
enum class Colormap { viridis, inferno, cividis, turbo, gray, diverging };
inline constexpr std::array<const char*, 6> kColormapNames{"viridis", "inferno", "cividis",
                                                           "turbo",   "gray",    "diverging"};
enum class RangeMode { automatic, manual, percentile };
inline constexpr std::array<const char*, 3> kRangeModeNames{"auto", "manual", "percentile"};
/// How the picture and the other one that it is compared with share the viewport.
enum class Compare { off, beside, split, toggle };
inline constexpr std::array<const char*, 4> kCompareNames{"off", "beside", "split", "toggle"};
enum class CompareWith { photo, scene };
inline constexpr std::array<const char*, 2> kCompareWithNames{"photo", "scene"};
enum class Navigation { orbit, trackball, fly };
inline constexpr std::array<const char*, 3> kNavigationNames{"orbit", "trackball", "fly"};

/// How the viewport is drawn. Owned by the app, changed by commands ("view.mode depth"), shown by the viewport panel.
struct ViewSettings {
    ViewMode mode = ViewMode::color;
    DrawStyle style = DrawStyle::splats;
    Colormap colormap = Colormap::viridis;
    RangeMode range = RangeMode::automatic;
    double range_lo = 0, range_hi = 1;  ///< in the map's own unit
    double percentile = 99;             ///< upper; the lower is 100 - this
    bool logarithmic = false;
    Compare compare = Compare::off;
    CompareWith with = CompareWith::photo;  ///< the scene counts while a second one is open
    double split = 0.5;                     ///< 0..1 across the picture
    bool show_photo = false;                ///< in compare mode toggle: the other picture instead of this one
    bool swapped = false;                   ///< two scenes: B is this picture, A the other one
    bool signed_error = false;  ///< mode error: this picture minus the other one, not the size of the difference
    bool tile_grid = false;     ///< lines every `ViewFrame::map_cell` pixels over tile maps
    Vec3f background{0, 0, 0};  ///< 0..1, behind the splats of the free camera
    bool frusta = true;
    bool overlays = true;  ///< legend, value under mouse, axes
    Navigation navigation = Navigation::orbit;
    int sh_degree = 3;
    double scale_modifier = 1;
    double fly_speed = 1;         ///< scene extents per second
    double viewer_budget = 0.25;  ///< share of engine time view frames may take while training
    double lod_budget = 2e6;      ///< streamed sets: Gaussians drawn at most
    double lod_pixels = 2;        ///< the same: how far apart the Gaussians of a region may lie on the screen
    int lod_level = -1;           ///< the same: this level everywhere; -1: by distance and budget
    int capture_view = -1;        ///< index of the capture camera the viewport is snapped to, -1: free
};

/// One picture for the viewport, as the engine made it: in `rgba`, or left in device memory in `picture`. `map` holds
/// the scalar behind a heatmap, in its own unit.
struct ViewFrame {
    std::uint64_t serial = 0;
    std::uint64_t request = 0;  ///< number of the view request it answers
    std::uint64_t step = 0;     ///< training step it shows
    ViewMode mode = ViewMode::color;
    Camera camera;
    Image8 rgba;  ///< 4 channels, the colormap applied for maps; empty when `picture` holds the colours
    std::shared_ptr<const DevicePicture> picture;  ///< null: `rgba` is the picture
    ImageF map;  ///< 1 plane at picture size for depth, alpha, contributors, error; at tile size for isects, pairs
    int map_cell = 1;                   ///< pixels per map value: 1, or the tile size
    double range_lo = 0, range_hi = 1;  ///< range the colormap was applied with
    double map_min = 0, map_max = 0, map_mean = 0, map_p50 = 0, map_p95 = 0;
    std::string unit;                       ///< "world units", "Gaussians", "pairs", "|error|"
    Colormap colormap = Colormap::viridis;  ///< applied to the map
    bool logarithmic = false;               ///< the same
    Image8 photo;                           ///< the capture's photo for this camera, RGB; empty for a free camera
    double psnr = 0;                        ///< against the photo, 0 when there is none
    double milliseconds = 0;                ///< what the engine spent on it
    std::uint64_t visible = 0, isects = 0;
    // ---- where two scenes are compared
    std::string name;                        ///< which of them this is: "A", "B"; empty: only one is drawn
    std::string scene;                       ///< "playbot.sog"; in mode error what was subtracted: "A - B"
    std::shared_ptr<const ViewFrame> other;  ///< the other scene from the same camera; its map has the same range
    double psnr_between = std::numeric_limits<double>::quiet_NaN();  ///< of one picture against the other, dB
    double ssim_between = std::numeric_limits<double>::quiet_NaN();  ///< NaN: not measured while the camera moves
};

struct CurvePoint {
    float step, value;
};
/// A change made while training, drawn as a mark on every curve.
struct CurveMark {
    std::uint64_t step;
    std::string text;  ///< "lr_means 0.00016 -> 0.0002"
};
struct Curves {
    std::vector<CurvePoint> loss, train_psnr, gaussians, step_ms, test_psnr, test_ssim, lr_means;
    std::vector<CurveMark> marks;
};

enum class RunState { empty, loading, ready, training, paused, finished, failed };
inline constexpr std::array<const char*, 7> kRunStateNames{"empty",  "loading",  "ready", "training",
                                                           "paused", "finished", "failed"};

struct TrainingStatus {
    RunState state = RunState::empty;
    std::string message;  ///< what is being loaded, or why it failed
    double progress = 0;  ///< 0..1 while loading
    std::uint64_t step = 0, total_steps = 0, run_to = 0;
    /// NaN: not known (yet); a device tells a step's loss a little later.
    double loss = std::numeric_limits<double>::quiet_NaN(), train_psnr = loss, test_psnr = loss, test_ssim = loss;
    double step_ms = 0;  ///< mean of the last 50 steps
    double eta_seconds = 0;
    std::uint64_t gaussians = 0;
    double viewer_share = 0;  ///< measured share of engine time spent on view frames, 0..1
    std::string last_checkpoint;
};

/// One hyper-parameter as the Training panel shows it; edited with "train.set NAME VALUE".
struct SettingRow {
    std::string name, group, help;
    double value = 0, min = 0, max = 1;
    bool integer = false, logarithmic = false, live = false;
};

struct CameraRow {
    std::size_t view = 0;
    std::string name;
    bool test = false;
    Camera camera;
    int times_sampled = 0;
    double psnr = 0, ssim = 0, loss = 0;  ///< newest; NaN: not measured yet
    std::vector<CurvePoint> psnr_history, loss_history;
};

struct Histogram {
    std::string name, unit;  ///< "opacity", "scale"
    double lo = 0, hi = 1;
    bool logarithmic = false;
    std::vector<float> counts;
};
struct MemoryRow {
    std::string category;
    std::uint64_t bytes = 0;
    bool device = false;     ///< in the GPU's memory, not the host's
    std::uint64_t peak = 0;  ///< most that was ever in use of it (an arena's high-water mark), 0: not told
};
/// A GPU's memory as a whole.
struct DeviceMemory {
    std::uint64_t total_bytes = 0, free_bytes = 0;
    std::uint64_t held_bytes = 0;  ///< allocated by this process
};

/// What a stage took against the least this machine needs for it. Bytes and operations are of one sample of the scope.
struct StageCost {
    Stage stage = Stage::other;
    double measured_ms = std::numeric_limits<double>::quiet_NaN();  ///< NaN: not measured
    double floor_ms = std::numeric_limits<double>::quiet_NaN();     ///< NaN: nothing is known that limits it
    double bytes = 0, operations = 0;                               ///< 0: none, or not counted
    std::string limit;     ///< what makes the floor: "memory", "arithmetic", "launch", ...
    bool counted = false;  ///< bytes and operations follow from counts of these frames; false: from a model's estimate
    double ratio() const { return measured_ms / floor_ms; }
};
struct StageCosts {
    std::string machine;    ///< "NVIDIA H200"
    std::string sample;     ///< what one sample is: "iteration"
    bool measured = false;  ///< the ceilings were measured on this machine; false: they are from its data sheet
    double bytes_per_second = std::numeric_limits<double>::quiet_NaN();
    double operations_per_second = std::numeric_limits<double>::quiet_NaN();
    std::vector<StageCost> stages;
};
struct SceneInfo {
    std::string name, path, format;
    std::uint64_t gaussians = 0;
    int sh_degree = 0;
    Vec3f lo{}, hi{};   ///< bounds of the means
    double extent = 1;  ///< radius of the cameras, or of the bounds
    Vec3f center{};
    Vec3f up{0, -1, 0};  ///< world direction that is up, from the cameras
    std::size_t train_views = 0, test_views = 0, points = 0;
    std::vector<std::string> skipped, notes;
    std::vector<Histogram> histograms;  ///< opacity, scale, anisotropy, SH energy
    std::vector<MemoryRow> memory;
};

/// The colour of one pixel of the frame, where the panels cannot see it themselves.
struct PixelColor {
    int x = -1, y = -1;
    std::array<std::uint8_t, 4> rgba{};
};

/// A trace that the timeline and the panels beside it can show: this session, an opened file, an attached process.
struct TraceEntry {
    std::uint64_t id = 0;  ///< stays the same while it is open
    std::string name;      ///< "this session", "run.pftrace", "python train.py (1234)"
    std::string detail;    ///< a file's path; what else is known
    std::string problem;   ///< why it could not be opened, or why nothing comes any more; empty: nothing is wrong
    const TraceStore* store = nullptr;  ///< null while it is read; read by the UI thread only
    double progress = 1;                ///< below 1 while it is read; NaN: how far is not known
    bool live = false;                  ///< grows
    bool own = false;                   ///< this session: it cannot be closed
};

struct Snapshot {
    std::shared_ptr<const SceneInfo> scene;
    std::shared_ptr<const SceneInfo> other;  ///< the second scene, null: none is open
    std::shared_ptr<const Curves> curves;
    std::shared_ptr<const std::vector<CameraRow>> cameras;
    std::shared_ptr<const std::vector<SettingRow>> settings;
    std::shared_ptr<const ViewFrame> frame;
    TrainingStatus training;
    ViewSettings view;
    std::vector<Activity> activities;            ///< longest running first
    std::vector<Notice> notices;                 ///< oldest first
    std::shared_ptr<const DoctorReport> doctor;  ///< null: not examined yet
    std::shared_ptr<const LevelsState> levels;   ///< null: the scene has no levels
    std::shared_ptr<const MarkedGaussian> marked;
    Camera camera;                      ///< the viewport's camera now (the frame's may be older)
    const TraceStore* trace = nullptr;  ///< of this session; read by the UI thread only
    std::vector<TraceEntry> traces;     ///< everything that can be shown, this session first; empty: only `trace`
    std::uint64_t shown_trace = 0;      ///< TraceEntry::id
    std::shared_ptr<const FileTypes> file_types;  ///< null: every file is just a file
    std::vector<std::string> recent;              ///< paths opened lately
    std::string backend, device;                  ///< "CPU (AVX3_SPR, 2 threads)", "Intel Xeon ..."
    std::string present_path;  ///< how pictures get from the GPU to the screen: "interop"; empty: not used
    std::optional<DeviceMemory> device_memory;
    std::shared_ptr<const StageCosts> costs;
    std::uint64_t process_bytes = 0;  ///< resident memory of the process, 0: unknown
    std::uint64_t machine_bytes = 0;  ///< memory of the machine (or its container), 0: unknown
    double ui_fps = 0, ui_ms = 0;
    std::uint64_t dropped_records = 0;
    std::uint64_t frame_texture = 0;   ///< GL name of the viewport texture
    std::uint64_t second_texture = 0;  ///< GL name of what the picture is compared with: photo or second scene; 0: none
    PixelColor frame_pixel;            ///< under the mouse, of a frame whose picture is in device memory
    double ui_scale = 1;

    const TraceEntry* shown_entry() const {
        for (const TraceEntry& entry : traces)
            if (entry.id == shown_trace) return &entry;
        return nullptr;
    }
    /// The trace that timeline, find, statistics, flame graph, compare and insights look at; null: none (yet).
    const TraceStore* shown() const {
        const TraceEntry* entry = shown_entry();
        return entry ? entry->store : trace;
    }
};

}  // namespace gs
