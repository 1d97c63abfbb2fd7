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
