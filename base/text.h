// Small things done to text, in ASCII and without the locale. Used by parsers and wherever names
// are compared.
#pragma once

#include <string>
#include <string_view>

namespace gs {

inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

inline char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
inline std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower_case(c);
    return out;
}

}  // namespace gs
