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

}  // namespace gs::emulator
