// Metrics: how close a drawn picture is to its photo. Used by Trainer::evaluate, gausscope eval and
// the per-image tables.
#pragma once

#include <cmath>

#include "renderer/scene/image.h"
#include "trainer/loss.h"

namespace gs {

struct PictureScore {
    double psnr = 0;  ///< dB, peak 1
    double ssim = 0;  ///< zero padded, all channels
    double l1 = 0;
};

/// Equal pictures would give infinity, which neither JSON nor a plot can hold: 200 dB stands for
/// it.
inline double psnr_of(double mse) {
    return mse > 1e-20 ? -10.0 * std::log10(mse) : (std::isnan(mse) ? 0.0 : 200.0);
}

/// Clamps `picture` to 0..1, as a written picture would be, and scores it. Masked pixels do not
/// count.
PictureScore score_picture(ImageF& picture, const Image8& photo, const Image8& mask);

}  // namespace gs
