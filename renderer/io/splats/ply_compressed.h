// What reader and writer of the compressed PLY share: its layout. Source: PlayCanvas' format, a PLY
// whose element `chunk` holds bounds for every 256 rows of `vertex`, which holds four packed 32-bit
// numbers a Gaussian; `sh` is optional and holds a byte a coefficient, channel-major.
#pragma once

#include <array>
#include <cstddef>

namespace gs {

inline constexpr std::size_t kChunkRows = 256;  ///< Gaussians that share a chunk's bounds
/// Columns of `chunk`. Old files lack the last six: their colours are 0..1.
inline constexpr std::array<const char*, 18> kChunkColumns = {
    "min_x",       "min_y",       "min_z",       "max_x",       "max_y",       "max_z",
    "min_scale_x", "min_scale_y", "min_scale_z", "max_scale_x", "max_scale_y", "max_scale_z",
    "min_r",       "min_g",       "min_b",       "max_r",       "max_g",       "max_b"};
/// Position and scale are 11, 10, 11 bits from the top; rotation is 2 bits (which component is
/// largest) and 3 x 10; colour is r g b alpha, 8 bits each.
inline constexpr std::array<const char*, 4> kPackedColumns = {"packed_position", "packed_rotation",
                                                              "packed_scale", "packed_color"};
inline constexpr float kShRange = 8.0f;  ///< a coefficient's byte covers -4..4

}  // namespace gs
