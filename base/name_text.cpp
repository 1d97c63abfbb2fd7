#include "base/name_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace gs {
namespace {

/// Bytes of the character of UTF-8 that begins there; 0: none does (Unicode 15, table 3-7).
std::size_t character_at(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) {
        return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u;
    };
    const unsigned first = byte(i), second = byte(i + 1);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
    if (size == 0) return 0;
    const unsigned least = first == 0xE0   ? 0xA0
                           : first == 0xF0 ? 0x90
                                           : 0x80,
                   most = first == 0xED   ? 0x9F
                          : first == 0xF4 ? 0x8F
                                          : 0xBF;
    if (second < least || second > most) return 0;
    for (std::size_t k = 2; k < size; ++k)
        if ((byte(i + k) & 0xC0) != 0x80) return 0;
    return size;
}

/// The byte that the escape there stands for.
std::optional<char> escaped_at(std::string_view text, std::size_t i) {
    if (text.substr(i, kReplacement.size()) != kReplacement) return std::nullopt;
    const std::string_view digits = text.substr(i + kReplacement.size()).substr(0, 2);
    std::uint8_t byte = 0;
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, byte, 16);
    if (digits.size() != 2 || read.ptr != end || byte < 0x80) return std::nullopt;
    return static_cast<char>(byte);
}

}  // namespace

bool needs_text(std::string_view name) {
    for (std::size_t i = 0; i < name.size();) {
        const std::size_t size = character_at(name, i);
        if (size == 0 || escaped_at(name, i)) return true;
        i += size;
    }
    return false;
}

std::string text_from_name(std::string_view name) {
    std::string out;
    for (std::size_t i = 0; i < name.size();) {
        // U+FFFD that happens to look like an escape is also written byte by byte.
        const std::size_t size = escaped_at(name, i) ? 0 : character_at(name, i);
        const std::size_t raw = size > 0 ? 0 : escaped_at(name, i) ? kReplacement.size() : 1;
        for (std::size_t k = 0; k < raw; ++k)
            out += fmt::format("{}{:02x}", kReplacement, static_cast<unsigned char>(name[i + k]));
        out += name.substr(i, size);
        i += size + raw;
    }
    return out;
}

std::string name_from_text(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (const auto byte = escaped_at(text, i)) {
            out += *byte;
            i += kReplacement.size() + 2;
        } else {
            out += text[i++];
        }
    }
    return text_from_name(out) == text ? out : std::string(text);
}

}  // namespace gs
