// Trainer: one optimisation run. step() is one iteration, readable as the paper: next view, forward, loss, backward
// with Adam, density control when due. Owned by one thread (the engine thread or the CLI); never locks, never shares
// the model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "renderer/base/expected.h"
#include "renderer/base/file.h"
#include "renderer/io/capture_io.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/settings.h"

namespace gs {

struct StepReport {
    std::uint64_t step = 0;  ///< iterations done, this one included
    double loss = 0, l1 = 0, ssim = 0;
    double psnr = 0;          ///< of this training view before the step, dB
    double milliseconds = 0;  ///< wall time of this step
    std::size_t view = 0;     ///< index into capture->views
    std::size_t gaussians = 0;
    RenderCounters counters;
    bool densified = false;
};

struct ImageScore {
    std::size_t view = 0;
    std::string name;
    double psnr = 0, ssim = 0, l1 = 0;
};
struct Evaluation {
    std::uint64_t step = 0;
    double psnr = 0, ssim = 0;  ///< means over images
    double seconds = 0;
    std::vector<ImageScore> images;
};

struct MemoryUse {
    std::string category;  ///< "parameters", "Adam moments", "forward state", "photos", ...
    std::uint64_t bytes = 0;
};

class Trainer {
  public:
    /// Initialises Gaussians from the capture's points. Errors: no training view, no points.
    static Result<std::unique_ptr<Trainer>> create(std::shared_ptr<const Capture> capture,
                                                   const TrainingSettings& settings,
                                                   std::unique_ptr<Rasterizer> rasterizer);
    /// Continues a checkpoint: the same bits as if the run had never stopped. Errors: malformed file, another capture.
    static Result<std::unique_ptr<Trainer>> resume(const fs::path& checkpoint, std::shared_ptr<const Capture> capture,
                                                   std::unique_ptr<Rasterizer> rasterizer);
    ~Trainer();

    StepReport step();
    bool finished() const;
    std::uint64_t steps_done() const;

    const TrainingSettings& settings() const;
    /// Takes effect with the next step.
    void set_settings(const TrainingSettings& settings);

    /// Draws the current model from any camera, without changing any bit of the training.
    void render(const Camera& camera, const RenderOptions& options, RenderResult& result);
    /// Options that draw as training does: background, degree reached, antialiasing.
    RenderOptions render_options() const;
    /// PSNR and SSIM of the given views (indices into capture.views); `progress` may cancel, then what is done is
    /// returned.
    Evaluation evaluate(const std::vector<std::size_t>& views, const Progress& progress = {});

    /// A copy of the model with every pending optimizer step applied.
    GaussianModel model() const;
    std::size_t gaussian_count() const;
    const Capture& capture() const;
    float scene_extent() const;
    Rasterizer& rasterizer();

    /// Atomic: the old file stays until the new one is complete.
    Result<void> save_checkpoint(const fs::path& path) const;
    std::vector<MemoryUse> memory() const;

  private:
    struct State;
    explicit Trainer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// PSNR, SSIM of a model against photos, without a trainer (gausscope eval).
Evaluation evaluate_model(const GaussianModel& model, const Capture& capture, const std::vector<std::size_t>& views,
                          Rasterizer& rasterizer, const RenderOptions& options, const Progress& progress = {});

}  // namespace gs
