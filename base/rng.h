// Counter-based random numbers: value = hash(seed, stream, counter). No state to keep, the same on
// every thread and device. Source: SplitMix64 finaliser (Steele, Lea, Flood 2014) applied to a
// mixed key.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace gs {

GS_HD inline std::uint64_t hash64(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}
GS_HD inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t counter) {
    return hash64(hash64(hash64(seed) ^ stream) ^ counter);
}
/// Uniform in [0, 1) with 24 bits.
GS_HD inline float random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
    return static_cast<float>(random_bits(seed, stream, counter) >> 40) * 0x1p-24f;
}

}  // namespace gs
