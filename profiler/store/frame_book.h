// FrameBook: iterations, view frames and frames of the window, with the time of every stage inside
// them on their own thread and what they launched on a GPU; and the newest single calls of every
// stage. A part of the TraceStore; the Stages panel, `bench` and the exports ask it for histories
// and statistics (statistics.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/store/iteration_rows.h"
#include "profiler/store/loop_finder.h"
#include "profiler/store/name_book.h"
#include "profiler/store/sliding.h"
#include "profiler/store/statistics.h"
#include "profiler/store/store_options.h"
#include "profiler/store/timeline.h"

namespace gs {

class FrameBook {
  public:
    explicit FrameBook(const TraceStoreOptions& options) : options_(options) {}

    /// Oldest first. Empty for StatScope::call.
    std::span<const FrameSample> history(StatScope scope) const;
    /// Over the newest `last_n` frames (calls, for StatScope::call) of a process, warm-up and
    /// incomplete frames left out.
    std::vector<StageStats> statistics(StatScope scope, std::size_t last_n = 256,
                                       std::uint32_t process = kAnyProcess) const;
    /// GPU time of the same stages in the same form: what those frames launched. Empty where no GPU
    /// was timed.
    std::vector<StageStats> gpu_statistics(StatScope scope, std::size_t last_n = 256,
                                           std::uint32_t process = kAnyProcess) const;
    /// The thread of a process's newest iteration; kNoTrack when it has none.
    std::uint32_t iterations_on(std::uint32_t process) const {
        return process < processes_.size() ? processes_[process].iterations_on : kNoTrack;
    }
    /// Where ranges of a process bear names of iterations.
    std::span<const IterationRow> iteration_rows(std::uint32_t process) const {
        return process < processes_.size() ? processes_[process].rows.all()
                                           : std::span<const IterationRow>();
    }
    /// Loops without ranges that are named like an iteration.
    const LoopFinder& loops() const { return loops_; }

    // ---- for the store that fills it
    /// A range that has just been placed on its track. `lossy`: records were lost around it.
    void take_range(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                    const TraceSpan& span, std::size_t depth, bool lossy);
    /// A range that may overlap others has just been placed.
    void take_overlapping(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                          const TraceSpan& span);
    /// GPU work that has just been placed. If a process has its own stage timer, the work that
    /// CUPTI reports of it is ignored.
    void take_gpu_call(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                       const TraceSpan& span);
    /// The same work once its launch is known. `outermost`: not inside other work of its stream.
    void take_launched(const Timeline& timeline, const NameBook& names, std::uint32_t track,
                       const TraceSpan& span, const TraceLaunch& launch, bool outermost);
    /// Nothing of this process comes any more: no work waits for its frames, no loop is looked for.
    void end(std::uint32_t process);
    /// Frames and calls of processes and tracks that go, go with them.
    void renumber(const Renumbering& to);
    /// The next frames are warm-up again.
    void restart_warm_up();
    void clear();
    std::size_t bytes() const;
    /// Without frames, yet knowing iterations_on(), iteration_rows() and loops().
    FrameBook excerpt() const;

  private:
    struct Call {
        std::int64_t end_ns;
        double milliseconds;
        std::uint32_t process;
    };
    /// GPU work that waits for the frame that launched it: frames are recorded when they end.
    struct DeviceWork {
        std::int64_t launch_ns = 0;
        float milliseconds = 0;
        std::uint32_t track = 0, launch_track = 0;
        Stage stage = Stage::other;
        bool outermost = false;
    };
    struct Process {
        SlidingArray<DeviceWork> waiting[kFrameScopes];
        std::size_t warm_up_left[kFrameScopes] = {};
        std::uint32_t iterations_on = kNoTrack;
        IterationRows rows;
        std::uint64_t next_iteration = 0;  ///< for those without a number
        bool times_itself = false;         ///< its own stage timer measures GPU time
    };

    Process& process(std::uint32_t index);
    bool is_iteration(const TraceTrack& on, const NameBook& names, std::uint32_t track,
                      const TraceSpan& span, std::size_t row);
    void take_call(SlidingArray<Call>& calls, std::uint32_t process, const TraceSpan& span);
    void take_frame(StatScope scope, const Timeline& timeline, const NameBook& names,
                    std::uint32_t track, const TraceSpan& span, std::size_t depth, bool lossy);
    std::uint64_t frame_number(StatScope scope, const NameBook& names, std::uint32_t process,
                               const TraceSpan& span);
    void take_waiting_work(StatScope scope, const Timeline& timeline, FrameSample& frame);
    std::vector<StageStats> call_statistics(const SlidingArray<Call> (&calls)[kStageCount],
                                            std::size_t last_n, std::uint32_t process) const;

    TraceStoreOptions options_;
    std::vector<Process> processes_;
    LoopFinder loops_;
    SlidingArray<FrameSample> frames_[kFrameScopes];
    SlidingArray<Call> calls_[kStageCount], gpu_calls_[kStageCount];
};

}  // namespace gs
