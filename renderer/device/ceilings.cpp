#include "renderer/device/ceilings.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/buffer.h"
#include "base/parallel.h"

namespace gs {
namespace {

constexpr int kRounds = 3;
constexpr double kGiveUpSeconds = 200e-6;  // far longer than a parallel loop takes to start
constexpr std::size_t kGrain = 1u << 20;   // floats, 4 MiB a task

double seconds_of(auto&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
double best_seconds(int rounds, auto&& work) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < rounds; ++i) best = std::min(best, seconds_of(work));
    return best;
}

/// Floats per array: three of them are larger than what the last cache holds, and a small part of
/// the memory.
std::size_t array_floats() {
    const auto asked = [](int name) {
        return static_cast<std::size_t>(std::max(::sysconf(name), 0L));
    };
    const std::size_t memory = asked(_SC_PHYS_PAGES) * asked(_SC_PAGESIZE);
    const std::size_t bytes =
        std::clamp<std::size_t>(asked(_SC_LEVEL3_CACHE_SIZE), 64u << 20, 256u << 20);
    return std::max<std::size_t>(std::min(bytes, memory / 48), 8u << 20) / sizeof(float);
}

/// A parallel loop in which every thread does nothing but be there. Ends at once where a thread
/// does not come (another program has its core).
void meet(std::size_t threads) {
    std::atomic<std::size_t> arrived{0};
    parallel_for(threads, 1, [&](std::size_t) {
        arrived.fetch_add(1);
        const auto give_up =
            std::chrono::steady_clock::now() + std::chrono::duration<double>(kGiveUpSeconds);
        while (arrived.load() < threads && std::chrono::steady_clock::now() < give_up) {
        }
    });
}

}  // namespace

void measure_memory_and_tasks(Ceilings& out) {
    const std::size_t n = array_floats();
    const double bytes = static_cast<double>(n) * sizeof(float);
    Buffer<float> a, b, c;
    for (Buffer<float>* array : {&a, &b, &c}) {
        array->resize_discard(n);
        // First touched by the threads that will use them.
        parallel_ranges(n, kGrain, [&](std::size_t i, std::size_t end) {
            std::fill(array->data() + i, array->data() + end, 1.0f);
        });
    }
    out.copy_bytes = 2 * bytes / best_seconds(kRounds, [&] {
                         parallel_ranges(n, kGrain, [&](std::size_t i, std::size_t end) {
                             std::memcpy(a.data() + i, b.data() + i, (end - i) * sizeof(float));
                         });
                     });
    out.triad_bytes = 3 * bytes / best_seconds(kRounds, [&] {
                          parallel_ranges(n, kGrain, [&](std::size_t i, std::size_t end) {
                              float* to = a.data();
                              const float *x = b.data(), *y = c.data();
                              for (; i < end; ++i) to[i] = x[i] + 3.0f * y[i];
                          });
                      });
    // Where another program holds a core the threads do not meet, and there is nothing to tell.
    const auto threads = static_cast<std::size_t>(thread_count());
    const auto unless_missed = [](double seconds) {
        return seconds < kGiveUpSeconds ? seconds : Ceilings::kUnknown;
    };
    out.launch_seconds = unless_missed(best_seconds(100, [&] { meet(threads); }));
    constexpr int kInRow = 5;
    const double row = best_seconds(40, [&] {
        for (int i = 0; i < kInRow; ++i) meet(threads);
    });
    out.launch_interval_seconds = unless_missed(row) / kInRow;
}

}  // namespace gs
