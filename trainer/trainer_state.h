// What a training run consists of. Private to the trainer: trainer.cpp steps it, checkpoint.cpp
// writes and reads it.
#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trainer/lidar/lidar_beams.h"
#include "trainer/refined_cameras.h"
#include "trainer/sampler.h"
#include "trainer/trainer.h"

namespace gs {

struct Trainer::State {
    // Given.
    std::shared_ptr<const Capture> capture;
    TrainingSettings settings;
    std::unique_ptr<TrainingBackend> backend;
    /// Whose photos are trained on now: `capture`, or the same with smaller ones.
    std::shared_ptr<const Capture> photos;
    int divisor = 1;                             ///< of their sizes
    int side = std::numeric_limits<int>::max();  ///< the smallest of the capture's photos, pixels
    /// The Gaussians it starts from; null: it starts from the points, or the first step is done.
    std::shared_ptr<const GaussianModel> first;
    // The run: this and the backend's arrays go into a checkpoint.
    double extent = 1;         ///< world units
    std::size_t at_start = 0;  ///< Gaussians the run began with; the ids say so
    Sampler sampler;
    /// The capture's source knows the order of two epochs from this draw on.
    static constexpr std::uint64_t kNothingExpected = ~std::uint64_t{0};
    std::uint64_t expected_from = kNothingExpected;
    AppearanceRows rows;             ///< of `capture`
    LidarBeams lidar;                ///< of the capture; empty: it has none
    std::vector<std::size_t> drawn;  ///< trainable_views()
    RefinedCameras refined;          ///< what is learned of them
    std::pair<std::uint64_t, std::uint32_t> newest_outcome{};  ///< reported: its step, its part
    std::vector<MeasuredPhoto> measured;  ///< of a step whose photos are not all reported yet
    bool hashes = false;                  ///< of every step
    struct HashedStep {
        StepHashes hashes;
        std::uint32_t missing;  ///< views of which the device has not reported yet
    };
    std::deque<HashedStep> hashed;  ///< not taken yet
    RenderResult evaluated;         ///< memory that evaluations reuse
    // Each is logged once.
    bool warned_poison = false, warned_memory = false, warned_beams = false;

    State(std::shared_ptr<const Capture> given_capture, const TrainingSettings& given_settings,
          std::unique_ptr<TrainingBackend> given_backend);
    /// Errors (usage): there are no views to draw, or fewer than a batch; may_refine().
    Result<void> may_draw() const;
    /// Gaussians from the capture's points or `first`, by `settings`. Errors: no training view, no
    /// points.
    Result<void> begin();
    std::uint64_t steps() const { return backend->steps(); }
    int sh_degree() const;
    RenderOptions options() const;
    /// Gives the backend the run, and photos in full size.
    void start(RunArrays arrays);
    /// Brings `photos` to the size that the next step is to have: full where memory is short.
    void choose_photos();
    StepPlan next_plan(BatchPart part);
    /// Whether steps take beams. Where they were asked for and none can be had, that is reported
    /// once.
    bool learns_from_lidar();
    /// Errors (usage): lidar_weight is set, and the backend evaluates no rays.
    Result<void> may_learn_from_lidar() const;
    /// Of a capture whose photos do not stay in memory; else empty. Throws PhotoError.
    std::vector<LentPhoto> photos_of_step();
    /// False: the learned cameras cannot be this capture's.
    bool restore(TrainingSnapshot from);
    void take(const StepOutcome& outcome, StepReport& report);
    bool control_density(StepReport& report);
    /// Removes the Gaussians that the training photos see least, but for locked ones, until `keep`
    /// are left. Returns how many went.
    std::size_t reduce_to(std::size_t keep);
    /// As it is drawn: filtered where the run has a 3D filter.
    GaussianModel model() const;
    std::vector<Camera> training_cameras() const;  ///< in full size, corrected as far as by now
    // The 3D filter (mip_filter.h), in control_density.cpp.
    float filter_near() const;
    /// After step steps().
    bool filter_due(bool round) const;
    void size_filter(FilterRows which) {
        backend->size_filter(training_cameras(), filter_near(), which);
    }
    /// `outcomes`: what the backend reported when it got the step's views, of which `plan` is the
    /// last.
    void note_hashes(const StepPlan& plan, std::span<const StepOutcome> outcomes, bool changed);
    std::uint64_t hash_of_arrays() const;
};

/// A checkpoint's whole file. `capture`: the one it has to belong to; null: any. Errors: as
/// Trainer::resume().
Result<TrainingSnapshot> read_checkpoint(const fs::path& path, const Capture* capture);
/// (malformed) of a checkpoint whose corrected cameras are not its capture's.
tl::unexpected<Error> other_cameras(const fs::path& checkpoint);

}  // namespace gs
