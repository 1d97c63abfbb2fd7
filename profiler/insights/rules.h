// The rules of the insights: each a function that looks at a process and answers. The table that
// names and numbers them is in find_insights.cpp; what they look for, docs/insights.md.
#pragma once

#include "profiler/insights/subject.h"

namespace gs::insights {

/// Ours: of the iteration; a change that gains less is not worth its work.
inline constexpr double kGainShare = 0.005;
/// Ours: where threads waited more of the time for a CPU, a stage's limit is unknown.
inline constexpr double kBusyMachine = 0.15;
inline Answer not_quiet(const Subject& s) {
    return cannot_tell(fmt::format("the machine was busy: threads waited {:.0f} % of the time",
                                   100 * s.machine.held));
}

// ---- rules_idle.cpp
Answer idle_gpu(const Subject& s);
Answer launch_bound(const Subject& s);
Answer graphs_missing(const Subject& s);
// ---- rules_transfers.cpp
Answer sync_stalls(const Subject& s);
Answer pageable_copies(const Subject& s);
Answer copies_alone(const Subject& s);
Answer allocator_churn(const Subject& s);
// ---- rules_kernels.cpp
Answer low_occupancy(const Subject& s);
Answer small_grids(const Subject& s);
// ---- rules_bound.cpp
Answer memory_bound(const Subject& s);
Answer compute_bound(const Subject& s);
Answer latency_bound(const Subject& s);
// ---- rules_driver.cpp
Answer clocks(const Subject& s);
Answer compiling(const Subject& s);
Answer command_buffer(const Subject& s);
// ---- rules_splatting.cpp
Answer sort_dominated(const Subject& s);
Answer uneven_tiles(const Subject& s);
Answer backward_blending(const Subject& s);
Answer many_isects(const Subject& s);
Answer density_spikes(const Subject& s);
// ---- rules_communication.cpp
/// Per iteration: kernels of collectives run, and no others.
double exposed_ms(const Subject& s);
Answer exposed_communication(const Subject& s);
// ---- rules_process.cpp
Answer data_loading(const Subject& s);
Answer regression(const Subject& s);
Answer stragglers(const Subject& s);
Answer own_cost(const Subject& s);
// ---- rules_cpu.cpp
Answer busy_machine(const Subject& s);
Answer idle_threads(const Subject& s);
Answer uneven_loops(const Subject& s);
Answer narrow_vectors(const Subject& s);

}  // namespace gs::insights
