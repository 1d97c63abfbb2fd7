// What a training needs, by its settings and the headers of its photos: shown by `gausscope plan`,
// by the first lines of `train` and by the import dialog. docs/training.md has the sums, and how
// far they were from measured peaks.
#pragma once

#include <cstdint>
#include <vector>

#include "renderer/io/captures/capture_io.h"
#include "trainer/settings/settings.h"

namespace gs {

/// Bytes, as the training begins and with the most Gaussians that it may have.
struct PlannedMemory {
    const char* what;
    bool device = false;  ///< of the GPU's memory, not the host's
    std::uint64_t first = 0, most = 0;
};
struct TrainingPlan {
    std::uint64_t first = 0, most = 0;  ///< Gaussians
    std::vector<PlannedMemory> memory;
    std::uint64_t disk = 0;  ///< bytes of its folder: checkpoints, splats, and one being written

    std::uint64_t at_first(bool device) const;
    std::uint64_t at_most(bool device) const;
};
/// Where a training begins: a resumed one at its checkpoint.
struct TrainingStart {
    std::uint64_t gaussians = 0;  ///< 0: the capture's points
    std::uint64_t steps = 0;      ///< done
};
/// `checkpoints`: how many are kept.
TrainingPlan plan_training(const CaptureForecast& capture, const TrainingSettings& settings,
                           bool on_device, std::uint64_t checkpoints = 1, TrainingStart start = {});

/// Bytes that may be taken; 0: unknown, and as many as are wanted.
struct MemoryLimits {
    std::uint64_t host = 0, device = 0;
};
bool fits(const TrainingPlan& plan, const MemoryLimits& free);
/// The largest max_gaussians with which the training fits; 0: none.
std::uint64_t most_that_fit(const CaptureForecast& capture, TrainingSettings settings,
                            bool on_device, const MemoryLimits& free, TrainingStart start = {});

}  // namespace gs
