// RefinedCameras: poses and intrinsics that a run learns beside the Gaussians: when a step's
// gradients of them are taken, and what of them is kept. Private to the trainer.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "trainer/poses/intrinsics_refinement.h"
#include "trainer/training_backend.h"

namespace gs {

/// Errors (usage): intrinsics are to be refined, and the projection or the lens of one of these
/// views does not allow it.
Result<void> may_refine(const TrainingSettings& settings, const Capture& capture,
                        std::span<const std::size_t> views);

class RefinedCameras {
  public:
    RefinedCameras() = default;
    /// Nothing is learned yet. `views`: those that are trained on.
    RefinedCameras(const TrainingSettings& settings, const Capture& capture,
                   std::span<const std::size_t> views);
    /// A view's camera of this capture, or of the same with photos of another size, as far as is
    /// known.
    Camera camera(const Capture& of, std::size_t view) const;
    /// What is to be asked of the next step.
    void ask(RenderOptions& options) const;
    /// Keeps what an outcome says of its view's camera.
    void add(const StepOutcome& outcome);
    /// Takes the gradients that are due after `steps` steps.
    void refine(const TrainingSettings& settings, std::uint64_t steps, double extent);
    /// Every photo has had its turn.
    void end_epoch(const TrainingSettings& settings);
    /// With what the backend has not reported yet.
    LearnedCameras learned(const TrainingBackend& backend) const;
    /// False: these cannot be this capture's.
    bool restore(const LearnedCameras& from);

  private:
    PoseRefinement poses_;             ///< empty: they are taken as given
    IntrinsicsRefinement intrinsics_;  ///< likewise
    // Reported and not taken yet, oldest first.
    std::deque<PoseGradient> pose_gradients_;
    std::deque<IntrinsicsGradient> intrinsics_gradients_;
    std::size_t views_ = 0;  ///< of the capture
};

}  // namespace gs
