// Metrics: how close a drawn picture is to its photo. Used by Trainer::evaluate, gausscope eval and
// the per-image tables.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "base/progress.h"
#include "renderer/math/psnr.h"
#include "renderer/scene/capture.h"
#include "trainer/loss/loss.h"
#include "trainer/settings/trainer_types.h"

namespace gs {

/// NaN where every pixel is masked.
struct PictureScore {
    double psnr = kNotMeasured;  ///< dB, peak 1
    double ssim = kNotMeasured;  ///< zero padded, all channels
    double l1 = kNotMeasured;
    /// PSNR of the right half after the affine map of colours (3 x 4) that suits the left half
    /// best: what remains when exposure and colour are taken out. Measured where it is asked for.
    double psnr_fitted = kNotMeasured;
    double counted = 0;  ///< share of the pixels that no mask hides; all of the above are of them
};

/// Whose rules a score follows (eval --as). All clamp the picture to 0..1 and use windows of 11 x
/// 11, sigma 1.5, on data from 0 to 1; their means over photos are plain.
enum class ScoreRules {
    gausscope,   ///< the picture in floats; SSIM's windows reach into black
    inria,       ///< metrics.py: the picture rounded to 8 bits; SSIM as above
    gsplat,      ///< torchmetrics >= 1.4.2: floats; windows at the sides see the picture mirrored
    nerfstudio,  ///< pytorch_msssim: floats; only windows that are whole in the picture
};
inline constexpr std::array<const char*, 4> kScoreRuleNames{"gausscope", "inria", "gsplat",
                                                            "nerfstudio"};

using math::psnr_of;

/// Of a loss; NaN when every pixel was masked.
inline double psnr_of(const LossTerms& terms) {
    return terms.pixels > 0 ? psnr_of(terms.mse) : kNotMeasured;
}

/// Clamps `picture` to 0..1, as a written picture would be, and scores it. Masked pixels do not
/// count. `fitted`: also psnr_fitted.
PictureScore score_picture(ImageF& picture, const Image8& photo, const Image8& mask,
                           bool fitted = false, ScoreRules rules = ScoreRules::gausscope);

/// Views that can be trained on: not held out, with a photo of the camera's size, and not blind
/// (scene/lost_views.h) where there are others.
std::vector<std::size_t> trainable_views(const Capture& capture);
/// Those and the blind ones, which older versions trained on as well.
std::vector<std::size_t> trainable_or_blind_views(const Capture& capture);
/// Scores these views (indices into capture.views), but for those without a photo; stops early when
/// `progress` says so. `score_of` draws and measures one.
Evaluation score_views(const Capture& capture, const std::vector<std::size_t>& views,
                       const std::function<PictureScore(std::size_t view)>& score_of,
                       const Progress& progress, const char* doing = "evaluating");

}  // namespace gs
