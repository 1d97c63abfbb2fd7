// TimeMeasure: the selected time range, which the panels beside the timeline use as well: made by
// dragging, drawn over the rows with its length and contents. Used by the timeline only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panels/state/trace_view.h"
#include "panels/timeline/axis.h"
#include "panels/timeline/paint.h"
#include "profiler/analysis/span_summary.h"

namespace gs {

class TimeMeasure {
  public:
    explicit TimeMeasure(TraceView& view) : view_(view) {}
    bool on = false;  ///< a drag selects a time range even without Shift

    const std::optional<TimeRange>& range() const { return view_.selection; }
    void set(TimeRange range) { view_.selection = range; }
    void begin_drag(std::int64_t at_ns) { anchor_ = at_ns; }
    void drag_to(std::int64_t ns) {
        view_.selection = TimeRange{std::min(*anchor_, ns), std::max(*anchor_, ns)};
    }
    void end_drag() { anchor_.reset(); }
    bool dragging() const { return anchor_.has_value(); }
    /// Cancels the newest of: the drag, measuring, the time range. False: nothing to cancel.
    bool drop();
    void forget() { anchor_.reset(), sums_of_.reset(); }

    /// Draws over the rows. False while sums are incomplete: the next frame should come soon.
    bool draw(const TraceStore& trace, const TimelineCanvas& canvas);
    const NameTable& sums() const { return sums_; }

  private:
    struct Line {
        std::string text, value;
        ImU32 color;
    };
    std::vector<Line> lines(const TraceStore& trace) const;
    void draw_note(const TraceStore& trace, const TimelineCanvas& canvas, float left,
                   float right) const;

    TraceView& view_;
    std::optional<std::int64_t> anchor_;  // where a selecting drag began
    NameTable sums_;
    std::optional<TimeRange> sums_of_;
};

}  // namespace gs
