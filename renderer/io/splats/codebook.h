// Few values that stand for many: 256 numbers for scales and colours, and a palette of vectors for
// spherical harmonics. Used by the SOG writer. Deterministic: the same on every machine and any
// number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gs {

/// 256 ascending numbers (repeated when there are fewer values) with a small sum of squared
/// differences to the values, a little in favour of rare ones. Values must be finite.
std::array<float, 256> fit_codebook(std::span<const float> values);
/// The entry nearest to the value.
std::uint8_t nearest_entry(const std::array<float, 256>& codebook, float value);

struct VectorPalette {
    std::size_t entries = 0, dimensions = 0;
    std::vector<float> values;          ///< [entry][dimension]
    std::vector<std::uint16_t> labels;  ///< of each vector
};
/// Fills out[0 .. dimensions - 1] with vector i. Called from many threads.
using VectorSource = std::function<void(std::size_t i, float* out)>;
/// Gets the share done, 0..1; false stops (the result is then of no use).
using PaletteProgress = std::function<bool(double)>;

/// At most `entries` (up to 65536) vectors for `count`, by k-means in two levels: first into
/// regions, then each region by itself, so that the time is bounded by count * sqrt(entries). One
/// vector each when there are as few.
VectorPalette fit_palette(std::size_t count, std::size_t dimensions, std::size_t entries,
                          const VectorSource& source, const PaletteProgress& progress);

}  // namespace gs
