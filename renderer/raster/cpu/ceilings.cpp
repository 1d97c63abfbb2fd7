// Memory and tasks by bare loops; arithmetic with the vectors and the dispatch of the blend
// kernels: independent multiply-adds, and blending reduced to what a pair cannot do without, its
// pixels in registers, no lists, no rows left out, no pixel ending.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/ceilings.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// Multiply-adds, one per lane, of `rounds` rounds; the sum keeps the compiler from leaving them
/// out.
double MultiplyAdds(std::size_t rounds, float* sum) {
    const hn::ScalableTag<float> d;
    const auto scale = hn::Set(d, 0.999f), step = hn::Set(d, 1e-3f);
    // Different from each other, or they would be computed once.
    const auto start = [&](float k) { return hn::Set(d, sum[0] + k); };
    auto a0 = start(0), a1 = start(1), a2 = start(2), a3 = start(3), a4 = start(4), a5 = start(5),
         a6 = start(6), a7 = start(7), a8 = start(8), a9 = start(9);
    for (std::size_t i = 0; i < rounds; ++i) {
        a0 = hn::MulAdd(a0, scale, step);
        a1 = hn::MulAdd(a1, scale, step);
        a2 = hn::MulAdd(a2, scale, step);
        a3 = hn::MulAdd(a3, scale, step);
        a4 = hn::MulAdd(a4, scale, step);
        a5 = hn::MulAdd(a5, scale, step);
        a6 = hn::MulAdd(a6, scale, step);
        a7 = hn::MulAdd(a7, scale, step);
        a8 = hn::MulAdd(a8, scale, step);
        a9 = hn::MulAdd(a9, scale, step);
    }
    const auto all = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)),
                             hn::Add(hn::Add(a4, a5), hn::Add(hn::Add(a6, a7), hn::Add(a8, a9))));
    sum[0] = hn::GetLane(hn::SumOfLanes(d, all));
    return 10.0 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

/// Blends `count` splats into a row of 16 pixels, `rows` times; pairs done.
double BlendPairs(const float* splats, std::size_t count, std::size_t rows, float* sum) {
    const D d;
    const auto alpha_max = hn::Set(d, 0.99f), floor = hn::Set(d, -8.0f);
    auto total = hn::Zero(d);
    for (std::size_t row = 0; row < rows; ++row) {
        const auto y = hn::Set(d, static_cast<float>(row % kTileSize) + sum[0]);
        for (std::size_t lane = 0; lane < kTileSize; lane += hn::Lanes(d)) {
            const auto x = hn::Iota(d, static_cast<float>(lane) + 0.5f);
            auto t = hn::Set(d, 1.0f), red = hn::Zero(d), green = red, blue = red;
            for (std::size_t k = 0; k < count; ++k) {
                const float* s = splats + 8 * k;
                const auto dx = hn::Sub(x, hn::Set(d, s[0]));
                const auto linear =
                    hn::MulAdd(hn::Set(d, s[1]), y, hn::Set(d, s[2]));  // of this row
                const auto power =
                    hn::NegMulAdd(dx, hn::MulAdd(hn::Set(d, s[3]), dx, linear), hn::Set(d, s[4]));
                const auto open = hn::Ge(power, floor);
                const auto weight =
                    hn::IfThenElseZero(open, hn::Mul(hn::Min(exp2(power), alpha_max), t));
                t = hn::Sub(t, weight);
                red = hn::MulAdd(weight, hn::Set(d, s[5]), red);
                green = hn::MulAdd(weight, hn::Set(d, s[6]), green);
                blue = hn::MulAdd(weight, hn::Set(d, s[7]), blue);
            }
            total = hn::Add(total, hn::Add(hn::Add(red, green), hn::Add(blue, t)));
        }
    }
    sum[0] = hn::GetLane(hn::SumOfLanes(d, total)) * 1e-30f;
    return static_cast<double>(count) * static_cast<double>(rows) * kTileSize;
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/parallel.h"
#include "base/seconds.h"
#include "renderer/raster/cpu/ceilings.h"

namespace gs {
namespace cpu {
HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(BlendPairs);
}  // namespace cpu

namespace {

constexpr int kRounds = 25;          ///< short ones: the best is one that nothing disturbed
constexpr std::size_t kSplats = 64;  ///< 2 KiB: they stay in the first cache

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Of all threads at once: `work(sum)` says how much it did. The best of several rounds.
double rate_of(const std::function<double(float*)>& work) {
    const auto threads = static_cast<std::size_t>(thread_count());
    struct alignas(128) Own {
        float sum = 0.25f;
        double done = 0;
    };
    std::vector<Own> own(threads);
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
        for (Own& o : own) o.sum = 0.25f;
        const double begin = seconds_now();
        parallel_for(threads, 1, [&](std::size_t i) { own[i].done = work(&own[i].sum); });
        const double seconds = seconds_now() - begin;
        double done = 0;
        for (const Own& o : own) done += o.done;
        best = std::max(best, done / seconds);
    }
    return best;
}

constexpr int kMemoryRounds = 3;
constexpr double kGiveUpSeconds = 200e-6;  // far longer than a parallel loop takes to start
constexpr std::size_t kGrain = 1u << 20;   // floats, 4 MiB a task

double seconds_of(auto&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return seconds_since(begin);
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

/// STREAM's copy and triad on arrays larger than the caches, and the floor of a parallel loop; the
/// best of several rounds, all threads.
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
    out.copy_bytes = 2 * bytes / best_seconds(kMemoryRounds, [&] {
                         parallel_ranges(n, kGrain, [&](std::size_t i, std::size_t end) {
                             std::memcpy(a.data() + i, b.data() + i, (end - i) * sizeof(float));
                         });
                     });
    out.triad_bytes = 3 * bytes / best_seconds(kMemoryRounds, [&] {
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

}  // namespace

Ceilings measure_cpu_ceilings() {
    const double begin = seconds_now();
    Ceilings out;
    out.machine = make_cpu_rasterizer()->name();
    measure_memory_and_tasks(out);
    out.lane_operations =
        rate_of([](float* sum) { return HWY_DYNAMIC_DISPATCH(cpu::MultiplyAdds)(100'000, sum); });
    std::vector<float> splats(8 * kSplats);
    for (std::size_t k = 0; k < kSplats; ++k) {
        float* s = splats.data() + 8 * k;
        s[0] = static_cast<float>(k % 16);
        s[1] = 0.001f;
        s[2] = 0.002f;
        s[3] = 0.01f;
        s[4] = -5.0f;  // faint: no pixel ends
        s[5] = s[6] = s[7] = 0.5f;
    }
    out.blend_pairs = rate_of([&](float* sum) {
        return HWY_DYNAMIC_DISPATCH(cpu::BlendPairs)(splats.data(), kSplats, 3'000, sum);
    });
    out.measured_in_seconds = seconds_now() - begin;
    return out;
}

}  // namespace gs
#endif
