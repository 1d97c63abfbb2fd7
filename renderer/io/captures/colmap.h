// COLMAP sparse models as they are in the files. Private to renderer/io: colmap_binary.cpp and
// colmap_text.cpp fill this, colmap.cpp turns it into a CaptureSource. Layout:
// https://colmap.github.io/format.html.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/captures/capture_source.h"

namespace gs {

struct ColmapCamera {
    int model = -1;       ///< COLMAP's own number; -1: one of another program or version
    std::string unknown;  ///< then "unknown model ..."
    std::uint64_t width = 0, height = 0;
    std::vector<double> params;
};
struct ColmapImage {
    std::uint32_t camera = 0;
    Quatd rotation{1, 0, 0, 0};  ///< camera_from_world
    Vec3d translation{};
    std::string name;
    std::uint64_t number = 0;  ///< its own, as frames have it
};
/// Cameras fixed to each other: by number, those whose place in it is known.
struct ColmapRig {
    std::map<std::uint32_t, Pose> camera_from_rig;
};
/// What a rig's cameras took at once.
struct ColmapFrame {
    std::uint32_t number = 0, rig = 0;
    Pose rig_from_world;
    std::vector<std::uint64_t> images;
};
struct ColmapModel {
    std::map<std::uint32_t, ColmapCamera> cameras;
    std::vector<ColmapImage> images;
    std::map<std::uint32_t, ColmapRig> rigs;
    std::vector<ColmapFrame> frames;
    std::vector<SourcePoint> points;
    bool points_have_colors = true;  ///< as in CaptureSource
    double error_sum = 0;            ///< of reprojection errors, pixels
    std::size_t errors = 0;          ///< points that have one
    std::size_t bad_points = 0;      ///< dropped because a coordinate is not finite
};

/// COLMAP 4.1 numbers its lenses from 0 to one below this.
inline constexpr std::size_t kColmapLenses = 18;
struct ColmapLens {
    const char* name;
    int params;
};
/// COLMAP's camera models by number; nullptr for a number it does not have.
const ColmapLens* colmap_lens(int model);
/// Number of a model by its name in text files, -1 when unknown.
int colmap_lens_number(std::string_view name);
/// Adds the point unless a coordinate is NaN or infinite. `error`: its mean reprojection error in
/// pixels; not above 0 or not finite: nobody measured it.
void add_point(ColmapModel& model, double x, double y, double z, const std::uint8_t (&rgb)[3],
               double error);

Result<void> read_cameras_binary(const fs::path& path, ColmapModel& model);
Result<void> read_images_binary(const fs::path& path, ColmapModel& model);
Result<void> read_points_binary(const fs::path& path, ColmapModel& model);
Result<void> read_cameras_text(const fs::path& path, ColmapModel& model);
Result<void> read_images_text(const fs::path& path, ColmapModel& model);
Result<void> read_points_text(const fs::path& path, ColmapModel& model);
/// Both files as .bin or .txt.
Result<void> read_rigs(const fs::path& rigs, const fs::path& frames, ColmapModel& model);

/// Photos of frames of several, and those of them that are not where their rig has them: by more
/// than 0.1 degrees, or a hundredth of the rig's size.
struct RigPhotos {
    std::map<std::uint64_t, std::uint32_t> frame_of_image;
    std::size_t frames = 0, apart = 0;
    double degrees = 0, distance = 0;  ///< at most; world units
};
RigPhotos photos_of_rigs(const ColmapModel& model);
/// Fills the model's rigs and frames: a photo without a frame gets one of its own. False, with each
/// photo in one of its own: a frame has two photos of one camera, or the cameras of a rig are not
/// fixed to each other to a millionth, and by their rig photos would be elsewhere.
bool group_into_rigs(std::span<const std::optional<std::uint32_t>> frame_of_image,
                     ColmapModel& model);

}  // namespace gs
