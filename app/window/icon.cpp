#include "app/window/icon.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gs {
namespace {

struct Blob {
    float x, y, long_axis, short_axis, angle;  // fractions of the icon, radians
    float r, g, b;
};
constexpr std::array<Blob, 3> kBlobs{{
    {0.40f, 0.42f, 0.24f, 0.10f, 0.6f, 0.99f, 0.62f, 0.24f},
    {0.62f, 0.45f, 0.22f, 0.11f, -0.7f, 0.20f, 0.70f, 0.95f},
    {0.50f, 0.66f, 0.26f, 0.10f, 0.0f, 0.55f, 0.85f, 0.35f},
}};

}  // namespace

IconPixels window_icon(int size) {
    IconPixels out{size, std::vector<std::uint8_t>(static_cast<std::size_t>(size) *
                                                   static_cast<std::size_t>(size) * 4)};
    const auto byte = [](float v) {
        return static_cast<std::uint8_t>(std::clamp(v, 0.0f, 1.0f) * 255.0f + 0.5f);
    };
    for (int row = 0; row < size; ++row) {
        for (int column = 0; column < size; ++column) {
            float r = 0, g = 0, b = 0, left = 1;
            for (const Blob& blob : kBlobs) {
                const float dx =
                    (static_cast<float>(column) + 0.5f) / static_cast<float>(size) - blob.x;
                const float dy =
                    (static_cast<float>(row) + 0.5f) / static_cast<float>(size) - blob.y;
                const float u =
                    (dx * std::cos(blob.angle) + dy * std::sin(blob.angle)) / blob.long_axis;
                const float v =
                    (dy * std::cos(blob.angle) - dx * std::sin(blob.angle)) / blob.short_axis;
                const float alpha = 0.95f * std::exp(-1.2f * (u * u + v * v)) * left;
                r += alpha * blob.r, g += alpha * blob.g, b += alpha * blob.b;
                left -= alpha;
            }
            std::uint8_t* pixel = &out.rgba[static_cast<std::size_t>(row * size + column) * 4];
            const float alpha = std::max(1 - left, 1e-4f);
            pixel[0] = byte(r / alpha), pixel[1] = byte(g / alpha), pixel[2] = byte(b / alpha),
            pixel[3] = byte(1 - left);
        }
    }
    return out;
}

}  // namespace gs
