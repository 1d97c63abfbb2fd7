// Capture: posed photos and sparse points, as loaded from COLMAP or transforms.json (io/capture_io.h). Immutable once
// loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "renderer/base/vec.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

/// One photo with its camera. The photo is RGB, already undistorted, scaled, and composited over the background.
struct View {
    std::string name;   ///< file name relative to the photo folder, unique within the capture
    Camera camera;      ///< pinhole, of exactly the photo's size
    Image8 photo;       ///< 3 channels
    Image8 mask;        ///< 1 channel, 0 = ignore this pixel; empty when the view has no mask
    bool test = false;  ///< held out of training
};

struct SparsePoint {
    Vec3f position;
    std::uint8_t rgb[3] = {128, 128, 128};
};

struct Capture {
    std::string name, path;   ///< folder name and path
    std::string format;       ///< "COLMAP binary", "COLMAP text", "transforms.json", ...
    std::vector<View> views;  ///< sorted by name
    std::vector<SparsePoint> points;
    bool points_are_random = false;    ///< no points came with the capture
    std::vector<std::string> skipped;  ///< "NAME: why", one line per photo or frame left out
    std::vector<std::string> notes;    ///< what loading did: resampled lenses, downscaling, rejected points

    std::vector<std::size_t> view_indices(bool test) const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < views.size(); ++i)
            if (views[i].test == test) out.push_back(i);
        return out;
    }
};

}  // namespace gs
