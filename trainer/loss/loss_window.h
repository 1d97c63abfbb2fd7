// The loss's gradient at one pixel, from the pixels around it alone: the same as photo_loss() of
// the whole picture gives there. For who explains a pixel without drawing the rest.
#pragma once

#include "base/vec.h"
#include "renderer/scene/image.h"

namespace gs {

/// How far from a pixel another one may lie and still count in its gradient, px: SSIM windows that
/// hold both.
inline constexpr int kLossReach = 10;

/// d loss / d colour of pixel (x, y) of a picture that is measured against the whole `photo` (3
/// channels) and `mask` (1 channel or empty), as photo_loss() has them. `window`: 3 planes, the
/// part of the picture from (x0, y0) that holds all its pixels up to kLossReach from (x, y).
Vec3d loss_gradient_at(int x, int y, const ImageF& window, int x0, int y0, const Image8& photo,
                       const Image8& mask, double lambda_dssim);

}  // namespace gs
