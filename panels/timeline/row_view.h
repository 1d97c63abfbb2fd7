// TimelineRowView: the timeline's rows on the screen: names at the left with their menus, spans,
// counters, instants, arrows; scrolling. TimelineRows makes the list of rows. Used by the timeline
// only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panels/timeline/arrows.h"
#include "panels/timeline/paint.h"
#include "panels/timeline/pauses.h"
#include "panels/timeline/rows.h"
#include "panels/timeline/samples.h"
#include "panels/timeline/selection.h"
#include "panels/timeline/spans.h"
#include "profiler/analysis/range_projection.h"

namespace gs {

class TimelineRowView {
  public:
    /// A button with a menu that chooses the shown rows and their style.
    void draw_choices();
    void draw_filter();
    /// `live`: the newest launches may still be missing. `clicks`: the mouse has not been
    /// dragged, so a click counts. False while ranges are still being computed: the next frame
    /// should come soon.
    bool draw(const TraceStore& trace, const TimelineCanvas& canvas, const SpanSelection& selection,
              const std::optional<SelectedSample>& sample, bool live, bool clicks);
    /// Downwards, in pixels.
    void scroll_by(float pixels) { scroll_ += pixels; }
    /// Rows stay within the canvas.
    void keep_in(const TimelineCanvas& canvas);
    void forget();

    TimelineRows& rows() { return rows_; }
    SpanPainter& spans() { return spans_; }
    const SpanPainter& spans() const { return spans_; }
    const SamplePainter& samples() const { return samples_; }
    const PauseShades& pauses() const { return pauses_; }

  private:
    /// Inputs for drawing the rows of one frame.
    struct Frame {
        const TraceStore& trace;
        const TimelineCanvas& canvas;
        const SpanSelection& selection;
        const std::optional<SelectedSample>& sample;
        bool clicks;
    };
    bool update_projections(const TraceStore& trace, bool live);
    const RangeProjection* projection_of(std::uint32_t track) const;
    float height_of(const Frame& frame, const TimelineRow& row) const;
    void draw_row(const Frame& frame, const TimelineRow& row, float y, float height);
    void draw_spans(const Frame& frame, const TimelineRow& row, float y, float height);
    void draw_samples(const Frame& frame, const TimelineRow& row, float y);
    void draw_label(const Frame& frame, const TimelineRow& row, float y);
    void steer_label(const Frame& frame, const TimelineRow& row, float y, float height);
    void row_menu(const TimelineRow& row);
    void draw_instants(const Frame& frame) const;
    void draw_arrows_of_frame(const Frame& frame) const;

    TimelineRows rows_;
    SpanPainter spans_;
    SamplePainter samples_;
    PauseShades pauses_;
    std::vector<RangeProjection> projections_;
    TrackPlaces places_;  // of this frame
    std::string filter_;
    bool ranges_ = true;  // on the GPU, above its work
    bool calls_ = true, stacks_ = true, counters_ = true;
    float scroll_ = 0, content_height_ = 0;  // pixels
};

}  // namespace gs
