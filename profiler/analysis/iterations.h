// Which stretches of a process's time are its iterations, whatever the program calls them. The base
// of the insights, of comparing two traces, of the iteration bars and of the metrics of `serve`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/intervals.h"
#include "profiler/store/store.h"

namespace gs {

struct Iteration {
    std::uint64_t number = 0;  ///< the range's payload, a number in its name, or counted from 0
    std::int64_t begin_ns = 0, end_ns = 0;
    double milliseconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-6; }
};
struct Iterations {
    std::uint32_t process = 0;
    std::uint32_t track =
        kNoTrack;      ///< the thread they were found on; kNoTrack: found from the GPU's work
    std::string name;  ///< of the range ("iteration"), or of the kernel that comes once in each
    std::string
        how;  ///< for the user: "ranges called 'iteration'", "inferred: kernel 'adam' recurs"
    bool inferred = false;
    LoopKind kind = LoopKind::loop;
    std::vector<Iteration> items;  ///< in order, without overlap
};

/// The iterations of one process as its store grows: each call reads only what came since the last.
/// Tried in this order: ranges named iteration, step, train_step, "ProfilerStep#N",
/// "iteration[a,b)" and the like, and after them, if they were a warm-up, as below; the loop that
/// the store found (LoopFinder); the rarest kernel that recurs regularly.
class IterationFollower {
  public:
    /// What ended before `from_ns` is history.
    explicit IterationFollower(std::int64_t from_ns) : from_ns_(from_ns) {}

    /// Those that ended since the last call, by `until_ns`. A loop that is found late comes with
    /// all its iterations since those of a kernel, if it is long over several calls. `complete`:
    /// nothing comes any more, so that the last turn is over and every answer is the best there
    /// will be.
    Iterations take(const TraceStore& store, std::uint32_t process, std::int64_t until_ns,
                    bool complete);

  private:
    /// How far one loop has been read.
    struct Cursor {
        std::int64_t read_ns = 0;      ///< what ended by then
        std::int64_t boundary_ns = 0;  ///< where the next iteration begins
        bool has_boundary = false;
        std::uint64_t next_number = 0;
    };
    struct Look;

    Cursor& cursor(const std::string& loop);
    void take_named(const Look& look, const IterationRow& row, Iterations& out);
    void take_loops(const Look& look, FoundLoops loops, Iterations& out);
    bool take_loop(const Look& look, const FoundLoop& loop, Iterations& out);
    void take_kernels(const Look& look, Iterations& out);
    void add_until(const Look& look, const Intervals& unknown, std::int64_t boundary_ns, Cursor& at,
                   Iterations& out) const;

    std::int64_t from_ns_;
    std::map<std::string, Cursor> cursors_;  // by name and place
    bool by_ranges_ = false;                 // some came of ranges: no kernels then
    std::string kernel_;                     // that recurs; empty: none is known
    std::int64_t next_search_ns_ = 0;
    std::int64_t search_pause_ns_ = 0;
};

/// Those of one process that began at `from_ns` or later; empty items when nothing recurs.
Iterations find_iterations(const TraceStore& store, std::uint32_t process,
                           std::int64_t from_ns = std::numeric_limits<std::int64_t>::min());

}  // namespace gs
