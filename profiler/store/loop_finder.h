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
    /// Known for long enough to be counted while the process runs; empty: not yet, or none.
    FoundLoops settled(std::uint32_t process) const;
    /// Its ranges have begun to come, too few to say that no loop is in them.
    bool may_find_soon(std::uint32_t process, std::int64_t now_ns) const;
    /// Its iterations are known by their name.
    void forget(std::uint32_t process);
    /// Nothing of it comes any more: what was found stays.
    void end(std::uint32_t process);

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
        std::int64_t newest_ns = 0;
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
        std::uint64_t ranges = 0;
        std::int64_t first_ns = 0, newest_ns = 0;
    };
    using Found = std::vector<const FoundLoop*>;  // by the lanes of a process

    Lane* lane(const TrackFacts& on, std::uint32_t track, std::size_t row, std::int64_t now_ns);
    bool make_space(std::vector<std::unique_ptr<Lane>>& lanes, std::int64_t now_ns, bool must);
    const Lane* lane_of(const FoundLoop& loop) const;
    const LoopLane::Tally* marker_of(const FoundLoop& loop) const;
    static std::optional<FoundLoop> judge(const Lane& lane);
    /// `looks`: the lane that was judged; null: all were.
    void choose(const Process& process, const Found& found, const Lane* looks,
                Choice& choice) const;
    std::optional<FoundLoop> best_of(const Found& found) const;
    FoundLoop better(FoundLoop a, const FoundLoop& b) const;
    bool is_in_requests(const Found& found, const FoundLoop& loop) const;
    bool stays(Choice& choice, const FoundLoop* best) const;
    void replace(Choice& choice, std::optional<FoundLoop> by) const;
    bool may_be_told(const Process& process, const FoundLoop& loop) const;

    std::vector<Process> processes_;
    std::vector<std::array<Lane*, kRows>> lanes_;  // by track
};

}  // namespace gs
