// IterationBars: the iterations above the timeline, one bar each, with lines at their median and at
// a target. Used by the timeline only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "panels/timeline/axis.h"
#include "panels/timeline/paint.h"

namespace gs {

class IterationBars {
  public:
    /// Gathers the iterations of `process`: the store's own frames if any, else detected from
    /// recurring ranges and kernels. None: of the newest frame's process.
    void gather(const TraceStore& trace, std::optional<std::uint32_t> process);
    /// Draws with its top at `y`; click an iteration to show it.
    void draw(const TimelineCanvas& canvas, float y, TimeAxis& axis);
    /// Shows the newest.
    void show_last(TimeAxis& axis) const;
    /// Clears the found iterations; the target stays.
    void forget() { bars_.clear(), how_.clear(), made_of_ = 0, made_at_ = -1e9; }

  private:
    struct Bar {
        std::uint64_t number = 0;
        std::int64_t begin_ns = 0, end_ns = 0;
        bool incomplete = false;
        double milliseconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-6; }
    };
    std::span<const Bar> in_view(const TimelineCanvas& canvas, std::size_t fit, bool follow) const;
    void draw_target_menu(bool in_bars, double median);

    std::vector<Bar> bars_;  // the newest
    std::string how_;        // how they were found
    std::uint64_t made_of_ = 0;
    double made_at_ = -1e9;
    double target_ms_ = 0;  // of an iteration; 0: none
};

}  // namespace gs
