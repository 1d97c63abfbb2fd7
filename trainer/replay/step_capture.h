// From what a step was made of and did (step_record.h) to what is kept of it: the Gaussians of the
// blocks that its view shows, and what each stage gave, computed again from them by the same
// rasterizer. Called by Run for `capture.step` and --capture-step.
#pragma once

#include <string>

#include "base/expected.h"
#include "trainer/replay/step_replay.h"
#include "trainer/step_record.h"

namespace gs {

/// Where a captured step comes from.
struct StepOrigin {
    std::string program;  ///< its version
    std::string backend;  ///< Rasterizer::name
    std::string machine;  ///< processor
    std::string capture, view;
    TrainingSettings settings;
    double extent = 1;  ///< of the scene, world units
    /// What was computed again, beside what the run did: "the same bits", or how far apart.
    std::string agreement;
    bool same_bits = false;  ///< loss and optimizer: it is the step that the run took
    std::string
        stage_times;  ///< JSON: what the stages took in the run's newest steps; may be empty
};

struct CapturedStep {
    StepOrigin origin;
    StepInputs inputs;
    StepOutputs outputs;
};

/// "CPU (AVX-512, 2 threads)" without the threads, on which no bit depends.
std::string kind_of_backend(const std::string& name);

/// Can steps of such a run be captured? Errors (unsupported): its moments are compact.
Result<void> can_capture(const TrainingSettings& settings);
/// `record` whole. Errors: it is not (StepRecord::problem); the rasterizer does not report its
/// stages. Throws on device failure and std::bad_alloc.
Result<CapturedStep> capture_of(const StepRecord& record, const std::string& capture,
                                Rasterizer& rasterizer);

}  // namespace gs
