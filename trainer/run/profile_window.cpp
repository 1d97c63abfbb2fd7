#include "trainer/run/profile_window.h"

#include <fmt/format.h>

#include <charconv>

#include "base/log.h"

namespace gs {

ProfileWindow::ProfileWindow(std::uint64_t first, std::uint64_t last,
                             std::function<void(bool)> set_profiling)
    : first_(first), last_(last), set_profiling_(std::move(set_profiling)) {
    if (!set_profiling_)
        log_warning(
            "steps {} to {} are not marked for nsys and ncu: training does not use a CUDA device",
            first, last);
}

ProfileWindow& ProfileWindow::operator=(ProfileWindow&& other) noexcept {
    if (this == &other) return *this;
    close();
    first_ = other.first_;
    last_ = other.last_;
    set_profiling_ = std::move(other.set_profiling_);
    open_ = std::exchange(other.open_, false);
    other.set_profiling_ = nullptr;
    return *this;
}

void ProfileWindow::before_step(std::uint64_t step) {
    if (open_ || !set_profiling_ || step < first_ || step > last_) return;
    open_ = true;
    set_profiling_(true);
    log_info("profiler window open at step {}", step);
}

void ProfileWindow::after_step(std::uint64_t step) {
    if (!open_ || step < last_) return;
    close();
    log_info("profiler window closed after step {}", step);
}

void ProfileWindow::close() {
    if (!std::exchange(open_, false)) return;
    set_profiling_(false);
}

Result<ProfileSteps> parse_profile_steps(std::string_view text) {
    std::uint64_t first = 0, last = 0;
    const char* end = text.data() + text.size();
    auto read = std::from_chars(text.data(), end, first);
    bool good = read.ec == std::errc() && first > 0;
    last = first;
    if (good && read.ptr != end) {
        good = *read.ptr == ':';
        if (good) read = std::from_chars(read.ptr + 1, end, last);
        good = good && read.ec == std::errc() && read.ptr == end && last >= first;
    }
    if (!good)
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" names no steps to profile", text),
                    "give the first and last step, counted from 1: 100:120");
    return std::pair{first, last};
}

}  // namespace gs
