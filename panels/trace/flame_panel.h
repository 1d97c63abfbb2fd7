// Flame graph of the shown trace or its selected time range: call paths from the outermost range
// down, as wide as their time; of host threads, of the GPU by the ranges that launched the work, or
// of sampled functions. Click a box to zoom in; hover a name to highlight it everywhere. A tab of
// the workspace.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/timeline/paint.h"
#include "panels/trace/trace_task.h"
#include "profiler/analysis/call_tree.h"

namespace gs {

struct FlamePanel {
    explicit FlamePanel(TraceView& view) : view_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return busy_; }
    bool working() const { return busy_; }
    const CallTree& tree() const { return made_; }
    std::uint32_t zoomed() const { return zoomed_; }

    FlameChoice choice;
    std::string highlight;

  private:
    void take_choice(const Snapshot& snapshot, const TraceStore& trace);
    void draw_controls(const TraceStore& trace);
    void draw_thread(const TraceStore& trace);
    void draw_graph(const TraceStore& trace, Commands& commands);
    void draw_box(const TraceStore& trace, std::uint32_t node, float x, float y, float width,
                  bool above);
    void draw_tooltip(const TraceStore& trace, std::uint32_t node) const;

    TraceView& view_;
    TraceTask task_;
    CallTree making_, made_;
    SpanColors colors_;
    std::uint32_t zoomed_ = 0;
    std::uint32_t pointed_ = 0;  // 0: none
    bool busy_ = false, any_box_ = false;
    float scroll_ = 0, depth_ = 0;
};

}  // namespace gs
