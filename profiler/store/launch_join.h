// LaunchJoin: puts GPU work on the tracks of its streams and joins it with its launch. Work that a
// stage timer measured names the range that launched it. Work that CUPTI reported has only a
// number, its correlation with an API call. Calls and work come in any order, so the newest calls
// are kept by that number, and work that comes before its call waits. A part of the TraceStore.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "profiler/store/event.h"
#include "profiler/store/frame_book.h"
#include "profiler/store/name_book.h"
#include "profiler/store/sliding.h"
#include "profiler/store/sources.h"
#include "profiler/store/timeline.h"

namespace gs {

/// What taking a batch writes to.
struct TraceParts {
    NameBook& names;
    Timeline& timeline;
    FrameBook& frames;
};

class LaunchJoin {
  public:
    /// GPU work, and everything else that comes in any order: API calls, overhead, ranges that may
    /// overlap. After the batch's spans of threads.
    void take(const TraceSource& source, const TraceBatch& batch, const TraceParts& parts);
    /// Nothing of this process comes any more: nothing of it is joined either.
    void end(std::uint32_t process);
    void renumber(const Renumbering& to);
    /// Forgets what was launched; tracks of streams stay known.
    void clear();
    std::size_t bytes() const;

  private:
    /// GPU work whose API call has not come yet.
    struct Unlaunched {
        std::uint64_t correlation = 0;
        std::int64_t begin_ns = 0;
        std::uint32_t track = 0;
        std::uint16_t row = 0;
    };
    /// An API call by the low bits of its correlation: the newest calls stay.
    struct LaunchSlot {
        std::uint64_t correlation = 0;
        TraceLaunch at;
        bool driver = false;
    };
    using StreamKey =
        std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // device, context, stream
    struct Process {
        std::vector<LaunchSlot> launches;
        SlidingArray<Unlaunched> unlaunched;
        std::map<StreamKey, std::uint32_t> streams;  // their tracks
        std::uint32_t overlapping = kNoTrack;
    };

    Process& process(std::uint32_t index);
    void stage(std::uint32_t track, const StagedSpan& span, Timeline& timeline);
    template <class F>
    void settle(const TraceParts& parts, F each);
    void stage_host(const TraceSource& source, const TraceBatch& batch, const TraceParts& parts);
    void place_stage(const TraceSource& source, const GpuWorkEvent& e, const TraceParts& parts);
    void stage_gpu_work(const TraceSource& source, const TraceBatch& batch,
                        const TraceParts& parts);
    std::uint32_t stream_track(std::uint32_t process, std::uint32_t pid, const GpuWorkEvent& work,
                               Timeline& timeline);
    void remember_launch(std::uint32_t process, std::uint64_t correlation, const TraceLaunch& at,
                         bool driver);
    TraceLaunch find_launch(std::uint32_t process, std::uint64_t correlation) const;
    void take_launched(std::uint32_t track, std::size_t row, const TraceSpan& span,
                       const TraceLaunch& launch, const TraceParts& parts);
    void find_late_launches(std::uint32_t process, const TraceParts& parts);

    std::vector<Process> processes_;
    // ---- of one batch
    std::vector<std::vector<StagedSpan>> staged_;  // by track
    std::vector<std::uint32_t> touched_;           // tracks with staged spans
    std::vector<GpuWork> works_;
};

}  // namespace gs
