// Stages: the time of an iteration, a view frame or a UI frame by stage, on the CPU and on the GPU.
// Table and stacked history; copy as CSV; and how close each stage is to the machine's limit
// (roofline.h). A tab of the workspace.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/trace/other_gpus.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/roofline.h"
#include "panels/widgets/table_view.h"
#include "profiler/store/statistics.h"

namespace gs {

struct StagesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    enum class View { times, limits, other_gpus };
    /// The processor whose percentiles, share, count, age and history are shown. automatic: the
    /// GPU if it has any.
    enum class Side { automatic, cpu, gpu };
    View view = View::times;
    Side side = Side::automatic;
    StatScope scope = StatScope::iteration;
    int last_n = 256;
    bool history = true;
    PlotRange range;
    Roofline roofline;
    OtherGpus other_gpus;

    /// A stage, or a range that is none, with its statistics on both sides; absent: samples is 0.
    struct Row {
        Stage stage = Stage::other;
        std::string name;  ///< the stage's, or a range's that is no stage
        std::string note;  ///< more for the tooltip
        StageStats cpu, gpu;
    };
    /// Those of the table, in the order of stages.
    const std::vector<Row>& rows() const { return rows_; }
    struct Widths {
        float name = 0, cell = 0;               ///< em
        std::vector<std::string_view> dropped;  ///< titles of columns without space
    };
    /// Of a table that is `room` em wide: whole names and the share come first.
    Widths widths(float room) const;
    Table table(const Widths& widths, std::int64_t now_ns) const;
    /// Why there are none, and what helps. `other`: whose trace it is, null: of this session, whose
    /// run has done `step` steps.
    std::string empty_text(const TraceStore& trace, const TraceEntry* other,
                           std::uint64_t step) const;

  private:
    void draw_tabs();
    void draw_controls(std::size_t frames);
    void refresh(const TraceStore& trace);
    void share_gpu_time(const TraceStore& trace);
    void join_adam(const TraceStore& trace);
    void list_ranges(const TraceStore& trace);
    /// `other`: whose trace it is, null: of this session.
    void draw_times(const Snapshot& snapshot, const TraceStore& trace, const TraceEntry* other);
    void draw_table(const TraceStore& trace, bool above_history);
    void draw_stage(const Row& row) const;
    void draw_history(const TraceStore& trace);
    bool shows_gpu() const {
        return side == Side::gpu || (side == Side::automatic && !gpu_rows_.empty());
    }

    std::array<std::vector<CurvePoint>, kStageCount> layers_;
    std::vector<StageStats> cpu_rows_, gpu_rows_;  // for the next four members
    std::vector<Row> rows_;                        // both, in the order of stages
    StatScope rows_scope_ = StatScope::iteration;
    int rows_window_ = 0;
    const TraceStore* rows_of_ = nullptr;
    bool predicted_ = false;  // in the last frame: an answer was there
    std::uint64_t rows_written_ = 0;
    double rows_time_ = -1;
};

}  // namespace gs
