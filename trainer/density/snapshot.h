// TrainingSnapshot: a run after a step, in host memory, with what a checkpoint holds. Trainer takes
// and restores it; Run keeps one before an edit, so that the edit can be undone.
#pragma once

#include <cstdint>

#include "trainer/density/row_arrays.h"
#include "trainer/poses/intrinsics_refinement.h"

namespace gs {

struct TrainingSnapshot {
    TrainingSettings settings;
    double extent = 1;        ///< of the scene, world units
    std::uint64_t drawn = 0;  ///< views that were trained on
    LearnedCameras cameras;
    RunArrays arrays;

    std::uint64_t steps() const { return arrays.adam.steps; }
    std::uint64_t bytes() const { return row_bytes(arrays) + arrays.appearance.bytes(); }
};

class TrainingBackend;
/// What a snapshot of its run needs at most, in bytes of host memory.
std::uint64_t snapshot_bytes(const TrainingBackend& of, const TrainingSettings& settings);

}  // namespace gs
