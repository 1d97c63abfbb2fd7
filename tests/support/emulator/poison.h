// What memory holds before anybody writes it: a pattern that is NaN read as float (0x7ff4cdcd) and
// as double, so it shows in every result it touches, and far outside of any array as an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gs::emulator {

inline constexpr std::uint32_t kPoison = 0x7ff4cdcdu;

inline void poison(void* to, std::size_t bytes) {
    auto* const at = static_cast<unsigned char*>(to);
    std::size_t done = 0;
    for (; done + sizeof kPoison <= bytes; done += sizeof kPoison)
        std::memcpy(at + done, &kPoison, sizeof kPoison);
    if (done < bytes) std::memcpy(at + done, &kPoison, bytes - done);
}

/// The offset of the first whole word of [from, from + bytes) that still is what poison() wrote, or
/// `bytes`. Words as poison() laid them: 4 bytes aligned.
inline std::size_t first_poison(const void* from, std::size_t bytes) {
    const auto* const at = static_cast<const unsigned char*>(from);
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    for (std::size_t i = (4 - address % 4) % 4; i + sizeof kPoison <= bytes; i += sizeof kPoison)
        if (std::memcmp(at + i, &kPoison, sizeof kPoison) == 0) return i;
    return bytes;
}

}  // namespace gs::emulator
