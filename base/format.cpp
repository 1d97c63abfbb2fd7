#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace gs {
namespace {

constexpr const char* kNone = "-";

/// Three significant digits with a fixed point: 3.21, 32.1, 321.
std::string three_digits(double value) {
    const double size = std::abs(value);
    if (size == 0) return "0";
    return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/// The bytes of the UTF-8 sequence that begins there; 0: none does.
std::size_t sequence_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(at);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                                                             : 0;
    if (length == 0 || at + length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
    // Too long, a surrogate, beyond U+10FFFF, or no character of XML.
    const unsigned second = byte(at + 1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F) ||
        (lead == 0xEF && second == 0xBF && byte(at + 2) > 0xBD))
        return 0;
    return length;
}

}  // namespace

std::string format_count(double count) {
    if (!std::isfinite(count)) return kNone;
    if (std::abs(count) >= 1e15) return fmt::format("{:.3g}", count);
    std::string digits = fmt::format("{:.0f}", std::abs(count));
    for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return count < -0.5 ? fmt::format("-{}", digits) : digits;
}

std::string counted(std::uint64_t count, std::string_view noun, std::string_view have) {
    std::string out = fmt::format("{} {}{}", format_count(static_cast<double>(count)), noun,
                                  count == 1 ? "" : "s");
    if (have.empty()) return out;
    const std::size_t verb_end = std::min(have.find(' '), have.size());
    const std::string_view verb = have.substr(0, verb_end);
    if (count != 1)
        out += fmt::format(" {}", verb);
    else if (verb == "have" || verb == "are")
        out += verb == "have" ? " has" : " is";
    else
        out += fmt::format(" {}s", verb);
    return out + std::string(have.substr(verb_end));
}

std::string format_short(double count) {
    if (!std::isfinite(count)) return kNone;
    const double size = std::abs(count);
    if (size < 9999.5) return format_count(count);
    if (size < 999500) return three_digits(count / 1e3) + " k";
    if (size < 999.5e6) return three_digits(count / 1e6) + " M";
    if (size < 1e15) return three_digits(count / 1e9) + " G";
    return fmt::format("{:.3g}", count);
}

std::string format_bytes(double bytes) {
    if (!std::isfinite(bytes)) return kNone;
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (std::abs(bytes) >= 999.5 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} B", bytes)
                     : fmt::format("{} {}", three_digits(bytes), units[unit]);
}

std::string format_ns(double nanoseconds) {
    if (!std::isfinite(nanoseconds)) return kNone;
    const double size = std::abs(nanoseconds);
    if (size < 999.5) return fmt::format("{:.0f} ns", nanoseconds);
    if (size < 999.5e3) return three_digits(nanoseconds / 1e3) + " us";
    if (size < 999.5e6) return three_digits(nanoseconds / 1e6) + " ms";
    return three_digits(nanoseconds / 1e9) + " s";
}

std::string format_ms(double milliseconds) {
    if (!std::isfinite(milliseconds)) return kNone;
    return (std::abs(milliseconds) < 0.0995 && milliseconds != 0
                ? fmt::format("{:.2g}", milliseconds)
                : three_digits(milliseconds)) +
           " ms";
}

std::string format_duration(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0 || seconds > 3.6e8) return kNone;
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_number(double value, int digits) {
    if (!std::isfinite(value)) return kNone;
    return fmt::format("{:.{}g}", value, digits);
}

std::string format_fixed(double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : std::string(kNone);
}

std::string format_db(double decibel) {
    return std::isfinite(decibel) ? fmt::format("{:.2f} dB", decibel) : std::string(kNone);
}

std::string format_compact(double value) {
    return std::abs(value) >= 999.5 ? format_short(value) : format_number(value, 3);
}

std::string argument(double value) { return fmt::format("{}", value); }

std::string format_share(double share) {
    if (!std::isfinite(share)) return kNone;
    return fmt::format("{:.1f} %", 100 * share);
}

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string csv_number(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

std::string html_text(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = sequence_at(text, at);
        const char c = text[at];
        if (length == 0)
            out += "\xEF\xBF\xBD";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
            out += text.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    return out;
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool open = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            word += text[++i];
            open = true;
        } else if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            open = true;
        } else if (c == ' ' || c == '\t') {
            if (open) words.push_back(std::exchange(word, {}));
            open = false;
        } else {
            word += c;
            open = true;
        }
    }
    if (open) words.push_back(word);
    return words;
}

std::string shell_word(const std::string& text) {
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./,:=+@%").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

}  // namespace gs
