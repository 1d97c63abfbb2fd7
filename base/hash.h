// 64-bit hashes of arrays: to check that two runs still have the same bits without keeping them.
// The value depends on the bytes alone, never on threads. Not for adversaries. Used by captured
// steps and by the hashes of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/rng.h"

namespace gs {

/// Of `bytes`, continuing `seed`. Four lanes of multiply and xor over 32-byte strides, each
/// finished by hash64.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ull;
    std::uint64_t lane[4] = {seed, seed + kOdd, seed ^ kOdd, ~seed};
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    const auto take = [&](std::uint64_t& state, const std::byte* from, std::size_t n) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, n);
        state = (state ^ word) * kOdd;
        state ^= state >> 29;
    };
    for (; left >= 32; at += 32, left -= 32)
        for (std::size_t i = 0; i < 4; ++i) take(lane[i], at + 8 * i, 8);
    for (std::size_t i = 0; left > 0; ++i) {
        const std::size_t n = left < 8 ? left : 8;
        take(lane[i % 4], at, n);
        at += n;
        left -= n;
    }
    std::uint64_t out = hash64(bytes.size());
    for (const std::uint64_t state : lane) out = hash64(out ^ state);
    return out;
}

/// The same value on any number of threads: pieces of a fixed size, then the pieces' hashes.
template <class T>
std::uint64_t hash_array(std::span<const T> values, std::uint64_t seed = 0) {
    constexpr std::size_t kPiece = 1 << 16;
    const std::span<const std::byte> bytes = std::as_bytes(values);
    std::vector<std::uint64_t> pieces((bytes.size() + kPiece - 1) / kPiece);
    parallel_for(pieces.size(), 4, [&](std::size_t i) {
        const std::size_t first = i * kPiece;
        const std::size_t size = bytes.size() - first < kPiece ? bytes.size() - first : kPiece;
        pieces[i] = hash_bytes(bytes.subspan(first, size), seed);
    });
    // Of nothing it is a hash of the seed: what was hashed before stays in it.
    return hash_bytes(std::as_bytes(std::span<const std::uint64_t>(pieces)),
                      pieces.empty() ? seed : bytes.size());
}

}  // namespace gs
