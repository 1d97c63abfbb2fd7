#include "trainer/loss/loss_window.h"

#include <algorithm>

#include "base/check.h"
#include "trainer/loss/loss.h"

namespace gs {
namespace {

Image8 cut_out(const Image8& from, int x0, int y0, int width, int height) {
    Image8 out{width, height, from.channels, {}};
    for (int y = y0; y < y0 + height; ++y) {
        const std::uint8_t* row = from.at(x0, y);
        out.bytes.insert(out.bytes.end(), row, row + width * from.channels);
    }
    return out;
}

}  // namespace

Vec3d loss_gradient_at(int x, int y, const ImageF& window, int x0, int y0, const Image8& photo,
                       const Image8& mask, double lambda_dssim) {
    CHECK(x0 <= std::max(0, x - kLossReach) && y0 <= std::max(0, y - kLossReach) &&
              x0 + window.width >= std::min(photo.width, x + kLossReach + 1) &&
              y0 + window.height >= std::min(photo.height, y + kLossReach + 1),
          "the window holds what the gradient depends on");
    const Image8 part = cut_out(photo, x0, y0, window.width, window.height);
    const Image8 part_mask =
        mask.empty() ? Image8{} : cut_out(mask, x0, y0, window.width, window.height);
    ImageF gradient;
    const LossTerms terms = photo_loss(window, part, part_mask, lambda_dssim, &gradient);
    const auto masked = std::count(mask.bytes.begin(), mask.bytes.end(), 0);
    // Both are means, over the pixels that count.
    const double all = static_cast<double>(photo.pixels()) - static_cast<double>(masked);
    const double share = all > 0 ? static_cast<double>(terms.pixels) / all : 0;
    const auto at = [&](int c) {
        return share * static_cast<double>(gradient.at(c, x - x0, y - y0));
    };
    return {at(0), at(1), at(2)};
}

}  // namespace gs
