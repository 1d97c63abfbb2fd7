// Insights: cards with what costs time in the shown trace: the recoverable time, the evidence, the
// advice, and the places; click a place to show it in the timeline. Rules run about once a second
// on their own thread, on a copy of the newest iterations, so that no frame waits for them. A tab
// of the workspace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/task.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"
#include "profiler/insights/insight.h"

namespace gs {

struct InsightsPanel {
    explicit InsightsPanel(TraceView& view) : view_(view) {}
    void draw(const Snapshot& snapshot, Commands& commands);

    std::uint32_t process = kAnyProcess;  ///< whose, an index into TraceStore::processes()
    bool only_selection =
        false;  ///< of the timeline's selected range, not of the newest iterations

    /// The shown answer; null before the first refresh.
    const Insights* shown() const { return result_ ? &result_->insights : nullptr; }
    /// True while an answer is being computed.
    bool busy() const { return pending_ != nullptr; }
    bool working() const { return busy(); }

  private:
    struct Asked {
        const TraceStore* store = nullptr;
        std::uint64_t trace = 0;
        std::uint32_t process = kAnyProcess;
        std::optional<TimeRange> selection;
        bool live = true;  ///< it grows
        bool operator==(const Asked&) const = default;
    };
    /// An answer, with what it took.
    struct Answer {
        Insights insights;
        double worker_ms = 0, copy_ms = 0;
        std::int64_t made_of_ns = 0;  ///< length of the copied stretch
    };

    void refresh(const Snapshot& snapshot, const TraceStore& trace);
    void ask(const Snapshot& snapshot, const TraceStore& trace, const Asked& asked);
    void take_answer();
    void draw_controls(const TraceStore& trace);
    void draw_ranks();
    void draw_cards(const TraceStore& trace, Commands& commands);
    void draw_card(const TraceStore& trace, const Insight& insight, std::size_t index,
                   Commands& commands);
    void draw_evidence(const TraceStore& trace, const Insight& insight, Commands& commands);
    void draw_rest() const;
    void draw_footer() const;

    TraceView& view_;
    std::unique_ptr<Task<Answer>> pending_;
    std::optional<Answer> result_;
    Asked asked_, answered_;
    double asked_at_ = -1e9, answered_at_ = -1e9;
    std::uint64_t asked_spans_ = 0;  // Sources::records_written() then: nothing new, nothing to ask
};

}  // namespace gs
