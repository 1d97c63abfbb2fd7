#include "base/parallel.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/machine_use.h"
#include "base/record/clock.h"

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
    const std::size_t tasks = (n + grain - 1) / grain;
    const auto run = [&](std::size_t task) {
        [[maybe_unused]] const FlushDenormals flush;
        body(context, task * grain, std::min(n, (task + 1) * grain));
    };
    if (tasks == 1) return run(0);
    const std::uint64_t begin = monotonic_ns();
    tbb::parallel_for(
        std::size_t{0}, tasks,
        [&](std::size_t task) {
            const std::uint64_t task_begin = monotonic_ns();
            run(task);
            const auto thread =
                static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
            task_times[thread % task_times.size()].ns.fetch_add(monotonic_ns() - task_begin,
                                                                std::memory_order_relaxed);
        },
        tbb::simple_partitioner{});
    loops_ns.fetch_add(monotonic_ns() - begin, std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace gs
