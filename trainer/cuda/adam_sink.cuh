// AdamSink: what projection backward ends in during training (raster/cuda/project_backward.cuh):
// while a Gaussian's gradient is in registers, its parameters and moments are caught up, stepped
// and stored, and its density statistics gathered. The CPU's twin is adam_block.cpp's Apply with
// DensityStatistics::add. About 24 bytes of traffic a plane.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/math/adam.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "trainer/cuda/step_records.h"
#include "trainer/row_identity.h"

namespace gs::cuda {

struct AdamSink {
    const StepInputs* inputs;
    const RunFlags* flags;
    FrameCounts* counts;  ///< poisoned
    StatisticsView statistics;

    GS_DEVICE void take(const ModelView& model, std::uint32_t gaussian,
                        const GaussianGradient& gradient) const {
        if (flags->go == 0 || locked_tag(statistics.tags[gaussian])) return;
        const int planes = inputs->planes;
        if (!sound(gradient, planes)) {
            atomicAdd(&counts->poisoned, 1u);
            return;
        }
        const Row row(model, gaussian, *inputs);
        GS_UNROLL
        for (int p = 0; p < kGeometryPlanes; ++p) row.step(p, gradient.geometry[p]);
        GS_UNROLL
        for (int k = 0; k < 16; ++k) {
            if (kSh0 + 3 * k >= planes) break;
            GS_UNROLL
            for (int channel = 0; channel < 3; ++channel)
                row.step(kSh0 + 3 * k + channel, gradient.basis[k] * gradient.color[channel]);
        }
        model.lazy.last_step[gaussian] = model.lazy.clock->steps + 1;
        if (inputs->gathers_statistics != 0) gather(gaussian, gradient);
    }

  private:
    /// Where one Gaussian's state lies and what it slept through.
    struct Row {
        const StepInputs& in;
        float* values;
        std::uint64_t stride;
        float* moments;
        const float* pending;
        float decay1, decay2;

        GS_DEVICE Row(const ModelView& model, std::uint32_t gaussian, const StepInputs& inputs)
            : in(inputs) {
            const LazyView& lazy = model.lazy;
            constexpr std::uint32_t kRows = kBlock;
            const std::uint32_t last = lazy.last_step[gaussian], age = lazy.clock->steps - last;
            values = model.values + gaussian;
            stride = model.stride;
            moments = lazy.moments +
                      static_cast<std::size_t>(gaussian / kRows) *
                          static_cast<std::size_t>(lazy.model_planes) * 2 * kRows +
                      gaussian % kRows;
            pending =
                lazy.pending + static_cast<std::size_t>(last - lazy.clock->base) * kPendingColumns;
            decay1 = lazy.decay[2 * age];
            decay2 = lazy.decay[2 * age + 1];
        }
        GS_DEVICE void step(int p, float g) const {
            float* value = values + static_cast<std::size_t>(p) * stride;
            float* at = moments + static_cast<std::size_t>(p) * 2 * kBlock;
            const int group = learning_group(p);
            const auto awake = math::adam_settled<float>({*value, at[0], at[kBlock]},
                                                         pending[group], decay1, decay2);
            const auto next = math::adam_step(awake, g, in.rates[group], in.epsilon);
            *value = next.value;
            at[0] = next.m;
            at[kBlock] = next.v;
        }
    };

    GS_DEVICE static bool sound(const GaussianGradient& gradient, int planes) {
        float largest = 0.0f, poison = 0.0f;  // NaN once any is NaN or infinite
        GS_UNROLL
        for (int p = 0; p < kGeometryPlanes; ++p) {
            largest = fmaxf(largest, fabsf(gradient.geometry[p]));
            poison += 0.0f * gradient.geometry[p];
        }
        GS_UNROLL
        for (int k = 0; k < 16; ++k) {
            if (kSh0 + 3 * k >= planes) break;
            GS_UNROLL
            for (int channel = 0; channel < 3; ++channel) {
                const float g = gradient.basis[k] * gradient.color[channel];
                largest = fmaxf(largest, fabsf(g));
                poison += 0.0f * g;
            }
        }
        return largest < math::kLargestAdamGradient && poison == 0.0f;
    }

    GS_DEVICE void gather(std::uint32_t gaussian, const GaussianGradient& gradient) const {
        const float x = gradient.mean2d[0] * inputs->to_ndc_x,
                    y = gradient.mean2d[1] * inputs->to_ndc_y;
        statistics.gradient_sum[gaussian] += sqrtf(x * x + y * y);
        statistics.views[gaussian] += 1.0f;
        statistics.radius_px[gaussian] = fmaxf(statistics.radius_px[gaussian], gradient.radius_px);
    }
};

}  // namespace gs::cuda
