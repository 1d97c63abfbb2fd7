// What the kernels of a training step read from and write to device memory besides the frame: the
// step's numbers, the run's flags, the result. The host fills StepInputs in page-locked memory and
// sends it ahead of each step, so that no kernel parameter changes from one step to the next.
// Private to trainer/cuda.
#pragma once

#include <cstdint>

#include "renderer/math/adam.h"
#include "renderer/math/lens_numbers.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"
#include "trainer/density/nudge_rules.h"

namespace gs::cuda {

inline constexpr int kPendingColumns = 8;  ///< of LazyView::pending

/// A photo in device memory and what the loss of a picture against it needs.
struct LossInputs {
    const std::uint8_t* photo;  ///< [height][width][3]
    const std::uint8_t* mask;   ///< [height][width], 0 = ignored; or null
    std::int32_t width, height;
    double samples;  ///< 3 x pixels that count, at least 1
    double lambda_dssim;
    float l1_scale, ssim_scale;  ///< d loss / d |difference|, d loss / d SSIM of one sample
};

/// Of exposure and colour: whose photo it is, and how far they may move.
struct AppearanceInputs {
    std::uint32_t photo, camera, photos, cameras;  ///< AppearanceRows
    std::uint32_t simple;                          ///< exposure and white balance alone
    float rate, epsilon, width;                    ///< AppearancePlan
};

/// Of the sky: SkyPlan, and which of its batch's views this is.
struct SkyInputs {
    math::AdamBetas<float> betas;
    float rate, epsilon;
    std::uint32_t views, first, last;
};

/// One step, sent to the device as one piece; rows of the table follow it.
struct StepInputs {
    FrameConstants frame;
    LossInputs loss;
    AppearanceInputs appearance;
    SkyInputs sky;
    NudgePlan nudge;
    LazyClock clock;
    float rates[kPendingColumns];  ///< of this step, bias corrections included, by learning group
    float epsilon;
    float drift_means, drift_scales;
    std::int32_t planes;  ///< planes stepped
    std::uint32_t gathers_statistics;
    float to_ndc_x, to_ndc_y;       ///< gradients per pixel to gradients per half a picture
    std::uint32_t first_row, rows;  ///< of LazyView::pending that follow
};

/// Of the run. A frame that did not fit stops it: no kernel changes parameters, moments or
/// statistics until the host has enlarged the arrays and clears the flag.
struct RunFlags {
    std::uint32_t halted;
    std::uint32_t go;  ///< of the step under way: not halted, fits, its loss finite
};

/// Read back after a step, with FrameCounts.
struct StepResult {
    double l1, mse, ssim, loss;  ///< as LossTerms
    std::uint32_t halted;        ///< the step changed nothing
    std::uint32_t reserved;
    double motion[6];  ///< SceneMotion's turn and move, of steps that ask for it
    double intrinsics[math::kLensNumbers];  ///< likewise
};

/// What is known of each row besides its parameters: DensityStatistics and RowIdentity::tags in
/// device memory.
struct StatisticsView {
    std::uint32_t* tags;
    float* gradient_sum;
    float* views;
    float* radius_px;
};

}  // namespace gs::cuda
