// LoopPace: how much slower the program's own loop runs while CUPTI records. What CUPTI takes
// cannot be measured inside a call, for it is in all of them, and depends on the machine and on
// what the program waits for; but a program that is annotated goes through an outermost range again
// and again, and the budget has CUPTI on and off in turn. So the medians of a window and of the
// pauses before and after it are compared: from begin to begin, which is all that a step takes, and
// the drift of a training cancels. Asked by the injection library's host, which reads its own ring
// here: the program's threads do nothing for it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/record/abi.h"

namespace gs::service {

class LoopPace {
  public:
    /// Once a tick: takes the outermost ranges that have ended. `on`: CUPTI has recorded since the
    /// last call, or it has not. After a window and the pauses around it: by what
    /// share of its time the loop took longer in the window; nothing when there is no loop that
    /// goes round often enough to say.
    std::optional<double> look(bool on) noexcept;

  private:
    static constexpr std::uint32_t kLoops = 8, kIntervals = 256;
    struct Loop {
        std::uint32_t lane, name;
        std::uint64_t last;  ///< begin of its newest range, 0: none in this stretch
        std::uint32_t count;
        float intervals[kIntervals];  ///< of this stretch, ticks
        double before, during;        ///< medians of the last pause and the last window, 0: none
        double share;                 ///< ticks of the last window that were in it
    };
    void read_lane(const abi::Lane& lane, std::uint32_t number) noexcept;
    void take(std::uint32_t lane, std::uint32_t name, std::uint64_t begin) noexcept;
    std::optional<double> end_stretch() noexcept;

    Loop loops_[kLoops] = {};
    std::uint64_t heads_[abi::kLaneCount] = {};
    std::uint64_t steady_ = 0;  ///< ticks from which on this stretch counts; 0: not yet
    int looks_ = 0;             ///< in this stretch
    bool on_ = false;
};

}  // namespace gs::service
