#include "tests/support/spoilt_photos.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace gs {

Spoilt spoil_photos(Capture& capture, const Spoiling& how) {
    Spoilt out(capture.views.size());
    const std::vector<std::size_t> training = capture.view_indices(false);
    for (const std::size_t v : training) {
        const auto random = [&](std::uint64_t k, double size) {
            return size * (2 * static_cast<double>(random_uniform(how.seed, k, v)) - 1);
        };
        const double red = random(2, how.balance), blue = random(3, how.balance),
                     stops = random(1, how.stops) - (red + blue) / 3;
        out[v] = {stops + red, stops, stops + blue};
    }
    for (std::size_t c = 0; c < 3; ++c) {
        double mean = 0;
        for (const std::size_t v : training)
            mean += out[v][c] / static_cast<double>(training.size());
        for (const std::size_t v : training) out[v][c] -= mean;
    }
    for (std::size_t v = 0; v < capture.views.size(); ++v) {
        Image8& photo = capture.views[v].photo;
        const double side = std::max(photo.width, photo.height);
        for (int y = 0; y < photo.height; ++y)
            for (int x = 0; x < photo.width; ++x) {
                const double u = (x + 0.5 - 0.5 * photo.width) / side,
                             w = (y + 0.5 - 0.5 * photo.height) / side,
                             light = 1 - 2 * how.vignette * (u * u + w * w);
                std::uint8_t* at =
                    photo.bytes.data() +
                    3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(photo.width) +
                         static_cast<std::size_t>(x));
                for (std::size_t c = 0; c < 3; ++c) {
                    const double value = std::pow(
                        std::exp2(out[v][c]) * std::max(light, 0.0) * at[c] / 255.0, how.gamma);
                    at[c] = static_cast<std::uint8_t>(std::lround(255 * std::min(value, 1.0)));
                }
            }
    }
    return out;
}

}  // namespace gs
