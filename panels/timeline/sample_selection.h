// SampleSelection: the selected call stack, stepping to its neighbours, and the strip below the
// timeline with the whole stack. Used by the timeline only.
#pragma once

#include <optional>

#include "panels/state/command.h"
#include "panels/timeline/axis.h"
#include "panels/timeline/samples.h"

namespace gs {

class SampleSelection {
  public:
    const std::optional<SelectedSample>& sample() const { return sample_; }
    explicit operator bool() const { return sample_.has_value(); }
    void reset() { sample_.reset(); }
    void select(const SelectedSample& sample) { sample_ = sample; }
    /// The next (+1) or previous (-1) sample of its thread; false when there is none.
    bool select_neighbour(const TraceStore& trace, int step);

    float details_height() const;
    /// The stack, innermost function first, with buttons.
    void draw_details(const TraceStore& trace, const TimelineCanvas& canvas, TimeAxis& axis,
                      Commands& commands);

  private:
    const StackSample* kept(const TraceStore& trace) const;
    bool draw_buttons(const TraceStore& trace, float width, TimeAxis& axis, Commands& commands);

    std::optional<SelectedSample> sample_;
};

}  // namespace gs
