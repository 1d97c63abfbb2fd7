// Metrics: how close a drawn picture is to its photo. Used by Trainer::evaluate, gausscope eval and
// the per-image tables.
#pragma once

#include "renderer/math/psnr.h"
#include "renderer/scene/image.h"
#include "trainer/loss.h"
#include "trainer/trainer_types.h"

namespace gs {

/// NaN where every pixel is masked.
struct PictureScore {
    double psnr = kNotMeasured;  ///< dB, peak 1
    double ssim = kNotMeasured;  ///< zero padded, all channels
    double l1 = kNotMeasured;
    /// PSNR of the right half after the affine map of colours (3 x 4) that suits the left half
    /// best: what remains when exposure and colour are taken out. Measured where it is asked for.
    double psnr_fitted = kNotMeasured;
};

using math::psnr_of;

/// Of a loss; NaN when every pixel was masked.
inline double psnr_of(const LossTerms& terms) {
    return terms.pixels > 0 ? psnr_of(terms.mse) : kNotMeasured;
}

/// Clamps `picture` to 0..1, as a written picture would be, and scores it. Masked pixels do not
/// count. `fitted`: psnr_fitted, too.
PictureScore score_picture(ImageF& picture, const Image8& photo, const Image8& mask,
                           bool fitted = false);

}  // namespace gs
