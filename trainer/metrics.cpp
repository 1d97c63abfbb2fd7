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
    if (terms.pixels == 0) return {};
    return {psnr_of(terms), terms.ssim, terms.l1};
}

void Evaluation::add(const Evaluation& more) {
    images.insert(images.end(), more.images.begin(), more.images.end());
    seconds += more.seconds;
    const auto mean = [&](double ImageScore::*value) {
        double sum = 0, n = 0;
        for (const ImageScore& image : images)
            if (std::isfinite(image.*value)) sum += image.*value, ++n;
        return n > 0 ? sum / n : kNotMeasured;
    };
    psnr = mean(&ImageScore::psnr);
    ssim = mean(&ImageScore::ssim);
}

}  // namespace gs
