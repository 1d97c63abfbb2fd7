#include "app/cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "app/cli/common.h"
#include "base/format.h"
#include "base/log.h"

namespace gs::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;  // terminal
constexpr double kSparseSeconds =
    30;  // file: a line at every tenth of the work, or after this long
constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kForecastParts = 3;  // measured before all are forecast
constexpr double kForecastSeconds = 10;    // shorter work is not worth a line

std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Progress told_by(ProgressLine& line) {
    return [&line](std::string_view what, std::size_t done, std::size_t total) {
        line.update(done, total, what);
        return !interrupted();
    };
}

std::string human_time(double seconds) {
    const auto s = static_cast<long long>(std::max(0.0, seconds) + 0.5);
    if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    return fmt::format("{}:{:02}", s / 60, s % 60);
}

ProgressLine::ProgressLine(std::string title, std::string forecast)
    : title_(std::move(title)),
      forecast_(std::move(forecast)),
      terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { finish(); }

bool ProgressLine::due(std::size_t done, std::size_t total) const {
    const double since = seconds_between(last_, Clock::now());
    if (terminal_) return since >= kRedrawSeconds || done >= total;
    // Work of under a second needs no line at all.
    if (seconds_between(begin_, Clock::now()) < 1) return false;
    return since >= kSparseSeconds ||
           (total > 0 && static_cast<int>(10 * done / total) > last_tenth_);
}

void ProgressLine::update(std::size_t done, std::size_t total, std::string_view text) {
    if (!forecast_.empty()) say_forecast(done, total, text);
    if (due(done, total)) draw(done, total, text);
}

void ProgressLine::say_forecast(std::size_t done, std::size_t total, std::string_view text) {
    const auto now = Clock::now();
    if (seen_ == kNothingSeen || done < seen_) {  // other parts, or the first
        first_ = done;
        first_time_ = now;
        said_ = false;
    }
    seen_ = done;
    if (said_ || done < first_ + kForecastParts) return;
    said_ = true;
    const double each = seconds_between(first_time_, now) / static_cast<double>(done - first_);
    const double seconds = each * static_cast<double>(total);
    if (seconds < kForecastSeconds) return;
    finish();
    log_info("{}, about {}",
             fmt::format(fmt::runtime(forecast_), format_count(static_cast<double>(total)), text),
             format_duration(seconds));
}

void ProgressLine::draw(std::size_t done, std::size_t total, std::string_view text) {
    const auto now = Clock::now();
    const double share =
        total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
    const double elapsed = seconds_between(begin_, now);
    std::string times = human_time(elapsed);
    if (share > 0 && share < 1)
        times += fmt::format(", {} left", human_time(elapsed * (1 - share) / share));
    last_ = now;
    last_tenth_ = static_cast<int>(10 * share);
    if (!terminal_) {
        fmt::print(stderr, "{} {}/{} ({:.0f} %)  {}  {}\n", title_, done, total, 100 * share, times,
                   text);
        return;
    }
    const auto filled = static_cast<std::size_t>(share * kBarWidth + 0.5);
    std::string line = fmt::format("{} [{}{}] {}/{}  {}  {}", title_, std::string(filled, '='),
                                   std::string(kBarWidth - filled, ' '), done, total, times, text);
    line.resize(std::min(line.size(), terminal_width() - 1));
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    drawn_ = true;
}

void ProgressLine::finish() {
    if (!drawn_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    drawn_ = false;
}

}  // namespace gs::cli
