// TrainingBackend: where a run's arrays live and where its steps are computed. The trainer decides
// (views, rates, rounds), the backend computes. One implementation per device: cpu_training.cpp,
// cuda/cuda_training.cpp. Arrays have the same layout on both, so a checkpoint moves between them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/adam/batch_part.h"
#include "trainer/adam/lazy_adam.h"
#include "trainer/adam/mip_filter.h"
#include "trainer/adam/sky_step.h"
#include "trainer/density/appearance.h"
#include "trainer/density/density.h"
#include "trainer/density/nudge_rules.h"
#include "trainer/density/snapshot.h"
#include "trainer/lidar/lidar_beams.h"
#include "trainer/lidar/lidar_loss.h"
#include "trainer/loss/loss.h"
#include "trainer/loss/metrics.h"
#include "trainer/settings/settings.h"
#include "trainer/settings/trainer_types.h"
#include "trainer/step_hashes.h"

namespace gs {

/// One view of a step, decided. The views of one step come one after the other; rates, degree and
/// all other values of the step are the same in all.
struct StepPlan {
    std::uint64_t step = 0;  ///< steps done before it
    BatchPart part;
    std::size_t view_index = 0;  ///< into Capture::views
    const View* view = nullptr;  ///< lives until the photos change
    int divisor = 1;             ///< its photo has the capture's size over this
    Camera camera;               ///< what the photo was taken from, as far as is known by now
    RenderOptions options;       ///< background and SH degree of this step, depth off
    LearningRates rates{};
    bool gathers_statistics = false;
    double lambda_dssim = 0;
    AppearancePlan appearance;
    SkyPlan sky;
    /// What the step learns from of a lidar, with its last view; null: nothing.
    std::shared_ptr<const BeamPlan> beams;
    NudgePlan nudge;      ///< after the optimizer's step
    bool hashes = false;  ///< fill StepOutcome::hashes
};
/// One view of a step, computed.
struct StepOutcome {
    std::uint64_t step = 0;  ///< steps done with it; 0: none is known yet
    BatchPart part;
    std::size_t view_index = 0;
    int divisor = 1;  ///< StepPlan::divisor
    LossTerms terms;
    LidarTerms lidar;  ///< where the plan has beams
    RenderCounters counters;
    std::size_t poisoned =
        0;  ///< Gaussians whose gradient was not finite; their update was left out
    /// Where the plan's options ask for it and the loss was finite.
    std::optional<SceneMotion> motion;
    std::optional<LensSlopes> intrinsics;
    StepHashes hashes;  ///< of the stages that this backend reports, if they were asked for
};

/// A run as a file gets it: no more of it need be in memory than is. Lives during a call.
struct RunPieces {
    using Take = std::function<void(std::span<const std::byte>)>;
    const RunArrays& about;       ///< for all but rows and their arrays
    bool about_all = true;        ///< has all rows, not a part of them
    std::size_t count, capacity;  ///< of all rows
    /// Calls take(bytes) for one piece after the other of the array of this number, in the order
    /// of each_row_array().
    std::function<void(std::size_t number, const Take& take)> array;

    explicit RunPieces(const RunArrays& whole);
    RunPieces(const RunArrays& part, std::size_t count_of_all, std::size_t capacity_of_all)
        : about(part), about_all(false), count(count_of_all), capacity(capacity_of_all) {}
};

class TrainingBackend {
  public:
    virtual ~TrainingBackend() = default;
    /// Takes over a new or resumed run; discards the run it had before.
    virtual void start(std::shared_ptr<const Capture> capture, RunArrays arrays) = 0;
    /// The views of plans are these from now on: the capture's, with photos of another size.
    virtual void change_photos(const Capture& /*resized*/) {}
    /// Carries out one view of a step and returns the oldest outcome that it has not returned yet:
    /// of this view on the CPU, of one to three before it on a device that works behind; each once,
    /// in order, except the last ones of a run. The last view of a batch steps the model by the
    /// mean of the views' gradients, statistics and motions being each view's own; a view whose
    /// loss or gradient is not finite adds nothing. Between two views of a batch callers call
    /// nothing else; the next batch discards one that was left in the middle (its view threw).
    /// Throws on device failure; the model of the last good step is kept.
    virtual StepOutcome step(const StepPlan& plan) = 0;
    virtual DensityReport densify_and_prune(const TrainingSettings& settings, double extent,
                                            bool prune_large) = 0;
    /// relocate() of trainer/density/relocation.h.
    virtual DensityReport relocate(const TrainingSettings& settings, double extent) = 0;
    virtual void reset_opacity() = 0;
    /// size_filter() of trainer/adam/mip_filter.h, of the rows as they now stand; settles every
    /// row.
    virtual void size_filter(std::span<const Camera> cameras, float near_plane,
                             FilterRows rows) = 0;
    /// RunArrays::filter.
    virtual Buffer<float> filter() const = 0;

    /// Whether it learns from StepPlan::beams.
    virtual bool takes_beams() const { return false; }
    virtual std::uint64_t steps() const = 0;
    virtual std::size_t count() const = 0;
    virtual int sh_degree() const = 0;
    /// Everything, bit for bit, for a checkpoint. Waits for the device.
    virtual RunArrays arrays() const = 0;
    /// The same without a copy if they are in host memory, so that a run can be saved when memory
    /// is short.
    virtual void look_at_pieces(const std::function<void(const RunPieces&)>& look) const;
    /// Which Gaussian each row in use is. Waits for the device.
    virtual RowIdentity identity() const = 0;
    /// Settles every row, lets `change` alter the arrays, and continues with the result; see
    /// Trainer::edit().
    virtual void edit(const std::function<void(RunArrays&)>& change) = 0;
    /// remove_rows() of trainer/density/run_edit.h.
    virtual void remove_rows(std::span<const std::uint32_t> rows);
    /// The model with every pending optimizer step applied, not filtered. Waits for the device.
    virtual GaussianModel model() const = 0;
    /// Draws and changes no bit of the run.
    virtual void render(const Camera& camera, const RenderOptions& options,
                        RenderResult& result) = 0;
    /// The same for the screen only, as Rasterizer::forward_for_display(); null: use render().
    virtual std::shared_ptr<const DevicePicture> render_for_display(const Camera&,
                                                                    const RenderOptions&,
                                                                    RenderResult& /*result*/) {
        return nullptr;
    }
    /// Outcomes that step() has not returned yet, oldest first; it still will. Waits for the
    /// device.
    virtual std::vector<StepOutcome> pending_outcomes() const { return {}; }
    /// What was learned of photos and cameras. Waits for the device.
    virtual AppearanceState appearance() const = 0;
    virtual std::vector<MemoryUse> memory() const = 0;
    virtual Rasterizer& rasterizer() = 0;
};

/// Calls look() with all arrays, where possible without a copy.
void look_at_arrays(const TrainingBackend& of, const std::function<void(const RunArrays&)>& look);

/// Host memory of a picture.
std::uint64_t picture_bytes(const RenderResult& picture);

std::unique_ptr<TrainingBackend> make_cpu_training(
    std::unique_ptr<Rasterizer> rasterizer = make_cpu_rasterizer());
/// A range of a run's rows on one of the ranks that take each step together.
struct RankShare {
    Exchange& ranks;
    std::size_t first_block = 0;  ///< of the run, that is the first here
};
/// The backend of a share, which lives longer. Only the head's outcomes are the run's.
std::unique_ptr<TrainingBackend> make_share_training(const RankShare& share);

}  // namespace gs
