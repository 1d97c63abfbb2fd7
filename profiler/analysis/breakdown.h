// What the time of a stretch of a trace (an iteration, a selection) went into: per stage on the
// host and on the GPU, and how long the GPU was busy, copying or idle. Times are milliseconds. Used
// by insights, compare and serve.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/iterations.h"
#include "profiler/store/store.h"

namespace gs {

/// GPU work, or own time of ranges, of one kind (profiler/store/kernel_kinds.h).
struct KindTime {
    std::string kind;
    double ms = 0;          ///< clipped to the stretch
    bool is_named = false;  ///< no rule has this word: it is a range's own name
};

struct Breakdown {
    double wall_ms = 0;
    double watched_ms = 0;  ///< of it, recording was not paused; the sets below are of this time
    std::array<double, kStageCount> gpu_ms{};  ///< kernels by stage, clipped to the stretch
    std::array<double, kStageCount>
        cpu_self_ms{};  ///< ranges of the iterations' thread by stage, inner ones excluded
    std::array<std::uint32_t, kStageCount> gpu_calls{};
    std::vector<KindTime> kinds;  ///< of work that CUPTI or a file recorded
    /// Of the iterations' thread, inner ranges excluded; "other" is also what no range covers. A
    /// range that no rule knows counts as the one around it; where that is the iteration, under its
    /// own name without a number.
    std::vector<KindTime> range_kinds;
    bool splats = false;       ///< some GPU work is what 3D Gaussian Splatting alone does
    bool host_splats = false;  ///< so are two stages or more of the ranges
    double kernel_ms = 0;      ///< at least one kernel runs (union over streams)
    double copy_ms = 0;        ///< copies and fills, union
    double copy_alone_ms = 0;  ///< of them, while no kernel ran
    double busy_ms = 0;        ///< any work, union
    double idle_ms = 0;  ///< watched - busy; NaN where no GPU work was recorded, or nothing at all
    double sync_ms = 0;  ///< host threads inside synchronising calls, union
    double api_ms = 0;   ///< host threads inside any CUDA call, union
    std::uint32_t kernels = 0, launches = 0;
    bool has_gpu = false;

    /// Of the iterations' thread, evaluations and checkpoints: what comes beside a step.
    double beside_ms() const;
};

Breakdown break_down(const TraceStore& store, std::uint32_t process, std::int64_t begin_ns,
                     std::int64_t end_ns, std::uint32_t track = kNoTrack);

/// Of every iteration, in order.
std::vector<Breakdown> break_down(const TraceStore& store, const Iterations& iterations);

}  // namespace gs
