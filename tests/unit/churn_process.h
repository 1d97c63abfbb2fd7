// Made-up GPU processes that come and go, for the tests of what a store and the daemon forget: some
// threads, CUDA calls with their kernels, waits, memory, and the counters of eight GPUs.
#pragma once

#include <cstdint>
#include <string>

#include "profiler/store/store.h"

namespace gs::test {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

/// One process; `second()` gives what it did in a second of CLOCK_MONOTONIC. Names: 1 "iteration",
/// 2 "cudaLaunchKernel", 3 "kernel", 4 one of its own, 5... of counters.
class ChurnProcess {
  public:
    explicit ChurnProcess(std::uint32_t number, int kernels = 200, int counters = 14)
        : kernels_(kernels), counters_(counters) {
        first_.source = number;
        first_.pid = 10'000 + number;
        first_.process_start = number;
        first_.process_name = "train.py";
        first_.names = {{1, "iteration"},
                        {2, "cudaLaunchKernel"},
                        {3, "kernel"},
                        {4, "epoch of " + std::to_string(number)}};
        for (int c = 0; c < counters; ++c)
            first_.names.push_back(
                {static_cast<std::uint32_t>(5 + c), "counter " + std::to_string(c)});
        for (std::uint32_t t = 0; t < 4; ++t) first_.tracks.push_back({t, first_.pid, 100 + t, ""});
    }
    std::uint32_t pid() const { return first_.pid; }

    TraceBatch second(std::int64_t begin_ns, bool last = false) {
        TraceBatch b = first_;
        if (written_ > 0) b.names.clear(), b.tracks.clear();
        b.read_ns = begin_ns + kSecondNs;
        b.ended = last;
        b.service.emplace();
        b.service->armed = !last;
        b.service->heartbeat_ns = b.read_ns;
        const std::int64_t step = kSecondNs / kernels_;
        for (int k = 0; k < kernels_; ++k) add_step(b, begin_ns + k * step, step);
        for (int c = 0; c < counters_; ++c)
            b.counters.push_back(
                {begin_ns, static_cast<double>(c), 0, static_cast<std::uint32_t>(5 + c)});
        written_ += b.spans.size() + b.gpu_work.size() + b.api_calls.size() + b.counters.size();
        b.written = written_;
        return b;
    }

  private:
    void add_step(TraceBatch& b, std::int64_t at, std::int64_t step) {
        ++correlation_;
        for (std::uint32_t t = 0; t < 4; ++t)
            b.spans.push_back({at, at + step - 10, correlation_, t, t == 0 ? 1u : 4u, 0, true});
        b.api_calls.push_back({at + 1, at + 2, correlation_, 100, 2, 0, false});
        b.gpu_work.push_back({.begin_ns = at + 3,
                              .end_ns = at + step / 2,
                              .correlation = correlation_,
                              .name = 3,
                              .stream = 7});
        b.syncs.push_back({at + 3, at + step / 2, correlation_, 1, 7, SyncType::stream});
        b.memory.push_back({at, 1 << 20, correlation_, correlation_, 0, MemoryType::device, false});
    }

    TraceBatch first_;
    int kernels_, counters_;
    std::uint64_t correlation_ = 0, written_ = 0;
};

}  // namespace gs::test
