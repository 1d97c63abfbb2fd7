// ProfileWindow: selects the training steps that Nsight Systems and Nsight Compute profile
// (--profile-steps A:B, and the studio's "train.profile-steps A B"). Held by the run.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/expected.h"

namespace gs {

class ProfileWindow {
  public:
    ProfileWindow() = default;
    /// Steps `first` to `last`, counted from 1, both included. `set_profiling` opens and closes the
    /// tools' window (Backend::set_profiling); empty where there is no device, which is said here,
    /// once.
    ProfileWindow(std::uint64_t first, std::uint64_t last, std::function<void(bool)> set_profiling);
    ~ProfileWindow() { close(); }
    ProfileWindow(ProfileWindow&& other) noexcept { *this = std::move(other); }
    ProfileWindow& operator=(ProfileWindow&& other) noexcept;

    /// Around step number `step`. A run that begins inside the window opens it at once.
    void before_step(std::uint64_t step);
    void after_step(std::uint64_t step);
    /// The run has ended, whatever was still to come.
    void close();
    bool is_open() const { return open_; }

  private:
    std::uint64_t first_ = 1, last_ = 0;
    std::function<void(bool)> set_profiling_;
    bool open_ = false;
};

/// The first and the last, counted from 1.
using ProfileSteps = std::pair<std::uint64_t, std::uint64_t>;
/// "100:120" or "100" -> the steps. Errors: usage.
Result<ProfileSteps> parse_profile_steps(std::string_view text);

}  // namespace gs
