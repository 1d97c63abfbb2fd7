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
};
struct ColmapModel {
    std::map<std::uint32_t, ColmapCamera> cameras;
    std::vector<ColmapImage> images;
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

}  // namespace gs
