// What a training run consists of. Private to the trainer: trainer.cpp steps it, checkpoint.cpp
// writes and reads it.
#pragma once

#include <deque>
#include <memory>

#include "trainer/pose_refinement.h"
#include "trainer/sampler.h"
#include "trainer/trainer.h"
#include "trainer/training_backend.h"

namespace gs {

struct Trainer::State {
    // Given.
    std::shared_ptr<const Capture> capture;
    TrainingSettings settings;
    std::unique_ptr<TrainingBackend> backend;
    // The run: this and the backend's arrays go into a checkpoint.
    double extent = 1;  ///< world units
    Sampler sampler;
    AppearanceRows rows;                      ///< of `capture`
    PoseRefinement poses;                     ///< empty: they are taken as given
    std::deque<PoseGradient> pose_gradients;  ///< told and not taken yet, oldest first
    std::uint64_t newest_outcome = 0;         ///< step of the last outcome reported
    bool hashes = false;                      ///< of every step
    std::deque<StepHashes> hashed;  ///< not taken yet; the last ones may lack what comes late
    // Complaints are logged once.
    bool told_poison = false, told_memory = false;

    State(std::shared_ptr<const Capture> given_capture, const TrainingSettings& given_settings,
          std::unique_ptr<TrainingBackend> given_backend);
    /// Gaussians from the capture's points, by `settings`. Errors: no training view, no points.
    Result<void> begin();
    std::uint64_t steps() const { return backend->steps(); }
    int sh_degree() const;
    RenderOptions options() const;
    StepPlan next_plan();
    void refine_poses();
    PoseState pose_state() const;
    /// False: they cannot be this capture's.
    bool restore_poses(const PoseState& poses);
    void take(const StepOutcome& outcome, StepReport& report);
    bool control_density(StepReport& report);
    void note_hashes(const StepPlan& plan, const StepOutcome& outcome, bool changed);
    std::uint64_t hash_of_arrays() const;
};

/// Views that can be trained on: not held out, and with a photo of the camera's size.
std::vector<std::size_t> trainable_views(const Capture& capture);

}  // namespace gs
