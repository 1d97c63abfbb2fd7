// The kernels of lazy Adam: taking in a step's numbers, stepping visible rows, refreshing bounds,
// settling every row, reading a plane as it is now. Each call only enqueues.
#pragma once

#include "renderer/raster/cuda/pipeline.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Where a step's numbers go. `frame` may be null: tables and clock alone.
struct IntakeParams {
    const StepInputs* inputs;  ///< device memory
    const float* rows;         ///< [inputs->rows][8], behind them
    FrameConstants* frame;
    LazyClock* clock;
    float* pending;  ///< [step - base][8]
};
void launch_intake(const Stream& stream, const IntakeParams& params);

/// Projection backward that ends in an Adam step of every visible Gaussian. After blend
/// backward, whose live rows it adds up.
/// `motion`: motion_floats() of them for launch_sum_motion, or null: not wanted.
void launch_adam_step(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                      const ModelView& model, const StepInputs* inputs, const RunFlags* flags,
                      const StatisticsView& statistics, float* motion);
/// The scene's motion by row, kMotionParts planes of `stride` (a multiple of two), and behind them
/// the sums of kMotionBlocks blocks of each.
constexpr std::uint32_t kMotionParts = 6, kMotionBlocks = 128;
constexpr std::size_t motion_floats(std::size_t stride) {
    return kMotionParts * (stride + 2 * kMotionBlocks);
}
/// Adds up the scene's motion that launch_adam_step wrote, in an order that depends on nothing else
/// than how many rows there are.
void launch_sum_motion(const Stream& stream, const ModelView& model, float* motion,
                       StepResult* result);

enum class Blocks : std::uint32_t { touched, all };  ///< touched: by the step under way
/// Bounding spheres (model.bounds) of blocks of 16, as adam::bounds. `inputs` say how far sleepers
/// drift.
void launch_bounds(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                   Blocks blocks);

/// Every row up to date: values, moments and last_step as of the clock. Nothing when the run is
/// halted.
void launch_settle(const Stream& stream, const ModelView& model, const RunFlags* flags);

/// Plane `plane` of every row as it reads now, to out[count].
void launch_read_plane(const Stream& stream, const ModelView& model, int plane, float* out);

}  // namespace gs::cuda
