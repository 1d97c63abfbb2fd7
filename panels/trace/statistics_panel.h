// Statistics: every name of the shown trace with its count, total, self, mean, shortest and longest
// time, for a selected time range or everything; sorted, filtered, as CSV. Click a name to find its
// spans. A tab of the workspace.
#pragma once

#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/trace/trace_task.h"
#include "panels/widgets/table_view.h"
#include "profiler/analysis/span_summary.h"

namespace gs {

struct StatisticsPanel {
    enum class Side { ranges, calls, gpu };

    explicit StatisticsPanel(TraceView& view) : view_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return busy_; }
    bool working() const { return busy_; }
    /// The rows shown, in their order.
    const std::vector<NameFigures>& rows() const { return rows_; }
    /// The rows shown as CSV.
    std::string csv(const TraceStore& trace) const;

    Side side = Side::ranges;
    std::uint32_t process = kAnyProcess;
    std::string filter;

  private:
    void draw_controls(const TraceStore& trace, Commands& commands);
    void draw_table(const TraceStore& trace, Commands& commands);

    TraceView& view_;
    TraceTask task_;
    NameTable making_, made_;
    std::vector<NameFigures> rows_;
    std::string rows_filter_;
    TableOrder order_;
    bool stale_ = true, busy_ = false;
};

}  // namespace gs
