// TimeAxis: the timeline's visible time range and its motion: zoom, pan, follow the newest. Also
// draws the ruler and the places of lost records. Used by the timeline only.
#pragma once

#include <cstdint>

#include "panels/timeline/paint.h"
#include "profiler/store/store.h"

namespace gs {

struct TimeAxis {
    std::int64_t begin_ns = 0;  ///< left edge
    double span_ns = 200e6;     ///< visible width
    bool follow = true;         ///< the right edge stays at the newest measurement

    std::int64_t end_ns() const { return begin_ns + static_cast<std::int64_t>(span_ns); }
    /// Shows [from, to] with a margin and stops following.
    void zoom_to(std::int64_t from_ns, std::int64_t to_ns, double margin = 0.3);
    void zoom_to_all(const TraceStore& trace) { zoom_to(trace.begin_ns(), trace.end_ns(), 0.02); }
    /// The trace has ended: stops following, with the last measurement in view.
    void rest_at_end(const TraceStore& trace);
    /// Zooms; `centre` keeps its place.
    void zoom_at(double factor, std::int64_t centre_ns);
    /// Moves later, or earlier if negative; stops following.
    void pan(double by_ns);
    /// Moves the range into view, centred if it was not visible; keeps the zoom.
    void bring_into_view(std::int64_t from_ns, std::int64_t to_ns);
    /// Sets the canvas's time range. The left edge is on whole pixels of time, so that nothing
    /// jitters while it moves.
    void settle(const TraceStore& trace, TimelineCanvas& canvas);
};

/// Times count from TraceStore::origin_ns().
void draw_ruler(const TraceStore& trace, const TimelineCanvas& canvas);
/// Hatches places of lost records: unrecorded work may have happened there.
void draw_losses(const TraceStore& trace, const TimelineCanvas& canvas);

}  // namespace gs
