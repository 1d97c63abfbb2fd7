#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <deque>
#include <mutex>

#include "base/shortened.h"

namespace gs {
namespace {

constexpr std::size_t kBufferedLines = 5000;

// The program's one log. Process-wide by nature: stderr is.
struct Log {
    std::shared_ptr<spdlog::logger> console = [] {
        auto logger = std::make_shared<spdlog::logger>(
            "gausscope", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        logger->set_pattern("%^%l%$: %v");
        return logger;
    }();
    std::mutex mutex;
    std::deque<LogLine> lines;
    std::uint64_t next_serial = 1;
};

Log& the_log() {
    static Log log;
    return log;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warning:
            return spdlog::level::warn;
        case LogLevel::error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

}  // namespace

void set_log_level(LogLevel level) { the_log().console->set_level(spdlog_level(level)); }

void write_log(LogLevel level, std::string_view whole) {
    Log& log = the_log();
    const std::string text = shortened(whole);
    log.console->log(spdlog_level(level), "{}", text);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::lock_guard lock(log.mutex);
    log.lines.push_back({log.next_serial++,
                         std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), level,
                         text});
    if (log.lines.size() > kBufferedLines) log.lines.pop_front();
}

std::vector<LogLine> log_lines_after(std::uint64_t after, std::size_t limit) {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    const std::uint64_t first_serial = log.next_serial - log.lines.size();
    std::size_t first =
        after >= first_serial ? static_cast<std::size_t>(after - first_serial + 1) : 0;
    if (first > log.lines.size()) first = log.lines.size();
    if (log.lines.size() - first > limit) first = log.lines.size() - limit;
    return {log.lines.begin() + static_cast<std::ptrdiff_t>(first), log.lines.end()};
}

void flush_log() { the_log().console->flush(); }

}  // namespace gs
