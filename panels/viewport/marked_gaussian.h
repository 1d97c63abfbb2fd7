// The marked Gaussian, outlined over the picture: three ellipses at two standard deviations and its
// number. Drawn with the viewport's overlays.
#pragma once

#include <imgui.h>

#include <array>
#include <vector>

#include "panels/state/snapshot.h"
#include "panels/viewport/frusta.h"

namespace gs {

/// Its outlines as lines on `camera`'s picture; empty behind the camera.
std::vector<std::array<Pixel, 2>> outline_of(const MarkedGaussian& marked, const Camera& camera);
/// "#17, opacity 0.83, sizes 0.1 x 0.02 x 0.02".
std::string words_of(const MarkedGaussian& marked);

}  // namespace gs
