// The log: lines with a level and a time, to stderr and into a buffer that the studio's Log panel
// reads. log_info("loaded {} photos", n). Callable from every thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gs {

enum class LogLevel { debug, info, warning, error };

struct LogLine {
    std::uint64_t serial = 0;  ///< 1, 2, 3, ... in the order written
    std::int64_t time_ms = 0;  ///< wall clock, milliseconds since 1970
    LogLevel level = LogLevel::info;
    std::string text;
};

/// Lines below `level` do not reach stderr (they still reach the buffer). Default info.
void set_log_level(LogLevel level);
void write_log(LogLevel level, std::string_view text);
/// Up to `limit` buffered lines with serial > `after`, oldest first. The buffer keeps the newest
/// 5,000.
std::vector<LogLine> log_lines_after(std::uint64_t after, std::size_t limit = 5000);
void flush_log();

template <class... A>
void log_debug(fmt::format_string<A...> f, A&&... a) {
    write_log(LogLevel::debug, fmt::format(f, std::forward<A>(a)...));
}
template <class... A>
void log_info(fmt::format_string<A...> f, A&&... a) {
    write_log(LogLevel::info, fmt::format(f, std::forward<A>(a)...));
}
template <class... A>
void log_warning(fmt::format_string<A...> f, A&&... a) {
    write_log(LogLevel::warning, fmt::format(f, std::forward<A>(a)...));
}
template <class... A>
void log_error(fmt::format_string<A...> f, A&&... a) {
    write_log(LogLevel::error, fmt::format(f, std::forward<A>(a)...));
}

}  // namespace gs
