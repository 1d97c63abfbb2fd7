// The capacity of a frame. While the needs of frames change, it is a quarter more than the last one
// needed, in steps, so that few are drawn twice. Once two large frames in a row needed nearly the
// same, it is a sixteenth more, as idle blocks also take time. A steady view or run asks for the
// same capacity every time and nothing is allocated. CudaRasterizer and StepCapacities use it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/list_growth.h"

namespace gs::cuda {

inline constexpr std::uint32_t kMinCapacity = 4096;
inline constexpr std::uint32_t kMaxCapacity = kMostListed;  ///< what a sort is given at most

/// `n` rounded up to a part of its octave.
constexpr std::uint32_t stepped(std::uint64_t n, std::uint64_t parts = 8) {
    if (n <= kMinCapacity) return kMinCapacity;
    const std::uint64_t step = std::bit_floor(n) / parts;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((n + step - 1) / step * step, kMaxCapacity));
}
/// The capacity for a frame that will need about what the last one did. `current` stays while it is
/// neither tight nor more than twice too much.
constexpr std::uint32_t capacity_for(std::uint32_t needed, std::uint32_t current) {
    const std::uint32_t wanted = stepped(static_cast<std::uint64_t>(needed) * 5 / 4);
    const bool tight = static_cast<std::uint64_t>(needed) * 17 / 16 > current;
    return tight || current / 2 > wanted ? wanted : current;
}
/// The capacity for a frame that will need almost exactly that: at most a tenth more than `needed`
/// (or kMinCapacity). `current` stays within that.
constexpr std::uint32_t close_capacity(std::uint32_t needed, std::uint32_t current) {
    const std::uint64_t n = needed;
    const bool tight = n * 65 / 64 > current,
               loose = current > std::max<std::uint64_t>(n * 11 / 10, kMinCapacity);
    return tight || loose ? stepped(n * 17 / 16, 64) : current;
}

/// The capacity for one count, from the needs of earlier frames.
class Capacity {
  public:
    Capacity() = default;
    explicit Capacity(std::uint32_t capacity) : capacity_(capacity) {}
    bool known() const { return capacity_ != 0; }
    std::uint32_t now() const { return capacity_; }
    void learn(std::uint32_t needed) {
        const std::uint32_t apart = needed > needed_ ? needed - needed_ : needed_ - needed;
        steady_ = apart <= needed_ / 32 ? std::min(steady_ + 1, kSteadyFrames) : 0;
        needed_ = needed;
        const bool close = steady_ == kSteadyFrames && needed > kCloseFrom;
        capacity_ = close ? close_capacity(needed, capacity_) : capacity_for(needed, capacity_);
    }
    /// Frames will need `factor` times as much, more or less.
    void scale(double factor) {
        if (!known()) return;
        const auto times = [&](std::uint32_t n) {
            return static_cast<std::uint64_t>(static_cast<double>(n) * factor);
        };
        capacity_ = stepped(times(capacity_));
        needed_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(times(needed_), kMaxCapacity));
        steady_ = 0;
    }

  private:
    static constexpr int kSteadyFrames = 2;
    /// Below this, idle blocks cost nothing, and a constant capacity lets frames be replayed.
    static constexpr std::uint32_t kCloseFrom = 1u << 19;
    std::uint32_t capacity_ = 0, needed_ = 0;
    int steady_ = 0;  ///< frames that needed nearly what the one before did
};

}  // namespace gs::cuda
