// GaussianTint: how single Gaussians are shown otherwise than they are: in another colour, or not
// at all. One word each, looked up by projection after the colour was made, so that neither model
// nor training is touched. Colour by value, selection, hidden Gaussians and levels of detail are
// drawn through it (app/session/shown_tint.h). Pictures for people only.
#pragma once

#include <cstdint>

#include "base/buffer.h"

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
};

}  // namespace gs
