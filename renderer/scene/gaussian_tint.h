// GaussianTint: how single Gaussians are shown otherwise than they are: in another colour, or not
// at all. One word each, looked up by projection after the colour was made, so that neither model
// nor training is touched. Colour by value, selection, hidden Gaussians and levels of detail are
// drawn through it (app/session/shown_tint.h). Pictures for people only.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/host_device.h"

namespace gs {

struct GaussianTint {
    /// 24 bits of sRGB colour as it will be on the screen, red lowest, and how much of it there is
    /// in the top byte: 0 = the Gaussian's own colour, kFullTint = this one alone.
    static constexpr std::uint32_t kOwn = 0, kFullTint = 254;
    /// Not drawn.
    static constexpr std::uint32_t kHidden = 0xff000000u;

    std::uint64_t serial = 0;     ///< another one whenever `words` changed: what copies go by
    Buffer<std::uint32_t> words;  ///< by row; rows behind the last are kOwn

    static constexpr std::uint32_t word(std::uint8_t red, std::uint8_t green, std::uint8_t blue,
                                        std::uint32_t share = kFullTint) {
        return std::uint32_t{red} | std::uint32_t{green} << 8 | std::uint32_t{blue} << 16 |
               share << 24;
    }
    static constexpr GS_HD bool hidden(std::uint32_t word) { return word >= kHidden; }
    /// A channel (0 red, 1 green, 2 blue) of a Gaussian whose own value is `own`, 0..1.
    static constexpr GS_HD float shown(float own, std::uint32_t word, int channel) {
        const float share = static_cast<float>(word >> 24) * (1.0f / kFullTint);
        const float tint = static_cast<float>(word >> (8 * channel) & 255u) * (1.0f / 255);
        return share * tint + (1.0f - share) * own;
    }
};

}  // namespace gs
