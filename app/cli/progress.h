// ProgressLine: progress of long work on stderr. On a terminal it redraws one line; elsewhere it
// prints a line now and then, so that log files stay short. Called by every subcommand that takes
// longer than a second.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "renderer/io/captures/capture_io.h"

namespace gs::cli {

class ProgressLine {
  public:
    /// `title`: "load", "train". With `forecast`, "evaluating {} photos", it says once, after the
    /// first few parts of long work, how long all of them will take; {1} is the text of update().
    explicit ProgressLine(std::string title, std::string forecast = {});
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Cheap when it is too early to draw again. `text` says what is going on: "decode photos",
    /// "loss 0.02".
    void update(std::size_t done, std::size_t total, std::string_view text);
    /// True when update() would draw: lets callers skip making the text.
    bool due(std::size_t done, std::size_t total) const;
    /// Clears the line on a terminal.
    void finish();

  private:
    using Clock = std::chrono::steady_clock;
    void draw(std::size_t done, std::size_t total, std::string_view text);

    void say_forecast(std::size_t done, std::size_t total, std::string_view text);

    std::string title_, forecast_;
    bool terminal_;
    bool drawn_ = false;
    int last_tenth_ = 0;
    Clock::time_point begin_ = Clock::now(), last_ = begin_;
    /// Of the parts that are forecast: where they began, and where they are.
    static constexpr std::size_t kNothingSeen = ~std::size_t{0};
    std::size_t first_ = 0, seen_ = kNothingSeen;
    Clock::time_point first_time_ = begin_;
    bool said_ = false;
};

/// Reports to the line; Ctrl-C cancels.
Progress told_by(ProgressLine& line);

/// "1:05", "2:03:04".
std::string human_time(double seconds);

}  // namespace gs::cli
