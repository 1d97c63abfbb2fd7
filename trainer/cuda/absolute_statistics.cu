#include "trainer/cuda/absolute_statistics.h"

#include "renderer/raster/cuda/absolute_sums.cuh"

namespace gs::cuda {
namespace {

struct AbsoluteStatistics {
    const StepInputs* inputs;
    const RunFlags* flags;
    float* gradient_sum;
    const std::uint32_t* last_step;  ///< of the optimizer; without `seen`
    const LazyClock* clock;
    const std::uint32_t* seen;  ///< of a batch, or null

    GS_DEVICE void take(std::uint32_t gaussian, float x, float y) const {
        const bool taken =
            seen != nullptr ? seen[gaussian] != 0 : last_step[gaussian] == clock->steps + 1;
        if (flags->go == 0 || !taken || inputs->gathers_statistics == 0) return;
        x *= 0.5f * static_cast<float>(inputs->frame.width);
        y *= 0.5f * static_cast<float>(inputs->frame.height);
        gradient_sum[gaussian] += sqrtf(x * x + y * y);
    }
};

}  // namespace

void launch_absolute_statistics(const Stream& stream, const FrameLimits& limits,
                                const FrameArrays& frame, const ModelView& model,
                                const StepInputs* inputs, const RunFlags* flags,
                                const StatisticsView& statistics, const std::uint32_t* seen) {
    launch_absolute_sums(stream, "absolute_statistics", limits, frame,
                         AbsoluteStatistics{inputs, flags, statistics.gradient_sum,
                                            model.lazy.last_step, model.lazy.clock, seen});
}

}  // namespace gs::cuda
