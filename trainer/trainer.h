// Trainer: one optimisation run. step() is one iteration, readable as the paper: next view,
// forward, loss, backward with Adam, density control when due. Owned by one thread (the engine
// thread or the CLI); never locks, never shares the model.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/scene/capture.h"
#include "trainer/loss/metrics.h"
#include "trainer/settings/settings.h"
#include "trainer/settings/trainer_types.h"
#include "trainer/training_backend.h"

namespace gs {

/// What a step measured of one of its photos before it, as the fields of StepReport.
struct MeasuredPhoto {
    std::size_t view = 0;
    double loss = kNotMeasured, l1 = kNotMeasured, ssim = kNotMeasured, psnr = kNotMeasured;
};
/// Of one step. A device works behind the host: what it measured then belongs to an earlier step,
/// or is not known yet.
struct StepReport {
    std::uint64_t step = 0;   ///< iterations done, this one included
    std::size_t view = 0;     ///< index into capture->views; of a batch the last
    std::uint32_t batch = 1;  ///< photos it took
    double milliseconds = 0;  ///< wall time of this step
    std::size_t gaussians = 0;
    bool densified = false;
    DensityReport round;  ///< where densified
    double lr_means = 0;  ///< of this step, x scene extent
    /// Step that the fields below belong to: `step` on the CPU, one to three before it on a device;
    /// 0: nothing new is known, and the numbers are NaN. Each step is reported at most once.
    std::uint64_t measured_step = 0;
    std::size_t measured_view = 0;  ///< its view; of a batch the last, which `counters` are of
    int measured_divisor = 1;       ///< its photo had the capture's size over this
    double loss = kNotMeasured, l1 = kNotMeasured, ssim = kNotMeasured;
    double psnr = kNotMeasured;  ///< of its training view before the step, dB; NaN, too, when that
                                 ///< is masked entirely
    double lidar_m = kNotMeasured;  ///< light x distance from the return, at most 2 m, of its beams
    RenderCounters counters;
    /// Of a batch each photo; the four numbers above are their means.
    std::vector<MeasuredPhoto> photos;
};

struct StepRecord;  // step_record.h

class Trainer {
  public:
    /// Initialises Gaussians from the capture's points, or trains those of `first` further. Errors:
    /// no training view, no points.
    static Result<std::unique_ptr<Trainer>> create(
        std::shared_ptr<const Capture> capture, const TrainingSettings& settings,
        std::unique_ptr<TrainingBackend> backend,
        std::shared_ptr<const GaussianModel> first = nullptr);
    /// Continues a checkpoint of any backend: on the CPU the same bits as if the run had never
    /// stopped. Errors: malformed file, another capture.
    static Result<std::unique_ptr<Trainer>> resume(const fs::path& checkpoint,
                                                   std::shared_ptr<const Capture> capture,
                                                   std::unique_ptr<TrainingBackend> backend);
    ~Trainer();

    /// One iteration. `record`: gets everything of the step, which keeps its bits; says so if
    /// memory is too short.
    StepReport step(StepRecord* record = nullptr);
    /// Hashes every step from now on.
    void hash_steps(bool on);
    /// Hashes of steps that were not taken yet, oldest first; with `all` also those that a device
    /// has not reported completely.
    std::vector<StepHashes> take_hashes(bool all);
    bool finished() const;
    std::uint64_t steps_done() const;

    const TrainingSettings& settings() const;
    /// Takes effect with the next step. Settings that are fixed during a run change before its
    /// first step only: the run then starts from scratch (true), with other Gaussians. Errors: of
    /// create(); nothing has changed then.
    Result<bool> set_settings(const TrainingSettings& settings);

    /// Draws the current model from any camera, without changing any bit of the training.
    void render(const Camera& camera, const RenderOptions& options, RenderResult& result);
    /// The same for the screen only; null: use render(). See Rasterizer::forward_for_display().
    std::shared_ptr<const DevicePicture> render_for_display(const Camera& camera,
                                                            const RenderOptions& options,
                                                            RenderResult& result);
    /// Options that draw as training does: background, current degree, antialiasing.
    RenderOptions render_options() const;
    /// PSNR and SSIM of the given views (indices into capture.views), with the learned appearance
    /// of their cameras but not of photos. `progress` may cancel; the scores so far are returned
    /// then. `fitted`: also psnr_fitted, which is always measured if appearance is learned.
    Evaluation evaluate(const std::vector<std::size_t>& views, const Progress& progress = {},
                        bool fitted = false);

    /// Edits the run between two steps: `change` gets every pending optimizer step applied, and may
    /// change values, remove, add and lock rows (trainer/density/run_edit.h). Other rows keep their
    /// values and moments. Values that are not finite draw nothing; the next round removes their
    /// rows. CHECKs that the arrays are consistent. Throws what `change` throws, std::bad_alloc and
    /// DeviceError; the run then continues without the edit.
    void edit(const std::function<void(RunArrays&)>& change);

    /// Reads the run's arrays where they are: all of them, the unfiltered model, exposure and
    /// colour.
    const TrainingBackend& backend() const;
    /// Which Gaussian each row in use is.
    RowIdentity identity() const;
    /// A copy of the model with every pending optimizer step applied, as it is drawn: filtered
    /// where the run has a 3D filter.
    GaussianModel model() const;
    std::size_t gaussian_count() const;
    const Capture& capture() const;
    /// What a view's photo is trained on and measured from: as given, or as corrected by now.
    Camera camera_of(std::size_t view) const;
    Rasterizer& rasterizer();

    /// Atomic: the old file stays until the new one is complete.
    Result<void> save_checkpoint(const fs::path& path) const;
    /// A copy of the run (snapshot.h). Throws std::bad_alloc.
    std::shared_ptr<const TrainingSnapshot> snapshot() const;
    /// Restores a snapshot of this trainer, earlier or later: the next step has the bits it had
    /// then.
    void restore(const TrainingSnapshot& snapshot);
    std::vector<MemoryUse> memory() const;

  private:
    struct State;
    explicit Trainer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// PSNR, SSIM of a model against photos, without a trainer (gausscope eval); where `looks` are
/// given through what its run learned of their cameras, and with psnr_fitted. A photo that cannot
/// be read has no score.
Evaluation evaluate_model(const GaussianModel& model, const Capture& capture,
                          const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                          const RenderOptions& options, const LearnedLooks* looks = nullptr,
                          const Progress& progress = {}, ScoreRules rules = ScoreRules::gausscope);

}  // namespace gs
