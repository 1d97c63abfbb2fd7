// Find: the spans with a name, longest first, with their distribution: count, durations, P50 to
// P99.9, a histogram, grouped by name, thread, parent or stage. Click a span to show it in the
// timeline. A tab of the workspace.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/trace/trace_task.h"
#include "profiler/analysis/span_summary.h"

namespace gs {

struct FindPanel {
    explicit FindPanel(TraceView& view) : view_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return busy_; }
    bool working() const { return busy_; }
    /// Of the last complete search.
    const SpanSearch& search() const { return made_; }

    std::string pattern;
    bool logarithmic = true;  ///< the histogram's axis
    HitGroup group = HitGroup::thread;

  private:
    void draw_controls(const TraceStore& trace);
    void draw_figures() const;
    void draw_histogram();
    void draw_groups(const TraceStore& trace) const;
    void draw_hits(const TraceStore& trace, Commands& commands);
    void make_histogram();

    TraceView& view_;
    TraceTask task_;
    SpanSearch making_, made_;
    Histogram histogram_;
    std::string typed_;
    double typed_at_ = -1;
    bool histogram_log_ = true, focus_ = false, busy_ = false;
};

/// The name of a group of hits.
std::string group_name(const TraceStore& trace, HitGroup by, std::uint32_t key);

}  // namespace gs
