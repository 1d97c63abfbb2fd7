// Trainer: one optimisation run. step() is one iteration, readable as the paper: next view,
// forward, loss, backward with Adam, density control when due. Owned by one thread (the engine
// thread or the CLI); never locks, never shares the model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/appearance.h"
#include "trainer/settings.h"
#include "trainer/trainer_types.h"

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
    double loss = kNotMeasured, l1 = kNotMeasured, ssim = kNotMeasured;
    double psnr = kNotMeasured;  ///< of its training view before the step, dB; NaN, too, when that
                                 ///< is masked entirely
    double lidar_m = kNotMeasured;  ///< mean |expected range - measured| of its beams that count
    RenderCounters counters;
    /// Of a batch each photo; the four numbers above are their means.
    std::vector<MeasuredPhoto> photos;
};

class TrainingBackend;
struct RowIdentity;
struct RunArrays;
struct StepHashes;  // step_hashes.h
struct StepRecord;  // step_record.h
struct TrainingSnapshot;

class Trainer {
  public:
    /// Initialises Gaussians from the capture's points. Errors: no training view, no points.
    static Result<std::unique_ptr<Trainer>> create(std::shared_ptr<const Capture> capture,
                                                   const TrainingSettings& settings,
                                                   std::unique_ptr<TrainingBackend> backend);
    /// Continues a checkpoint of any backend: on the CPU the same bits as if the run had never
    /// stopped. Errors: malformed file, another capture.
    static Result<std::unique_ptr<Trainer>> resume(const fs::path& checkpoint,
                                                   std::shared_ptr<const Capture> capture,
                                                   std::unique_ptr<TrainingBackend> backend);
    /// The same with the CPU's backend around `rasterizer`.
    static Result<std::unique_ptr<Trainer>> create(std::shared_ptr<const Capture> capture,
                                                   const TrainingSettings& settings,
                                                   std::unique_ptr<Rasterizer> rasterizer);
    static Result<std::unique_ptr<Trainer>> resume(const fs::path& checkpoint,
                                                   std::shared_ptr<const Capture> capture,
                                                   std::unique_ptr<Rasterizer> rasterizer);
    ~Trainer();

    /// `record`: everything of this step is put there, without changing any bit of it; where memory
    /// does not do, it says so.
    StepReport step(StepRecord* record = nullptr);
    /// From now on every step is hashed.
    void hash_steps(bool on);
    /// Hashes of steps that nobody took yet, oldest first; with `all` also those of which a device
    /// has not told everything.
    std::vector<StepHashes> take_hashes(bool all);
    bool finished() const;
    std::uint64_t steps_done() const;

    const TrainingSettings& settings() const;
    /// Takes effect with the next step. What is fixed in a run that goes on changes before the
    /// first step only: then the run begins anew (true), with other Gaussians. Errors: of create();
    /// then nothing has changed.
    Result<bool> set_settings(const TrainingSettings& settings);

    /// Draws the current model from any camera, without changing any bit of the training.
    void render(const Camera& camera, const RenderOptions& options, RenderResult& result);
    /// The same for the screen only; null: use render(). See Rasterizer::forward_for_display().
    std::shared_ptr<const DevicePicture> render_for_display(const Camera& camera,
                                                            const RenderOptions& options,
                                                            RenderResult& result);
    /// Options that draw as training does: background, degree reached, antialiasing.
    RenderOptions render_options() const;
    /// PSNR and SSIM of the given views (indices into capture.views), through what was learned of
    /// their cameras but not of photos; `progress` may cancel, then what is done is returned.
    /// `fitted`: psnr_fitted, too; where appearance is learned it is always measured.
    Evaluation evaluate(const std::vector<std::size_t>& views, const Progress& progress = {},
                        bool fitted = false);

    /// Changes the run between two steps: `change` gets everything settled, and may alter values,
    /// take rows out, add and lock some (trainer/run_edit.h). What it does not touch goes on as it
    /// is, moments included. Values that are not finite draw nothing and go with the next round.
    /// CHECKs that the arrays still belong together. Throws what `change` does, std::bad_alloc and
    /// DeviceError; the run goes on without the edit then.
    void edit(const std::function<void(RunArrays&)>& change);
    /// Everything, as it is now; see TrainingBackend::look_at_arrays().
    void look_at_arrays(const std::function<void(const RunArrays&)>& look) const;
    /// Which Gaussian each row is (row_identity.h).
    RowIdentity identity() const;
    /// By row: the id; the steps done when it was born; whether it is locked (1).
    std::vector<std::uint32_t> ids() const;
    std::vector<std::uint32_t> births() const;
    std::vector<std::uint8_t> locked() const;

    /// What was learned of photos and cameras; empty where nothing is.
    AppearanceState appearance() const;
    /// A copy of the model with every pending optimizer step applied, as it is drawn: filtered
    /// where the run has a 3D filter.
    GaussianModel model() const;
    /// The same as the run's arrays hold it: for who makes an edit of it.
    GaussianModel unfiltered_model() const;
    std::size_t gaussian_count() const;
    const Capture& capture() const;
    /// What a view's photo is trained on and measured from: as given, or as corrected by now.
    Camera camera_of(std::size_t view) const;
    float scene_extent() const;
    Rasterizer& rasterizer();

    /// Atomic: the old file stays until the new one is complete.
    Result<void> save_checkpoint(const fs::path& path) const;
    /// The run as it stands. Throws std::bad_alloc.
    std::shared_ptr<const TrainingSnapshot> snapshot() const;
    /// What snapshot() will need at most, in bytes of host memory.
    std::uint64_t snapshot_bytes() const;
    /// Goes back to (or on to) a snapshot of this trainer: the next step has the bits it had then.
    void restore(const TrainingSnapshot& snapshot);
    std::vector<MemoryUse> memory() const;

  private:
    struct State;
    explicit Trainer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// PSNR, SSIM of a model against photos, without a trainer (gausscope eval); where `looks` are
/// given through what its run learned of their cameras, and with psnr_fitted.
Evaluation evaluate_model(const GaussianModel& model, const Capture& capture,
                          const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                          const RenderOptions& options, const LearnedLooks* looks = nullptr,
                          const Progress& progress = {});

}  // namespace gs
