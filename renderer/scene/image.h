// Pictures. Image8 as photos are decoded (interleaved bytes), ImageF as renderers and losses use
// them (planes of floats).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"

namespace gs {

/// [height][width][channels] bytes, top row first.
struct Image8 {
    int width = 0, height = 0, channels = 0;
    std::vector<std::uint8_t> bytes;

    bool empty() const { return bytes.empty(); }
    std::size_t pixels() const {
        return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    }
    const std::uint8_t* at(int x, int y) const {
        return bytes.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                               static_cast<std::size_t>(x)) *
                                  static_cast<std::size_t>(channels);
    }
};

/// [channels][height][width] floats, 0..1 for colours, top row first.
struct ImageF {
    int width = 0, height = 0, channels = 0;
    Buffer<float> values;

    ImageF() = default;
    ImageF(int w, int h, int c) { resize(w, h, c); }
    /// Content is not initialised.
    void resize(int w, int h, int c) {
        width = w;
        height = h;
        channels = c;
        values.resize_discard(pixels() * static_cast<std::size_t>(c));
    }
    std::size_t pixels() const {
        return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    }
    float* plane(int c) { return values.data() + static_cast<std::size_t>(c) * pixels(); }
    const float* plane(int c) const {
        return values.data() + static_cast<std::size_t>(c) * pixels();
    }
    float& at(int c, int x, int y) {
        return plane(c)[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                        static_cast<std::size_t>(x)];
    }
    float at(int c, int x, int y) const {
        return plane(c)[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                        static_cast<std::size_t>(x)];
    }
};

}  // namespace gs
