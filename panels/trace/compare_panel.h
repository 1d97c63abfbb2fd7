// Compare: two traces, or two time ranges of one, side by side: distributions of iterations and
// stages, the difference with its interval, and matched iterations to jump to.
// profiler/analysis/compare.h computes the figures. A tab of the workspace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"
#include "profiler/analysis/compare.h"

namespace gs {

struct ComparePanel {
    explicit ComparePanel(TraceView& view) : view_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);

    /// One side: a trace, and a time range of it.
    struct Side {
        std::uint64_t trace = 0;  ///< TraceEntry::id; 0: none chosen
        std::uint32_t process = 0;
        std::optional<TimeRange> range;  ///< none: everything
        bool operator==(const Side&) const = default;
    };
    std::array<Side, 2> sides;
    const std::optional<Comparison>& result() const { return result_; }
    /// Computes it at the next draw.
    void compare_now() { wanted_ = true; }

  private:
    void propose(const Snapshot& snapshot);
    void draw_side(const Snapshot& snapshot, std::size_t which);
    void work_out(const Snapshot& snapshot);
    void draw_table(Commands& commands);
    void draw_medians(const ComparedRow& row, double most);
    void draw_matched(const Snapshot& snapshot, Commands& commands);

    TraceView& view_;
    std::optional<Comparison> result_;
    std::array<Side, 2> made_of_, proposed_;
    bool wanted_ = false;
};

}  // namespace gs
