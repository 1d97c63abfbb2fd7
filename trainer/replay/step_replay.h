// One training step as data: what it is made from and what each of its stages gives, and the one
// body that makes the second of the first with any rasterizer. A captured step holds both
// (step_file.h); `gausscope replay` makes the second again and compares, stage by stage.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/comparison.h"
#include "renderer/raster/frame_probe.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"
#include "trainer/density/nudge_rules.h"
#include "trainer/density/snapshot.h"
#include "trainer/loss/loss.h"
#include "trainer/settings/schedule.h"

namespace gs {

/// Of the Gaussians that the step's view shows: blocks of 16 with no visible one are left out.
struct StepInputs {
    std::uint64_t step = 0;        ///< steps done before it
    std::size_t gaussians = 0;     ///< of the whole model
    Buffer<std::uint32_t> blocks;  ///< of the whole model, ascending
    GaussianModel model;           ///< these blocks as the step read them, one after another, and
                                   ///< the sky, whose own step is not repeated
    Buffer<float> filter;  ///< of its rows, [capacity] (trainer/adam/mip_filter.h); or empty
    Camera camera;
    Image8 photo, mask;  ///< as the loss reads them; mask may be empty
    RenderOptions options;
    double lambda_dssim = 0;
    std::optional<AppliedLook> look;  ///< of the photo, where exposure and colour are learned
    LearningRates rates{};
    NudgePlan nudge;  ///< what the settings of the run make of it
    /// The blocks whose step of the optimizer is kept, as places in `blocks`, ascending; and their
    /// rows as they were stored before the step, with their tags (statistics are empty).
    Buffer<std::uint32_t> sample;
    RunArrays before;

    /// The row of the whole model that is row `row` of `model`.
    std::uint64_t row_of_run(std::size_t row) const {
        return std::uint64_t{blocks[row / kBlock]} * kBlock + row % kBlock;
    }
};

/// Planes of StepOutputs::gradients: by Plane number up to kShRest, then d loss / d projected mean.
/// The planes of higher SH bases follow from those of the colour; their bits are in the hash.
inline constexpr int kGradientMeanX = kShRest, kGradientMeanY = kShRest + 1,
                     kStepGradientPlanes = kShRest + 2;

struct StepOutputs {
    FrameProbe lists;
    RenderCounters counters;
    ImageF color, alpha;
    LossTerms terms;
    ImageF color_gradient;             ///< d loss / d colour
    Buffer<float> gradients;           ///< [kStepGradientPlanes][visible], rows as in lists.rows
    std::uint64_t gradients_hash = 0;  ///< of all planes of all visible rows
    Buffer<float> values, moments;     ///< of StepInputs::before after the step
};

/// Carries the step out: projection, lists and blending, then loss, then backward on `rasterizer`,
/// then the optimizer of the host. Stages are spans of their usual names. Throws on device failure.
StepOutputs run_step(const StepInputs& inputs, Rasterizer& rasterizer);

/// The stages that run_step() gives something of, in order.
inline constexpr std::array kStepStageNames{"project",       "lists",    "blend", "loss",
                                            "loss-backward", "backward", "adam"};

/// Every stage of two runs of a step, a row each; `was`: what was stored. Everything that `inputs`
/// names is in terms of the whole model. Without `same_bits` a row may be as far off as another
/// backend's rounding: sums in another order, fused multiply-adds, an exponential of other last
/// bits.
std::vector<ComparisonRow> compare_steps(const StepInputs& inputs, const StepOutputs& was,
                                         const StepOutputs& now, bool same_bits = true);

}  // namespace gs
