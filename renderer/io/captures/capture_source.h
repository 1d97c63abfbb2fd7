// What a capture's model files say, before any photo is decoded: the common form that the COLMAP,
// transforms.json, OpenSfM and drive readers produce and that load_capture and forecast_capture
// consume.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/capture.h"

namespace gs {

struct CaptureFiles;
struct CaptureOptions;

/// One photo as listed. `camera` is the lens as written in the file; its size may be 0 x 0 where
/// only the photo knows it.
struct Frame {
    std::string name;      ///< relative to the photo folder
    fs::path photo, mask;  ///< mask: named by the model file itself, usually empty
    bool guessed = false;  ///< leading folders of the written name were ignored to find the photo
    int shrunk = 1;        ///< N, where the photo is from images_N instead of a missing images
    Camera camera;
    std::uint32_t camera_number = 0;         ///< as in View
    std::optional<std::uint32_t> rig_frame;  ///< likewise
    /// Where given, focal lengths follow from the photo's size: 0.5 * side / tan(angle / 2).
    std::optional<double> angle_x, angle_y;
    bool centred = false;  ///< the principal point is the centre of the picture, whatever its size
    bool test = false;     ///< from a file of test frames
    bool shutter_without_poses = false;  ///< a rolling one, but nobody says how the camera moved
    std::optional<std::uint32_t> sweep;  ///< of the lidar, taken with it: see point_sweeps
};

/// A point as the file has it; SparsePoint has it less the capture's origin.
struct SourcePoint {
    Vec3d position;
    std::uint8_t rgb[3] = {128, 128, 128};
};

/// Names of photos by what they are for, as a capture lists them.
struct PhotoLists {
    std::string from;  ///< what listed them, for messages; empty: nothing did
    std::vector<std::string> train, val, test;
    bool any() const { return !train.empty() || !val.empty() || !test.empty(); }
};

struct CaptureSource {
    std::string format;
    std::string model;                ///< as in Capture
    std::vector<std::string> models;  ///< as in Capture
    fs::path root;                    ///< the capture's folder
    fs::path photo_folder;            ///< names are relative to it
    std::vector<Frame> frames;
    std::vector<SourcePoint> points;
    bool points_have_colors = true;  ///< false: photos give the points their colours
    /// [point], of a lidar, which sees no colours: the sweep it is of, which the photos taken
    /// about then give its colour. Empty: points have theirs.
    std::vector<std::uint32_t> point_sweeps;
    double reprojection_px = 0;          ///< as in Capture
    bool has_test_file = false;          ///< frames[].test is meant
    PhotoLists lists;                    ///< in the model file itself
    std::vector<fs::path> list_folders;  ///< where files that list test photos may be
    std::string split;                   ///< as in Capture; filled by prepare_frames()
    bool split_is_listed = false;
    std::vector<std::string> left_out;
    bool blender = false;  ///< NeRF-synthetic: objects lie within [-1.3, 1.3]^3
    std::vector<std::string> skipped, notes;
    std::vector<std::string> split_notes;  ///< names in lists that fit no photo
    std::vector<std::string> rig_notes;    ///< where rigs and photos disagree
    std::vector<std::string> unposed;      ///< filled by prepare_frames()
};

/// Reads the model files of a capture. Errors: not_found when there are none, malformed with a
/// place; usage, for a `model` (CaptureOptions) that it does not have.
Result<CaptureSource> read_capture_source(const CaptureFiles& files, const std::string& model);
/// Drops frames without a photo (unless photos are not wanted), sorts by name, decides which are
/// test views and drops those that a list leaves out. Errors: usage, for wrong options; malformed,
/// when no view is left.
Result<void> prepare_frames(CaptureSource& source, const CaptureOptions& options);
tl::unexpected<Error> no_view_left(const CaptureSource& source,
                                   const std::vector<std::string>& skipped);

/// Whether this text is in the first megabyte of a .json file.
bool head_has(const fs::path& json, std::string_view text);
/// The same camera with the intrinsics of an equirectangular picture of its size: all directions,
/// once.
Camera sphere_camera(Camera camera);

/// `root`: what the user named; `model`: the folder with cameras, images and perhaps points3D.
Result<CaptureSource> read_colmap(const fs::path& root, const fs::path& model);

/// The transforms.json to read: `path` itself or the one in it; empty if none.
fs::path find_transforms(const fs::path& path);
Result<CaptureSource> read_transforms(const fs::path& json);

/// What nerfstudio lists in a transforms.json, for photos that are posed by a model beside it;
/// nothing where it cannot be read.
PhotoLists lists_in_transforms(const fs::path& json);

/// OpenSfM's reconstruction.json: `path` itself or the one in it (or in its opensfm folder, as
/// OpenDroneMap has it); empty if none.
fs::path find_opensfm(const fs::path& path);
/// `wanted`: the number of a reconstruction, from 0; empty: the one of the most photos.
Result<CaptureSource> read_opensfm(const fs::path& json, const std::string& wanted);

/// Drives with a lidar: KITTI's sequences and single frames, nuScenes' sample.json. Empty if none
/// with photos.
fs::path find_drive(const fs::path& path);
Result<CaptureSource> read_drive(const fs::path& path);
/// Colours the points of a lidar from the photos taken nearest in time that show them. `frames`
/// and `point_sweeps` as in CaptureSource; points that no photo shows keep theirs.
void color_points(const std::vector<Frame>& frames, const std::vector<std::uint32_t>& point_sweeps,
                  Capture& capture);

}  // namespace gs
