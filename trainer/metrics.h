// Metrics: how close a drawn picture is to its photo. Used by Trainer::evaluate, gausscope eval and
// the per-image tables.
#pragma once

#include "renderer/math/psnr.h"
#include "renderer/scene/image.h"
#include "trainer/loss.h"

namespace gs {

struct PictureScore {
    double psnr = 0;  ///< dB, peak 1
    double ssim = 0;  ///< zero padded, all channels
    double l1 = 0;
};

using math::psnr_of;

/// Clamps `picture` to 0..1, as a written picture would be, and scores it. Masked pixels do not
/// count.
PictureScore score_picture(ImageF& picture, const Image8& photo, const Image8& mask);

}  // namespace gs
