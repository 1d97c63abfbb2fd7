// VerifyReport: a frame against the double-precision reference, stage by stage: shown by the Verify
// panel and printed by `gausscope verify`. Made by app/verify/frame_check.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/comparison.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

struct VerifyReport {
    std::uint64_t serial = 0;  ///< changes with every report
    std::string scene;
    std::uint64_t step = 0;                 ///< of the training; 0: none
    Camera camera;                          ///< of the frame
    int width = 0, height = 0;              ///< of the frame, pixels
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;     ///< pixels [x0, x1) x [y0, y1) were verified
    std::uint64_t gaussians = 0;            ///< of the model
    std::uint64_t pixels = 0, fragile = 0;  ///< verified; ignored, as rounding may flip a decision
    std::vector<ComparisonRow> rows;  ///< by stage: projection, lists, picture, loss, gradients
    double seconds = 0;
    /// Largest difference of a pixel's channels, RGBA of the region: dark and transparent is none,
    /// white is `range` and more, fragile pixels are blue.
    std::shared_ptr<const Image8> difference;
    double range = 0;
    std::string note;  ///< unverified parts, and why; empty: none

    bool passed() const { return !rows.empty() && all_passed(rows); }
};

}  // namespace gs
