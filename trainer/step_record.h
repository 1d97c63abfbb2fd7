// What is kept of a step to explain it: hashes of its stages, one line a step, and all inputs and
// results of one captured step. Filled by Trainer::step();
// step_hashes.h writes the first into the run's folder, step_capture.h the second into a file.
#pragma once

#include <string>

#include "trainer/density/snapshot.h"
#include "trainer/training_backend.h"

namespace gs {

/// Everything of one step, in host memory: twice the run's arrays.
struct StepRecord {
    TrainingSettings settings;
    double extent = 1;  ///< of the scene, world units
    StepPlan plan;
    RunArrays before, after;  ///< as the step found and left them; density control comes later
    StepOutcome outcome;      ///< step 0: the device has not reported yet
    std::string problem;      ///< why there is none; empty: it is whole
};

}  // namespace gs
