// Loading captures: COLMAP sparse models (binary, text), transforms.json (instant-ngp,
// nerfstudio, NeRF-synthetic), OpenSfM's reconstruction.json and drives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "base/progress.h"
#include "renderer/io/captures/colmap_folders.h"
#include "renderer/scene/blocks.h"
#include "renderer/scene/capture.h"

namespace gs {

/// CaptureOptions::masks that leaves all masks out.
inline constexpr const char* kNoMasks = "none";

/// The default number of random points.
inline constexpr std::size_t kRandomPoints = 100000;

/// Whether test photos that the capture itself lists are held out.
enum class ListedSplit {
    used,
    separate_files,  ///< only transforms_test.json: what runs did before lists were read
    ignored
};

/// CaptureOptions::model of runs from before there was a choice: the one that was read then.
inline constexpr const char* kFirstModel = "<first>";

struct CaptureOptions {
    int downscale = 1;   ///< photos are shrunk by exactly this factor (area average); 0 = auto
                         ///< (longest side <= 1600)
    int max_side = 0;    ///< further limit for the longest side in pixels; 0 = none
    std::string model;   ///< of several COLMAP models or reconstructions the one called so; empty:
                         ///< the one of the most photos
    int test_every = 8;  ///< every n-th view by name, starting with the first, is a test view; 0 =
                         ///< none
    ListedSplit listed_split = ListedSplit::used;  ///< where there is one, it wins over test_every
    std::vector<std::string>
        test_views;  ///< names (with or without extension) that are the test views instead
    bool test_views_of_run = false;  ///< a photo may have gone since; otherwise that is an error
    bool lidars_of_run = false;      ///< a recording may have gone since; the same
    std::vector<std::string>
        left_out;               ///< names of views that are not used: what a run's list said
    Vec3f background{0, 0, 0};  ///< photos with alpha are composited over this
    std::string masks;       ///< folder of masks; empty = "masks" beside the photos where present;
                             ///< kNoMasks = none count
    bool undistort = false;  ///< photos are resampled to pinholes and a rolling shutter is left
                             ///< out, for what needs pinholes; else each keeps lens and shutter
    std::vector<std::string> lidars;  ///< recordings beside the capture, with poses in its world;
                                      ///< they join its own as Capture::lidars
    bool photos = true;               ///< false: cameras and points only
    std::size_t random_points =
        0;  ///< N random points replace the capture's own; 0 = only if it has none
    std::uint64_t photo_memory = 0;  ///< bytes that photos may take: where they do not fit, each is
                                     ///< read again when it is asked for; 0 = all stay
    bool late = false;  ///< with photo_memory, no photo is decoded before it is asked for: a photo
                        ///< that then cannot be is a PhotoError, and is not skipped
    int threads = 0;    ///< for decoding; 0 = all cores
    std::uint64_t seed = 0;       ///< for random points when the capture has none
    std::optional<Vec3d> origin;  ///< Capture::origin: that of a run or of splats; none: chosen
    std::optional<BlockPoints> block;  ///< only its points; none: all
    Progress progress;
};

/// What loading would need, read from headers only.
struct CaptureForecast {
    std::size_t photos = 0;
    int width = 0, height = 0;         ///< of the largest photo after scaling
    std::uint64_t photo_bytes = 0;     ///< resident after loading
    std::uint64_t streamed_bytes = 0;  ///< of photos that CaptureOptions::photo_memory keeps out
    std::uint64_t decode_bytes = 0;    ///< peak on top of that, while decoding
    std::size_t points = 0;            ///< random ones where the capture has none
};

struct CaptureSource;

/// The model files of a capture, found but not read.
struct CaptureFiles {
    fs::path path{};                     ///< the folder or file that was named
    std::vector<ColmapFolder> models{};  ///< of COLMAP
    fs::path file{};  ///< of the others: the .json file, or the folder of a drive
    /// Null without a capture. `model` as in CaptureOptions.
    Result<CaptureSource> (*read)(const CaptureFiles& files, const std::string& model) = nullptr;
    /// False for a .json file that does not look like a capture: its reader says what is wrong.
    bool certain = false;
};
CaptureFiles find_capture(const fs::path& path);
Result<CaptureForecast> forecast_capture(const CaptureFiles& files, const CaptureOptions& options);
/// Errors: no capture there, a model file malformed (with byte or line), no view left. Single bad
/// photos are skipped and named.
Result<Capture> load_capture(const CaptureFiles& files, const CaptureOptions& options);
inline Result<Capture> load_capture(const fs::path& path, const CaptureOptions& options) {
    return load_capture(find_capture(path), options);
}

}  // namespace gs
