// Rules of programs that compute on CPUs: R25 busy machine, R26 threads idle, R27
// uneven loops, R28 narrow vectors. From the counters of what the machine gave the process
// (profiler/analysis/machine_use.h).
#include <cmath>

#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start values, ours: the table of docs/insights.md.
constexpr double kIdleThreads = 0.15;  // R26, R27: of what the threads could do
constexpr const char* kNotRecorded =
    "the trace does not show machine use: it has only GPU work, or predates these counters";

Evidence all_of_it(const Subject& s) {
    return {s.iterations.track, 0, s.whole.begin, s.whole.end, "the iterations averaged"};
}

/// What one of these rules needs; why it cannot tell, or nothing.
const char* why_not(const Subject& s, double figure) {
    if (s.activity.has_gpu) return "a GPU did the work";
    return std::isfinite(figure) ? nullptr : kNotRecorded;
}

}  // namespace

Answer busy_machine(const Subject& s) {
    const MachineUse& use = s.machine;
    if (!std::isfinite(use.held)) return cannot_tell(kNotRecorded);
    if (!(use.held > kQuiet)) return {};
    // With a GPU, what threads waited need not have held it up: R1 says how long it was idle.
    const double ms =
        s.activity.has_gpu ? std::numeric_limits<double>::quiet_NaN() : use.held * s.mean_ms;
    Insight i = insight(
        s, fmt::format("The machine was busy: threads waited {:.0f} % of the time", 100 * use.held),
        ms, Confidence::inferred);
    i.text = fmt::format("While these iterations ran {}.", machine_text(use));
    if (use.threads > use.cpus)
        i.text += fmt::format(" It has {:.0f} threads for {:.0f} CPUs.", use.threads, use.cpus);
    i.advice =
        "All times in this trace are longer by about that much: stop other programs, or record "
        "again on an idle machine, before comparing. If the load is unavoidable, use fewer threads "
        "(--threads) than CPUs.";
    i.evidence.push_back(all_of_it(s));
    return {{std::move(i)}, {}};
}

Answer idle_threads(const Subject& s) {
    const MachineUse& use = s.machine;
    if (const char* why = why_not(s, use.in_loops)) return cannot_tell(why);
    if (!(use.threads > 1)) return cannot_tell("it runs on one thread");
    // Outside of parallel loops one thread works and the others have nothing to do.
    const double serial = 1 - use.in_loops, idle = serial * (1 - 1 / use.threads);
    if (!(idle > kIdleThreads)) return {};
    Insight i = insight(s,
                        fmt::format("{:.0f} % of the time only one of {:.0f} threads has work",
                                    100 * serial, use.threads),
                        idle * s.mean_ms, Confidence::inferred);
    i.text = fmt::format("Parallel loops take {:.0f} % of the time; the rest runs on one thread.",
                         100 * use.in_loops);
    if (std::isfinite(use.cpus_used))
        i.text += fmt::format(" The process used {:.1f} CPUs on average.", use.cpus_used);
    i.advice =
        "Parallelize serial work: reading and decoding, single-threaded sums and sorts, writing "
        "checkpoints. The Stages panel shows which stages take the time; the possible gain assumes "
        "an even split.";
    i.evidence.push_back(all_of_it(s));
    return {{std::move(i)}, {}};
}

Answer uneven_loops(const Subject& s) {
    const MachineUse& use = s.machine;
    if (const char* why = why_not(s, use.workers_busy)) return cannot_tell(why);
    if (!(use.threads > 1)) return cannot_tell("it runs on one thread");
    // A worker that the machine does not let run has no task, either.
    if (use.doubt() > kBusyMachine) return not_quiet(s);
    const double idle = use.in_loops * (1 - use.workers_busy);
    if (!(idle > kIdleThreads)) return {};
    Insight i = insight(s,
                        fmt::format("Threads of parallel loops are busy {:.0f} % of the time",
                                    100 * use.workers_busy),
                        idle * s.mean_ms, Confidence::inferred);
    i.text = fmt::format(
        "Loops take {:.0f} % of the time; their {:.0f} threads have no task for {:.0f} % of it: at "
        "the start, and at the end while the longest task still runs.",
        100 * use.in_loops, use.threads, 100 * (1 - use.workers_busy));
    i.advice =
        "Use smaller tasks and start the longest first (tiles by list length), fewer and longer "
        "loops, and fewer threads where there is little work.";
    i.evidence.push_back(all_of_it(s));
    return {{std::move(i)}, {}};
}

Answer narrow_vectors(const Subject& s) {
    const MachineUse& use = s.machine;
    if (const char* why = why_not(s, use.vector_bits)) return cannot_tell(why);
    if (!(use.vector_bits < use.vector_bits_here)) return {};
    Insight i = insight(s,
                        fmt::format("Vectors of {:.0f} bits on a CPU with {:.0f}", use.vector_bits,
                                    use.vector_bits_here),
                        std::numeric_limits<double>::quiet_NaN(), Confidence::inferred);
    i.text = fmt::format("The CPU code computes {:.0f} floats at once, the CPU could do {:.0f}.",
                         use.vector_bits / 32, use.vector_bits_here / 32);
    i.advice =
        "Build with a Highway version that supports this instruction set, and do not select "
        "another one; `gausscope selftest` lists what the build has.";
    i.evidence.push_back(all_of_it(s));
    return {{std::move(i)}, {}};
}

}  // namespace gs::insights
