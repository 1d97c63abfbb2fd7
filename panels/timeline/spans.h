// SpanPainter: rows of spans as rectangles with their names: a thread's, a stream's, and ranges on
// the GPU. Finds the span under the mouse. Used by the timeline only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panels/timeline/paint.h"
#include "panels/timeline/selection.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/range_projection.h"
#include "profiler/store/store.h"

namespace gs {

/// A row of spans and where it is on the screen.
struct SpanPlace {
    std::uint32_t track = 0;
    std::size_t row = 0;
    float y = 0;
    TrackKind kind = TrackKind::thread;
    bool projected = false;
};
struct PointedSpan {
    SpanBlock block;
    SpanPlace place;
    bool open = false;  ///< still running
};

/// Rows of spans that a track takes.
std::size_t lanes_of(const TraceTrack& track, bool folded);

class SpanPainter {
  public:
    void begin_frame() { pointed_.reset(); }
    /// Draws a track's rows from `y` down, with ranges on the GPU above them (null: none).
    /// `selected` gets an outline; `unrecorded` times do not count as idle.
    void draw_track(const TraceStore& trace, const TimelineCanvas& canvas, std::uint32_t track,
                    bool folded, const RangeProjection* projection,
                    const std::optional<SelectedSpan>& selected, const Intervals& unrecorded,
                    float y);
    /// The span under the mouse in this frame.
    const std::optional<PointedSpan>& pointed() const { return pointed_; }
    SpanColors& colors() { return colors_; }
    void forget() { *this = {}; }

  private:
    void draw_projection(const TraceStore& trace, const RangeProjection& projection,
                         const TimelineCanvas& canvas, float y);
    void draw_blocks(const TraceStore& trace, const TimelineCanvas& canvas, const SpanPlace& place,
                     float height);
    ImU32 block_color(const TraceStore& trace, const SpanBlock& block, const SpanPlace& place);
    static bool is_pointed_at(const SpanBlock& block, const TimelineCanvas& canvas,
                              const SpanPlace& place, float height);
    bool is_selected(const SpanBlock& block, const SpanPlace& place) const;
    void draw_block(const TraceStore& trace, const SpanBlock& block, const TimelineCanvas& canvas,
                    const SpanPlace& place, float height, bool open);
    void draw_open(const TraceStore& trace, std::uint32_t track, const TimelineCanvas& canvas,
                   float y);

    SpanColors colors_;
    std::vector<SpanBlock> blocks_;  // kept for its memory
    std::optional<PointedSpan> pointed_;
    std::optional<SelectedSpan> selected_;  // of the track being drawn
};

}  // namespace gs
