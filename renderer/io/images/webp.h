// WebP as a container of numbers: four bytes a pixel, bit for bit. Used by SOG, which stores every
// attribute so.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"

namespace gs {

struct WebpImage {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgba;  ///< [height][width][4]
    std::size_t pixels() const { return rgba.size() / 4; }
};

/// Called now and then with the compressed bytes done since the last call; false stops.
using WebpTick = std::function<bool(std::size_t)>;

/// `name` is for messages. Nothing is allocated for an image outside min_pixels .. max_pixels.
/// Errors: malformed, cancelled.
Result<WebpImage> decode_webp(std::span<const std::byte> bytes, const std::string& name,
                              std::uint64_t min_pixels, std::uint64_t max_pixels,
                              const WebpTick& tick);
/// Lossless, also of colours under alpha 0. Errors: too large for the format (16383 a side),
/// cancelled.
Result<std::vector<std::byte>> encode_webp(const WebpImage& image, const WebpTick& tick);

}  // namespace gs
