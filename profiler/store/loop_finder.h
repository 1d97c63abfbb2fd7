// LoopFinder: which name of which row marks the turns of a process's training loop, where no range
// is named like an iteration. Fed every range as it ends, O(1) each, live and from files; chooses
// between the rows that found a loop (loop_lane.h) and stays with its choice until another one is
// better for some time. A part of the FrameBook.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "profiler/store/loop_lane.h"
#include "profiler/store/renumbering.h"

namespace gs {

/// The loops of a process, one after the other.
struct FoundLoops {
    std::optional<FoundLoop> now;
    std::vector<FoundLoop> before;
};

class LoopFinder {
  public:
    static constexpr std::size_t kRows = 3;  ///< of a thread, the outermost

    void take(const NameBook& names, const TrackFacts& on, std::uint32_t track,
              const TraceSpan& span, std::size_t row);
    /// As far as is known by now: of a trace that is complete.
    FoundLoops find(std::uint32_t process) const;
    /// Known for long enough to be counted while the process runs; null: not yet, or none.
    const FoundLoop* settled(std::uint32_t process) const;
    /// Its threads have ranges, of which loops are looked for.
    bool looks_at(std::uint32_t process) const {
        return process < processes_.size() && !processes_[process].lanes.empty();
    }
    /// Its iterations are known by their name.
    void forget(std::uint32_t process);

    void renumber(const Renumbering& to);
    /// With what it found, without what it found it from.
    LoopFinder excerpt() const;
    std::size_t bytes() const;

  private:
    struct Lane {
        LoopLane lane;
        std::optional<FoundLoop> found;
        std::uint32_t track = kNoTrack;
        std::size_t row = 0;
        bool main = false;  ///< of the process's first thread
    };
    struct Choice {
        FoundLoops loops;
        std::optional<std::uint64_t> rival;  ///< its marker; 0: none is known
        int rival_looks = 0;
        std::int64_t looks = 0, since = 0;
        bool settled = false;
    };
    struct Process {
        std::vector<std::unique_ptr<Lane>> lanes;
        Choice choice;
    };
    using Found = std::vector<std::optional<FoundLoop>>;  // of a process's lanes

    Lane* lane(const TrackFacts& on, std::uint32_t track, std::size_t row);
    static const Lane* lane_of(const Process& process, std::uint32_t track, std::size_t row);
    static const LoopLane::Tally* marker_of(const Process& process, const FoundLoop& loop);
    static void choose(const Process& process, const Found& found, Choice& choice);
    static std::optional<FoundLoop> best_of(const Process& process, const Found& found);
    static FoundLoop better(const Process& process, FoundLoop a, FoundLoop b);
    static bool is_in_requests(const Process& process, const Found& found, const FoundLoop& loop);
    static bool stays(const Process& process, Choice& choice, const std::optional<FoundLoop>& best);
    static void replace(const Process& process, Choice& choice, std::optional<FoundLoop> by);
    static bool is_told(const Process& process, const FoundLoop& loop);

    std::vector<Process> processes_;
    std::vector<std::array<Lane*, kRows>> lanes_;  // by track
};

}  // namespace gs
