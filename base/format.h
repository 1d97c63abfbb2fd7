// Numbers as people read them: thousands, bytes, times, with units; one spelling everywhere. NaN
// and infinities read
// "-". Called by every panel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gs {

/// 12400 -> "12,400".
std::string format_count(double count);
/// (3000, "view") -> "3,000 views", (1, "view") -> "1 view". With what is said of them, which
/// begins with its verb: (1, "view", "have no pose") -> "1 view has no pose".
std::string counted(std::uint64_t count, std::string_view noun, std::string_view have = {});
/// 1234567 -> "1.23 M"; for places that are narrow.
std::string format_short(double count);
/// 1536 -> "1.5 KiB".
std::string format_bytes(double bytes);
/// Nanoseconds with a fitting unit: "830 ns", "12.4 us", "3.21 ms", "2.5 s".
std::string format_ns(double nanoseconds);
/// Milliseconds with three digits: "3.21 ms".
std::string format_ms(double milliseconds);
/// Seconds as clock: "42 s", "3 min 12 s", "2 h 05 min".
std::string format_duration(double seconds);
/// Up to `digits` significant digits, no trailing zeros, plain or exponent form: "0.00016",
/// "3.2e-07".
std::string format_number(double value, int digits = 4);
/// (28.934, 2) -> "28.93".
std::string format_fixed(double value, int digits);
/// 28.934 -> "28.93 dB".
std::string format_db(double decibel);
/// At most four places: 0.0123, 1.46, 950, 1,460, 1.2 M; for statistics of any size.
std::string format_compact(double value);
/// format_number in the C locale with enough digits to read back exactly: for command arguments.
std::string argument(double value);
/// 0.254 -> "25.4 %".
std::string format_share(double share);

/// `text` as a CSV cell, quoted where needed.
std::string csv_cell(std::string_view text);
/// A finite number in full, an empty cell otherwise.
std::string csv_number(double value);

/// `text` inside HTML and XML; bytes that are not UTF-8 become U+FFFD.
std::string html_text(std::string_view text);

/// Words of a command line: separated by blanks, "..." and '...' keep blanks, backslash keeps the
/// next character.
std::vector<std::string> split_words(std::string_view text);
/// A word as a shell takes it: in '...' where it has more than plain characters, or none.
std::string shell_word(const std::string& text);

}  // namespace gs
