// The built-in sample capture: the diorama photographed on a spiral, written as a COLMAP text model
// with sparse points, so that every program of the field can read it and no download is needed.
// Called by `gausscope sample`.
#pragma once

#include <cstdint>
#include <string>

#include "renderer/io/captures/capture_io.h"

namespace gs {

struct SampleOptions {
    int views = 48;
    int width = 640, height = 480;  ///< pixels
    int points = 20000;             ///< about; points are kept where a surface was met
    std::uint64_t seed = 42;        ///< of the choice of points
    Progress progress;
    std::string scenery = "diorama";  ///< one of assets/sample
};
struct SampleReport {
    std::size_t views = 0, points = 0;
    double seconds = 0;
};

/// Writes FOLDER/images/view_NNN.png (RGBA) and FOLDER/sparse/0/{cameras,images,points3D}.txt,
/// replacing files of these names and removing photos of an earlier sample that had more. Errors:
/// unwritable, cancelled.
Result<SampleReport> write_sample_capture(const fs::path& folder, const SampleOptions& options);
/// "view_007.png": of the photo number `i`, from 0.
std::string sample_photo_name(std::size_t i);
/// The cameras of the spiral.
Camera sample_camera(const SampleOptions& options, int view);

}  // namespace gs
