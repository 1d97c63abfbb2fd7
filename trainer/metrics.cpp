#include "trainer/metrics.h"

#include <algorithm>

#include "base/parallel.h"

namespace gs {

PictureScore score_picture(ImageF& picture, const Image8& photo, const Image8& mask) {
    parallel_ranges(picture.values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            picture.values[i] = std::clamp(picture.values[i], 0.0f, 1.0f);
    });
    const LossTerms terms = photo_loss(picture, photo, mask, 0.0, nullptr);
    return {psnr_of(terms.mse), terms.ssim, terms.l1};
}

}  // namespace gs
