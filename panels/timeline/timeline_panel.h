// Timeline: what every thread, CUDA call and GPU stream of the shown trace did, when. Rows by
// process, thread, device and stream, coloured by stage; ranges as the GPU saw them; arrows from
// launches to work; counters; bars of iterations on top. Pan, zoom, select, measure, find; live or
// from a file. A tab of the workspace.
//
// Where its parts are: timeline_rows.h says which rows there are, timeline_paint.h how spans become
// rectangles, timeline_facts.h what is known of a span; timeline_panel.cpp lays out,
// timeline_tracks.cpp draws rows, timeline_overlays.cpp what lies over them, timeline_bars.cpp the
// iterations, timeline_steer.cpp mouse and keys, timeline_details.cpp tooltip and details.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"
#include "panels/timeline/paint.h"
#include "panels/timeline/rows.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/iterations.h"
#include "profiler/analysis/range_projection.h"
#include "profiler/analysis/span_summary.h"
#include "profiler/store/store.h"

namespace gs {

struct TimelinePanel {
    explicit TimelinePanel(TraceView& view) : view_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);
    /// Shows [begin, end] with a margin and stops following.
    void zoom_to(std::int64_t begin_ns, std::int64_t end_ns, double margin = 0.3);
    void zoom_to_all(const TraceStore& trace) { zoom_to(trace.begin_ns(), trace.end_ns(), 0.02); }
    /// True while the timeline has the mouse and uses this key itself.
    bool takes_key(const std::string& chord) const;
    /// True while something is being worked out: the next frame should come soon.
    bool busy() const { return busy_; }

    std::int64_t begin_ns = 0;  ///< left edge
    double span_ns = 200e6;     ///< width of what is shown
    bool follow = true;         ///< the right edge stays at the newest measurement
    bool projections = true;    ///< ranges as the GPU saw them, above its work
    bool calls = true, counters = true;
    double target_ms = 0;    ///< of an iteration; 0: none
    bool measuring = false;  ///< a drag selects a stretch of time, without Shift too
    PathPrompt prompt;

    /// A span that was clicked.
    struct Selected {
        std::uint32_t track = 0;
        std::size_t row = 0;
        TraceSpan span;
    };
    const std::optional<Selected>& selected() const { return selected_; }
    void select(const TraceStore& trace, std::uint32_t track, std::size_t row,
                std::int64_t begin_ns);
    /// The next (+1) or previous (-1) span of the selected one's name on its track; false when
    /// there is none.
    bool select_neighbour(const TraceStore& trace, int step);

    /// What kind of track the span under the mouse is of; nothing when there is none.
    std::optional<TrackKind> pointed_at() const;
    TimelineRows& rows() { return rows_; }
    const StageSums& sums() const { return sums_; }

  private:
    struct Place {  // a row of spans and where it is on the screen
        std::uint32_t track = 0;
        std::size_t row = 0;
        float y = 0;
        TrackKind kind = TrackKind::thread;
        bool projected = false;
    };
    struct Pointed {
        SpanBlock block;
        Place place;
        bool open = false;  // still running
    };
    /// The iterations of the bars, and what they were made of.
    struct Bar {
        std::uint64_t number = 0;
        std::int64_t begin_ns = 0, end_ns = 0;
        bool incomplete = false;
        double milliseconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-6; }
    };
    struct Bars {
        std::vector<Bar> items;  // the newest
        std::string how;
        std::uint64_t made_of = 0;
        double made_at = -1e9;
    };

    void follow_trace(const Snapshot& snapshot, const TraceStore& trace);
    void forget();
    void draw_controls(const Snapshot& snapshot, const TraceStore& trace, Commands& commands);
    void draw_sources(const Snapshot& snapshot, Commands& commands);
    void draw_row_menu();
    TimelineCanvas lay_out(float strip) const;
    void draw_ruler(const TraceStore& trace, const TimelineCanvas& canvas) const;
    void draw_loss(const TraceStore& trace, const TimelineCanvas& canvas) const;
    void settle_time(const TraceStore& trace, TimelineCanvas& canvas);

    // ---- timeline_bars.cpp
    void gather_bars(const TraceStore& trace);
    void draw_bars(const TraceStore& trace, const TimelineCanvas& canvas, float top,
                   Commands& commands);
    void draw_target_menu(bool in_bars, double median);

    // ---- timeline_tracks.cpp
    void draw_rows(const TraceStore& trace, const TimelineCanvas& canvas);
    float height_of(const TraceStore& trace, const TimelineRow& row, const TimelineCanvas& canvas);
    void draw_row(const TraceStore& trace, const TimelineRow& row, const TimelineCanvas& canvas,
                  float y, float height);
    void draw_label(const TraceStore& trace, const TimelineRow& row, const TimelineCanvas& canvas,
                    float y, float height);
    void row_menu(const TimelineRow& row);
    void draw_track(const TraceStore& trace, const TimelineRow& row, const TimelineCanvas& canvas,
                    float y);
    void draw_projection(const TraceStore& trace, const RangeProjection& projection,
                         const TimelineCanvas& canvas, float y);
    void draw_blocks(const TraceStore& trace, const TimelineCanvas& canvas, const Place& place,
                     float height);
    ImU32 block_color(const TraceStore& trace, const SpanBlock& block, const Place& place);
    static bool is_pointed_at(const SpanBlock& block, const TimelineCanvas& canvas,
                              const Place& place, float height);
    void draw_block(const TraceStore& trace, const SpanBlock& block, const TimelineCanvas& canvas,
                    const Place& place, float height, bool open);
    void draw_block_label(const TraceStore& trace, const SpanBlock& block, const Place& place,
                          float left, float right, float height, ImU32 color) const;
    void draw_open(const TraceStore& trace, std::uint32_t track, const TimelineCanvas& canvas,
                   float y);
    void draw_instants(const TraceStore& trace, const TimelineCanvas& canvas);
    void draw_counter(const TraceStore& trace, std::uint32_t counter, const TimelineCanvas& canvas,
                      float y, float height) const;
    void update_projections(const TraceStore& trace);
    const RangeProjection* projection_of(std::uint32_t track) const;

    // ---- timeline_overlays.cpp
    void draw_selection(const TraceStore& trace, const TimelineCanvas& canvas);
    void draw_sums(const TraceStore& trace, const TimelineCanvas& canvas, float left,
                   float right) const;
    void draw_arrows(const TraceStore& trace, const TimelineCanvas& canvas) const;
    void draw_arrow(const TimelineCanvas& canvas, std::uint32_t from_track, std::size_t from_row,
                    const TraceSpan& from, std::uint32_t to_track, std::size_t to_row,
                    const TraceSpan& to) const;
    std::optional<float> screen_y(std::uint32_t track, std::size_t row) const;

    // ---- timeline_steer.cpp
    void steer(const TraceStore& trace, const TimelineCanvas& canvas, bool active,
               Commands& commands);
    void steer_mouse(const TraceStore& trace, const TimelineCanvas& canvas, bool active);
    void steer_keys(const TraceStore& trace, const TimelineCanvas& canvas, Commands& commands);
    void zoom_at(double factor, std::int64_t centre);
    void zoom_to_selected(const TraceStore& trace);
    void drop_selection();
    void click(const TraceStore& trace);

    // ---- timeline_details.cpp
    float details_height() const;
    void draw_details(const TraceStore& trace, const TimelineCanvas& canvas, Commands& commands);
    void span_tooltip(const TraceStore& trace) const;
    const TraceSpan* kept_span(const TraceStore& trace, std::uint32_t track, std::size_t row,
                               std::int64_t begin_ns) const;

    TraceView& view_;
    TimelineRows rows_;
    SpanColors colors_;
    std::vector<RangeProjection> projections_;
    std::vector<SpanBlock> blocks_;  // kept for its memory
    Bars bars_;
    const TraceStore* shown_ = nullptr;
    std::uint64_t shown_id_ = 0;

    std::optional<Selected> selected_;
    std::optional<Pointed> pointed_;
    std::optional<std::int64_t> anchor_;  // where a selecting drag began
    StageSums sums_;
    std::optional<TimeRange> sums_of_;
    struct Drawn {
        std::uint32_t track = 0;
        float y = 0;  // of its first row of spans
        std::size_t lanes = 0;
        bool folded = false;
    };
    std::vector<Drawn> drawn_;  // tracks of this frame
    std::string filter_;
    float dragged_ = 0;  // pixels since the button went down: a click is not a drag
    float scroll_ = 0;   // of the rows, pixels
    float content_height_ = 0;
    bool hovered_ = false, busy_ = false, live_ = true;
};

}  // namespace gs
