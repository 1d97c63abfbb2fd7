// The ranks of a job beside each other: how long each takes for itself, and how long it
// communicates or waits. R23 judges by it; the table of the ranks is made of it.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/insights/subject.h"

namespace gs::insights {

enum class Pace { usual, unclear, slow };

struct RankLoad {
    std::uint32_t process = 0;
    std::vector<double> own;  ///< of every iteration, without waiting for other ranks
    double iteration_ms = 0, own_ms = 0, exposed_ms = 0;  ///< medians
    double kernel_ms = 0;                                 ///< median, without collectives
    double held_ms = 0;  ///< of an iteration, at most so much was waiting for a CPU
    bool communicates = false;
    double bytes = 0, sized_ns = 0;  ///< of all its collectives; time of those that have bytes
    double timed_bytes = 0;          ///< in `sized_ns`
    Iteration slowest;
    std::uint32_t track = kNoTrack;
    mutable std::optional<Pace> pace;  ///< once it was asked for: it takes time
};
/// Those of a job that have iterations.
using JobLoads = std::vector<const RankLoad*>;

/// Adds the ranks of the subject's job to what it shares with others.
void gather_job(const Subject& subject);
/// By the name of the job.
std::map<std::string_view, JobLoads> jobs_of(const TraceStore& store, const RankLoads& loads);

bool all_communicate(const JobLoads& loads);
/// Of the ranks that are not slower than most, the one whose own time is the longest.
const RankLoad* usual_of(JobLoads loads);
/// Whether a rank is slower than the usual one by more than chance, and than waiting for CPUs
/// explains.
Pace pace_of(const RankLoad& rank, const RankLoad& usual);

/// Of jobs with two ranks or more, in order.
std::vector<RankFigures> rank_figures(const TraceStore& store, const RankLoads& loads);

}  // namespace gs::insights
