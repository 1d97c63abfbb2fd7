// --precision fast: when it applies, and its loss of quality. Used by `gausscope render` and the
// studio (view.fast).
#pragma once

#include <string>

#include "renderer/raster/rasterizer.h"

namespace gs {

/// Why pictures asked for as fast are drawn exactly all the same; empty: they are drawn fast.
/// `cuda`: the backend is.
std::string why_exact(bool cuda, const GaussianModel& model);

/// What fast_psnr() gives of equal pictures, dB.
inline constexpr double kSamePicture = 200;
/// dB between the fast picture `drawn` and the exact one of the same view, which is drawn for it:
/// of all pixels and channels, clamped to 0..1; kSamePicture where they are equal. `options` and
/// `state` are those `drawn` was drawn with; the state's last picture is the exact one then.
double fast_psnr(Rasterizer& rasterizer, ParameterSource& source, const Camera& camera,
                 RenderOptions options, ForwardState& state, const RenderResult& drawn);

}  // namespace gs
