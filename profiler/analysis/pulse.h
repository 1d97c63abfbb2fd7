// Pulse: whether a process that iterates still gets on, and where it stands when it does not: the
// commonest failure of a job over several GPUs is a rank that waits for ever. Used by `serve` (a
// recording, a metric, a line in the log), by `attach` and by the studio for attached processes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/iterations.h"

namespace gs {

/// Nothing has ended for so long, of what shows that a process gets on.
struct Stall {
    std::int64_t since_ns = 0;        ///< CLOCK_MONOTONIC: the last sign of getting on
    std::vector<std::string> inside;  ///< ranges open on the thread that iterates, outermost first
    bool stopped = false;             ///< by a signal or a debugger: its state is T
};

/// The threshold. Signs of getting on are the ends of iterations, of any range on the thread that
/// iterates (an evaluation has ranges of its own), and of kernels.
struct StallOptions {
    double after_s =
        0;  ///< infinity: never; 0: five times the median iteration, and `least_s` at least
    double least_s = 30;
    double times_median = 5;
};

/// Of one process. One that has never iterated, has ended, or is not recorded has no stalls.
class Pulse {
  public:
    /// Iterations that have ended since the last call, in order; kernels have run until about
    /// `gpu_worked_ns`, 0: none did.
    void take(const TraceStore& store, const Iterations& ended, std::int64_t gpu_worked_ns);
    std::optional<Stall> stall(const TraceStore& store, std::uint32_t process, std::int64_t now_ns,
                               const StallOptions& options = {}) const;
    /// Ranges that are open now on the thread that iterates (on any, where no thread does),
    /// outermost first.
    std::vector<std::string> inside(const TraceStore& store, std::uint32_t process) const;

  private:
    std::int64_t last_sign_ns(const TraceStore& store, std::uint32_t process) const;
    bool is_of_interest(const TraceStore& store, const OpenSpan& open, std::uint32_t process) const;

    std::deque<double> seconds_;  ///< of the newest iterations
    std::int64_t sign_ns_ = 0;
    std::uint32_t tid_ = 0;  ///< of the thread that iterates, 0: none does (they were inferred)
    bool by_gpu_ = false;    ///< iterations were detected from the GPU's work
};

/// Where a rank of a job stands; `place` is its innermost open range, empty: in none.
struct RankPlace {
    int rank = 0;
    std::string place;
};
/// "ranks 0-6 are in all_reduce, 7 in its data loader", most ranks first; `world_size` > 0: those
/// that are not here are also listed.
std::string describe_ranks(std::vector<RankPlace> ranks, int world_size);

}  // namespace gs
