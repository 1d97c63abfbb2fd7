// SpanSelection: the selected span, stepping to its neighbours, and the strip below the timeline
// with its facts. Used by the timeline only.
#pragma once

#include <cstdint>
#include <optional>

#include "panels/state/command.h"
#include "panels/timeline/axis.h"
#include "panels/timeline/paint.h"
#include "profiler/store/store.h"

namespace gs {

struct SelectedSpan {
    std::uint32_t track = 0;
    std::size_t row = 0;
    TraceSpan span;
};

class SpanSelection {
  public:
    const std::optional<SelectedSpan>& span() const { return span_; }
    explicit operator bool() const { return span_.has_value(); }
    void reset() { span_.reset(); }
    /// Selects the row's span that begins there; if there is none, nothing changes.
    void select(const TraceStore& trace, std::uint32_t track, std::size_t row,
                std::int64_t begin_ns);
    /// The next (+1) or previous (-1) span of the selected one's name on its track; false when
    /// there is none.
    bool select_neighbour(const TraceStore& trace, int step);
    /// The selected span as the trace has it; null when it is no longer kept.
    const TraceSpan* kept(const TraceStore& trace) const;

    float details_height() const;
    /// Name and facts of the selected span below the canvas, in as many columns as fit,
    /// with buttons.
    void draw_details(const TraceStore& trace, const TimelineCanvas& canvas, SpanColors& colors,
                      TimeAxis& axis, Commands& commands);

  private:
    bool draw_buttons(const TraceStore& trace, float width, TimeAxis& axis, Commands& commands);

    std::optional<SelectedSpan> span_;
};

}  // namespace gs
