#include "base/machine_use.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/parallel.h"
#include "base/record/machine_counters.h"
#include "base/record/scope.h"

namespace gs {
namespace {

constexpr std::uint64_t kFirstPause = 60'000'000, kLongestPause = 1'000'000'000;  // ns
std::atomic<int> vector_bits{0};

}  // namespace

void tell_vector_bits(int bits) { vector_bits = bits; }

int widest_vector_bits() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") ? 512 : __builtin_cpu_supports("avx2") ? 256 : 128;
#elif defined(__aarch64__)
    return 128;
#else
    return 0;
#endif
}

void record_machine_use() noexcept {
    write_machine_counters();
    static std::mutex mutex;  // several sessions may train in one program
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    static ParallelTime last;
    static std::uint64_t last_ns = 0, pause = kFirstPause;
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns - last_ns < pause || !is_recording()) return;
    pause = last_ns == 0 ? kFirstPause : std::min(2 * pause, kLongestPause);
    static const StringId threads = register_string(machine_counter::kThreads),
                          in_loops = register_string(machine_counter::kInLoops),
                          busy = register_string(machine_counter::kWorkersBusy),
                          bits = register_string(machine_counter::kVectorBits),
                          bits_here = register_string(machine_counter::kVectorBitsHere);
    const ParallelTime now = parallel_time();
    const auto loops = static_cast<double>(now.loops - last.loops),
               tasks = static_cast<double>(now.tasks - last.tasks);
    const int count = thread_count();
    record_counter(threads, count);
    if (last_ns != 0)
        record_counter(in_loops,
                       std::min(100.0, 100 * loops / static_cast<double>(now_ns - last_ns)));
    if (last_ns != 0 && loops > 0)
        record_counter(busy, std::min(100.0, 100 * tasks / (loops * count)));
    if (const int used = vector_bits; used > 0) {
        record_counter(bits, used);
        record_counter(bits_here, widest_vector_bits());
    }
    last = now;
    last_ns = now_ns;
}

}  // namespace gs
