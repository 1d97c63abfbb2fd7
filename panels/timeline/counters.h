// A counter's row of the timeline: its values as steps, or the range per pixel where they are
// dense; under the mouse, the value there. Used by the timeline only.
#pragma once

#include <cstdint>

#include "panels/timeline/paint.h"
#include "profiler/store/store.h"

namespace gs {

/// `counter`: an index of TraceStore::counters().
void draw_counter(const TraceStore& trace, std::uint32_t counter, const TimelineCanvas& canvas,
                  float y, float height);

}  // namespace gs
