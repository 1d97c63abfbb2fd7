// Cutting text where a character of UTF-8 ends. Used wherever names are shortened, in recording
// processes too.
#pragma once

#include <cstddef>
#include <string_view>

namespace gs {

/// The beginning of `text`: at most `bytes` of it, no character cut in two.
constexpr std::string_view whole_characters(std::string_view text, std::size_t bytes) noexcept {
    if (text.size() <= bytes) return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
    return text.substr(0, bytes);
}

}  // namespace gs
