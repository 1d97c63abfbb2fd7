// TimelineRows: the timeline's list of rows from top to bottom: processes, their threads with their
// CUDA calls below them, GPU devices with their streams, counters. Folding, hiding, moving and
// filtering change only this list. Rebuilt when the trace has new tracks or the user asks. Free of
// ImGui.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

struct TimelineRow {
    enum class Kind { process, device, track, samples, counter, group };  ///< group: of counters
    Kind kind = Kind::track;
    std::uint64_t key = 0;    ///< stays the same when the trace grows
    std::uint64_t above = 0;  ///< key of the row it belongs to, 0: none
    std::uint32_t process = 0;
    std::uint32_t index =
        0;  ///< of tracks() or counters(); the device's or sampled thread's number
    std::string label, detail;
    int indent = 0;
    bool foldable = false, folded = false;
};

class TimelineRows {
  public:
    /// Rebuilds the list if the trace or the user's choices have changed.
    void update(const TraceStore& trace);
    std::span<const TimelineRow> rows() const { return rows_; }
    std::size_t hidden() const { return hidden_.size(); }

    void fold(std::uint64_t key, bool folded);
    void fold_all(bool folded);
    void hide(std::uint64_t key);
    void show_all();
    /// Moves a row among those that belong to the same one, by `by` places.
    void move(std::uint64_t key, int by);
    /// Only rows whose names contain it, with what they belong to and what belongs to them; empty:
    /// all.
    void set_filter(std::string filter);
    const std::string& filter() const { return filter_; }
    /// Rows of CUDA calls, of sampled call stacks, and of counters.
    void show_kinds(bool calls, bool samples, bool counters);

    /// Unfolds and clears the filter if needed to show a track; false when it is hidden.
    bool reveal(const TraceStore& trace, std::uint32_t track);

  private:
    struct Node {
        TimelineRow row;
        std::vector<Node> below;
        bool folds = false;  ///< folded until the user unfolds it
    };
    std::uint64_t state_of(const TraceStore& trace) const;
    Node process_node(const TraceStore& trace, std::uint32_t process) const;
    Node thread_node(const TraceStore& trace, std::uint32_t track,
                     const std::vector<std::uint32_t>& tracks) const;
    static void add_stream(const TraceProcess& process, Node stream, const TraceTrack& track,
                           std::vector<Node>& devices);
    static Node samples_node(const TraceStore& trace, const SampledThread& thread);
    void add_counters(const TraceStore& trace, std::uint32_t process, Node& node) const;
    Node track_node(const TraceStore& trace, std::uint32_t track) const;
    void arrange(std::vector<Node>& nodes, std::uint64_t above) const;
    bool keep_fitting(std::vector<Node>& nodes) const;
    void flatten(const std::vector<Node>& nodes, int indent, std::uint64_t above);

    std::vector<TimelineRow> rows_;
    std::uint64_t made_of_ = 0;
    std::unordered_map<std::uint64_t, bool> folded_;  // the user's choices
    std::unordered_set<std::uint64_t> hidden_;
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>
        order_;  // by key of the row above
    std::string filter_;
    bool calls_ = true, samples_ = true, counters_ = true, changed_ = true;
};

/// The track that launched a stream's newest work: of kind thread or api; kNoTrack: unknown.
std::uint32_t feeder_of(const TraceTrack& stream);

}  // namespace gs
