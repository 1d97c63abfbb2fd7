// How much room a frame gets: what was last needed and a quarter more, in steps, so that a steady
// view or run asks for the same room every time and nothing is allocated. CudaRasterizer and
// CudaTraining use it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace gs::cuda {

inline constexpr std::uint32_t kLeastRoom = 4096;
inline constexpr std::uint32_t kMostRoom = 1u << 30;  ///< what a sort is given at most

/// `n` rounded up to an eighth of its octave.
constexpr std::uint32_t stepped(std::uint64_t n) {
    if (n <= kLeastRoom) return kLeastRoom;
    const std::uint64_t step = std::bit_floor(n) / 8;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((n + step - 1) / step * step, kMostRoom));
}
/// Room for a frame that will need about what the last one did. `current` stays while it is neither
/// tight nor more than twice too much: a sort costs by its room.
constexpr std::uint32_t room_for(std::uint32_t needed, std::uint32_t current) {
    const std::uint32_t wanted = stepped(static_cast<std::uint64_t>(needed) * 5 / 4);
    const bool tight = static_cast<std::uint64_t>(needed) * 17 / 16 > current;
    return tight || current / 2 > wanted ? wanted : current;
}

}  // namespace gs::cuda
