#include "base/parallel.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/machine_use.h"
#include "base/record/clock.h"
#include "base/record/scope.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gs {
namespace {

std::unique_ptr<tbb::global_control>& thread_limit() {
    static std::unique_ptr<tbb::global_control> limit;
    return limit;
}

// ParallelTime; tasks are counted apart for each thread, so that none waits for another's cache
// line.
struct alignas(64) TaskTime {
    std::atomic<std::uint64_t> ns{0};
};
std::atomic<std::uint64_t> loops_ns{0};
std::array<TaskTime, 64> task_times;

/// The name of a worker's share of loops under the caller's innermost span: "tasks of blend".
StringId name_of_tasks() {
    static std::array<std::atomic<StringId>, kStageCount + 1> known{};
    const detail::ThreadLane& caller = detail::this_threads_lane();
    StringId span = 0;
    if (caller.lane != nullptr && caller.depth > 0 && caller.depth <= abi::kStackSlots)
        span = caller.lane->stack[caller.depth - 1].name;
    if (span > kStageCount) span = 0;  // of no stage
    StringId name = known[span].load(std::memory_order_relaxed);
    if (name != 0) return name;
    const std::string text =
        std::string(kTasksOf) + (span == 0 ? "a loop" : name_of(static_cast<Stage>(span - 1)));
    name = register_string(text.c_str());
    known[span].store(name, std::memory_order_relaxed);
    return name;
}

/// A thread that lends a hand has a row in the timeline: what it did for one loop, from `begin`
/// (ticks), with how many tasks that were; in between it had nothing to do.
void record_share(std::uint64_t begin, std::uint64_t tasks, StringId name) {
    constexpr int kMostRows = 32;  // a ring has 128 lanes, which others also need
    static std::atomic<int> workers{0};
    thread_local const int number = ++workers;
    detail::ThreadLane& lane = detail::this_threads_lane();
    if (number > kMostRows || name == 0 || !detail::ready(lane)) return;
    // One that has a name may lend a hand, too: in a loop that a worker began within its own.
    if (lane.name == 0) name_this_thread(("worker " + std::to_string(number)).c_str());
    detail::write_record(lane, abi::RecordKind::span, begin, read_ticks(), tasks, name,
                         abi::kHasPayload);
}

// Decayed moments and faint weights reach denormals, which cost a hundred cycles each and change
// nothing: treat them as zero on every thread that runs our loops.
class FlushDenormals {
  public:
#if defined(__x86_64__)
    FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
    ~FlushDenormals() { _mm_setcsr(saved_); }

  private:
    unsigned saved_;
#endif
};

/// A loop that its threads take ranges of indices from.
struct Loop {
    std::size_t n, grain;
    void* context;
    void (*body)(void*, std::size_t, std::size_t);
    std::size_t tasks = (n + grain - 1) / grain;
    const detail::ThreadLane* caller = &detail::this_threads_lane();
    StringId name = is_recording() ? name_of_tasks() : 0;
    std::atomic<std::size_t> next{0};

    /// One thread's share: how many tasks it did. An exception ends the loop for all.
    std::uint64_t take_tasks() {
        [[maybe_unused]] const FlushDenormals flush;
        std::uint64_t done = 0;
        try {
            for (std::size_t task = next++; task < tasks; task = next++, ++done)
                body(context, task * grain, std::min(n, (task + 1) * grain));
        } catch (...) {
            next = tasks;
            throw;
        }
        return done;
    }
    void work() {
        constexpr std::uint64_t kShortest = 10'000;  // ns; shorter shares are not recorded
        const std::uint64_t begin = monotonic_ns(), ticks = read_ticks(), done = take_tasks(),
                            ns = monotonic_ns() - begin;
        const auto thread = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
        task_times[thread % task_times.size()].ns.fetch_add(ns, std::memory_order_relaxed);
        if (ns >= kShortest && done > 0 && &detail::this_threads_lane() != caller)
            record_share(ticks, done, name);
    }
};

}  // namespace

int set_thread_count(int count) {
    thread_limit().reset();
    if (count > 0)
        thread_limit() = std::make_unique<tbb::global_control>(
            tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
    return thread_count();
}

int thread_count() {
    return static_cast<int>(std::min<std::size_t>(
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism),
        static_cast<std::size_t>(tbb::info::default_concurrency())));
}

ParallelTime parallel_time() {
    ParallelTime out{loops_ns.load(std::memory_order_relaxed), 0};
    for (const TaskTime& thread : task_times)
        out.tasks += thread.ns.load(std::memory_order_relaxed);
    return out;
}

namespace detail {

void parallel_for_erased(std::size_t n, std::size_t grain, void* context,
                         void (*body)(void*, std::size_t, std::size_t)) {
    if (n == 0) return;
    Loop loop{n, grain, context, body};
    if (loop.tasks == 1) {
        loop.take_tasks();
        return;
    }
    const std::uint64_t begin = monotonic_ns();
    tbb::parallel_for(
        std::size_t{0}, std::min(loop.tasks, static_cast<std::size_t>(thread_count())),
        [&](std::size_t) { loop.work(); }, tbb::simple_partitioner{});
    loops_ns.fetch_add(monotonic_ns() - begin, std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace gs
