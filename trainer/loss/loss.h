// Loss: (1 - lambda) L1 + lambda (1 - SSIM) of a picture against its photo, with d loss / d
// picture, in one pass over the picture. Photos stay bytes. The trainer calls it every step;
// evaluation calls it for its sums (metrics.h).
#pragma once

#include <cstdint>

#include "renderer/scene/image.h"

namespace gs {

struct LossTerms {
    double loss = 0;
    double l1 = 0;             ///< mean |picture - photo|
    double mse = 0;            ///< mean (picture - photo)^2
    double ssim = 0;           ///< mean of the SSIM map, all channels
    std::uint64_t pixels = 0;  ///< that count, i.e. not masked
};

/// `picture`: 3 planes; `photo`: 3 channels of the same size; `mask`: 1 channel of the same size or
/// empty, 0 = ignored: the pixel counts nowhere, gets no gradient, and is black in both pictures
/// where a window reaches over it. `gradient` (may be null) becomes d loss / d picture. Results do
/// not depend on the thread count. SSIM: 11 x 11 Gaussian window, sigma 1.5, zero padding, C1 =
/// 0.01^2, C2 = 0.03^2 (Wang et al. 2004; as 3DGS trains). `edge`, without a gradient: windows
/// whose centre is nearer than that to a side of the picture, px, are left out of the SSIM.
LossTerms photo_loss(const ImageF& picture, const Image8& photo, const Image8& mask,
                     double lambda_dssim, ImageF* gradient, int edge = 0);
/// The same against a photo of floats, 3 planes.
LossTerms photo_loss(const ImageF& picture, const ImageF& photo, const Image8& mask,
                     double lambda_dssim, ImageF* gradient);

}  // namespace gs
