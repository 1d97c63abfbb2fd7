// Compares a backend's picture and gradients with the double-precision reference in a few numbers:
// for bench before it times anything, and for selftest's stages. The comparison is
// app/verify/frame_check.h.
#pragma once

#include "app/verify/frame_check.h"
#include "renderer/raster/rasterizer.h"

namespace gs::cli {

/// Draws `model` with both: colour, opacity, counts, and gradients if asked for. The reference is
/// slow: keep pictures small.
VerifyReport verify_frame(const GaussianModel& model, const Camera& camera,
                          const RenderOptions& options, Rasterizer& rasterizer, bool gradients);
/// Every n-th Gaussian, such that at most `limit` are left.
GaussianModel thinned(const GaussianModel& model, std::size_t limit);

}  // namespace gs::cli
