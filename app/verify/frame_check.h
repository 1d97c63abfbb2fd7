// Compares a frame of any backend with the double-precision reference, stage by stage. One function
// for all callers: the studio's verify.frame, `gausscope verify` and `replay`, bench before it
// times anything, and selftest. Fragile pixels (where float rounding may validly flip a decision)
// are skipped on both sides and counted.
#pragma once

#include "base/expected.h"
#include "base/progress.h"
#include "panels/state/verify_report.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/reference/rasterize.h"

namespace gs {

inline constexpr double kColorLimit = 2e-5;     ///< largest difference of colour or alpha
inline constexpr double kGradientLimit = 1e-4;  ///< relative L2

struct FrameToCheck {
    const GaussianModel& model;
    Camera camera;
    RenderOptions options;
    reference::Region region{};     ///< the whole picture at first
    bool gradients = false;         ///< also backward; the camera must be a pinhole
    const Image8* photo = nullptr;  ///< of the camera's size: also verify loss and its gradient
    double lambda_dssim = 0.2;      ///< of the loss
};
/// Draws with `rasterizer` and the reference, on all cores. Errors: cancelled.
Result<VerifyReport> check_frame(const FrameToCheck& frame, Rasterizer& rasterizer,
                                 const Progress& progress = {});

}  // namespace gs
