// A made-up foreign trainer as the profiling service would record it: PyTorch's shape with
// gsplat's names. NVTX ranges on the main thread, backward launched from autograd's own thread,
// loaders, CUDA calls, kernels, copies and counters. Through a real TraceStore; figures are exact,
// so that tests can add them up themselves.
#pragma once

#include <cstdint>

#include "profiler/store/store.h"

namespace gs::test {

struct FakeTrainer {
    int iterations = 40;
    double slower = 1;  ///< of its backward kernels
    std::uint32_t pid = 4242;
    std::uint64_t source = 1;
    std::int64_t begin_ns = 5'000'000'000'000;
};
/// Adds its records; what it says it launched it launched. Returns when it ended.
std::int64_t fill_trainer(TraceStore& store, const FakeTrainer& trainer);
/// Kernels, CUDA calls and ranges an iteration has.
inline constexpr int kTrainerKernels = 9, kTrainerCopies = 1, kTrainerRanges = 7;

/// `spans` on 8 threads, 4 deep, and 2 GPU streams, evenly: for draw times against event counts.
void fill_many(TraceStore& store, std::size_t spans, std::int64_t begin_ns);

}  // namespace gs::test
