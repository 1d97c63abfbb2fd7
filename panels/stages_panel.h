// Stages: where the time of an iteration, a view frame or a UI frame goes. Table and stacked history; copy as CSV.
// A tab of the workspace.
#pragma once

#include <array>
#include <vector>

#include "panels/command.h"
#include "panels/plot.h"
#include "panels/snapshot.h"
#include "profiler/statistics.h"

namespace gs {

struct StagesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    StatScope scope = StatScope::iteration;
    int last_n = 256;
    bool history = true;
    PlotRange range;

  private:
    void draw_controls(std::size_t frames);
    void refresh(const TraceStore& trace);
    void draw_table(const TraceStore& trace);
    void draw_row(const StageStats& row, std::int64_t now_ns) const;
    void draw_history(const TraceStore& trace);

    std::array<std::vector<CurvePoint>, kStageCount> layers_;
    std::vector<StageStats> rows_;  // of what the following four say
    StatScope rows_scope_ = StatScope::iteration;
    int rows_window_ = 0;
    std::uint64_t rows_written_ = 0;
    double rows_time_ = -1;
};

}  // namespace gs
