// What the reader and the writer of .spz share. Source: nianticlabs/spz. A header and six streams,
// one after the other: positions (24-bit fixed point), alphas, colours, scales, rotations,
// spherical harmonics (colour channel fastest). Versions 1 to 3 are one gzip stream of header and
// streams; version 4 is a plain header and a zstd frame a stream. Axes are x right, y up, z back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gs {

inline constexpr std::uint32_t kSpzMagic = 0x5053474E;  ///< "NGSP"
inline constexpr std::size_t kSpzHeaderBytes = 16;
inline constexpr std::size_t kSpzHeader4Bytes = 32;
inline constexpr std::uint8_t kSpzAntialiased = 1, kSpzHasExtensions = 2;  ///< flags
inline constexpr float kSpzColorScale =
    0.15f;  ///< byte / 255 = 0.5 + 0.15 sh0: sh0 beyond +-3.33 does not fit
inline constexpr float kSpzScaleBase = -10, kSpzScaleSteps = 16;  ///< byte = 16 (log scale + 10)

/// The fields both headers have.
struct SpzHeader {
    std::uint32_t version = 0;
    std::uint32_t count = 0;
    int sh_degree = 0;        ///< as stored, 0..4
    int fractional_bits = 0;  ///< of positions
    std::uint8_t flags = 0;
};
enum class SpzStream { positions, alphas, colors, scales, rotations, sh };
inline constexpr int kSpzStreams = 6;

/// Bytes of one Gaussian in a stream; 0 where there is none.
inline constexpr std::size_t spz_bytes(const SpzHeader& header, SpzStream stream) {
    switch (stream) {
        case SpzStream::positions:
            return header.version == 1 ? 6 : 9;  // half floats once
        case SpzStream::alphas:
            return 1;
        case SpzStream::colors:
        case SpzStream::scales:
            return 3;
        case SpzStream::rotations:
            return header.version < 3 ? 3 : 4;
        case SpzStream::sh:
            return 3 *
                   static_cast<std::size_t>((header.sh_degree + 1) * (header.sh_degree + 1) - 1);
    }
    return 0;
}

/// Odd powers of y and z in the bases 1..15, together: their coefficients change sign when both
/// axes turn round.
inline constexpr std::array<bool, 15> kShFlipsYZ = {true,  true, false, true, false,
                                                    false, true, false, true, false,
                                                    true,  true, false, true, false};

}  // namespace gs
