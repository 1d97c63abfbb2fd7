// TrainingSnapshot: a run as it stood after a step, in host memory: what a checkpoint holds. Taken
// and gone back to by Trainer; kept by Run before an edit, so that it can be taken back.
#pragma once

#include <cstdint>

#include "trainer/pose_refinement.h"
#include "trainer/row_arrays.h"

namespace gs {

struct TrainingSnapshot {
    TrainingSettings settings;
    double extent = 1;        ///< of the scene, world units
    std::uint64_t drawn = 0;  ///< views that were trained on
    PoseState poses;          ///< empty: poses are taken as given
    RunArrays arrays;

    std::uint64_t steps() const { return arrays.adam.steps; }
    std::uint64_t bytes() const { return row_bytes(arrays) + arrays.appearance.bytes(); }
};

}  // namespace gs
