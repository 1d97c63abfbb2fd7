// Timeline: every thread, CUDA call and GPU stream of the shown trace over time. Rows by process,
// thread, device and stream, coloured by stage; ranges on the GPU; arrows from launches to work;
// counters; bars of iterations on top. Pan, zoom, select, measure, find; live or from a file. A tab
// of the workspace.
//
// Its parts have their own state: axis.h the time range, bars.h the iterations, rows.h the list of
// rows, row_view.h the rows on the screen, spans.h spans (paint.h makes rectangles of them),
// samples.h sampled call stacks, pauses.h unrecorded times, selection.h the selected span,
// sample_selection.h the call stack, measure.h the selected time range. The panel lays them out;
// steer.cpp passes mouse and keys to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"
#include "panels/timeline/axis.h"
#include "panels/timeline/bars.h"
#include "panels/timeline/measure.h"
#include "panels/timeline/row_view.h"
#include "panels/timeline/sample_selection.h"
#include "panels/timeline/selection.h"
#include "panels/widgets/widgets.h"

namespace gs {

struct TimelinePanel {
    explicit TimelinePanel(TraceView& view) : view_(view), measure_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);
    /// True while the timeline has the mouse and uses this key itself.
    bool takes_key(const std::string& chord) const;
    /// True while something is being computed: the next frame should come soon.
    bool busy() const { return busy_; }

    TimeAxis axis;

    const std::optional<SelectedSpan>& selected() const { return selection_.span(); }
    void select(const TraceStore& trace, std::uint32_t track, std::size_t row,
                std::int64_t begin_ns) {
        sample_.reset();
        selection_.select(trace, track, row, begin_ns);
    }
    const std::optional<SelectedSample>& selected_sample() const { return sample_.sample(); }
    /// Kind of track of the span under the mouse; nothing when there is none.
    std::optional<TrackKind> pointed_at() const;
    /// The samples, or the pause of recording, under the mouse.
    const std::optional<PointedSamples>& pointed_samples() const {
        return rows_.samples().pointed();
    }
    const std::optional<Interval>& pointed_pause() const { return rows_.pauses().pointed(); }
    TimelineRows& rows() { return rows_.rows(); }
    /// The contents of the selected time range.
    const NameTable& sums() const { return measure_.sums(); }

  private:
    void follow_trace(const Snapshot& snapshot, const TraceStore& trace);
    void jump(const TraceStore& trace);
    void draw_controls(const Snapshot& snapshot, const TraceStore& trace, Commands& commands);
    TimelineCanvas lay_out() const;
    void draw_tooltip(const TraceStore& trace) const;

    // ---- steer.cpp
    void end_selection() { selection_.reset(), sample_.reset(); }
    void steer(const TraceStore& trace, const TimelineCanvas& canvas, bool active);
    void steer_drag(const TimelineCanvas& canvas, bool active);
    void steer_mouse(const TraceStore& trace, const TimelineCanvas& canvas, bool active);
    void steer_keys(const TraceStore& trace, const TimelineCanvas& canvas);
    void walk(const TraceStore& trace, int step);
    void zoom_to_selected(const TraceStore& trace);
    void click(const TraceStore& trace);
    void click_samples(const PointedSamples& pointed);

    TraceView& view_;
    IterationBars bars_;
    TimelineRowView rows_;
    SpanSelection selection_;
    SampleSelection sample_;  // one of the two at a time
    TimeMeasure measure_;
    const TraceStore* shown_ = nullptr;
    std::uint64_t shown_id_ = 0;
    float dragged_ = 0;  // pixels since the button went down: a click is not a drag
    bool hovered_ = false, busy_ = false, live_ = true;
};

}  // namespace gs
