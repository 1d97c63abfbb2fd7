// AdamSink: what projection backward ends in during training (raster/cuda/project_backward.cuh):
// while a Gaussian's gradient is in registers, its parameters and moments are caught up, stepped
// and stored, and its density statistics gathered. The CPU's twin is adam_block.cpp's Apply with
// DensityStatistics::add. About 24 bytes of traffic a plane, read a dozen planes at a time: what is
// waited for is the first of each dozen.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/math/adam.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "trainer/cuda/step_records.h"
#include "trainer/row_identity.h"

namespace gs::cuda {

/// First plane of the coefficients of SH basis k.
constexpr int sh_plane(int k) { return kSh0 + 3 * k; }

struct AdamSink {
    const StepInputs* inputs;
    const RunFlags* flags;
    FrameCounts* counts;  ///< poisoned
    StatisticsView statistics;

    GS_DEVICE void take(const ModelView& model, std::uint32_t gaussian,
                        const GaussianGradient& gradient) const {
        const std::uint32_t go = flags->go, tag = statistics.tags[gaussian];
        if (go == 0 || locked_tag(tag)) return;
        const int planes = inputs->planes;
        if (!sound(gradient, planes)) {
            atomicAdd(&counts->poisoned, 1u);
            return;
        }
        const Row row(model, gaussian, *inputs);
        row.step<0, kGeometryPlanes>(gradient);
        row.step<kSh0, 3>(gradient);
        // By degree, as planes come into use; of the larger degrees as many at once as registers
        // hold.
        if (planes > kShRest) row.step<sh_plane(1), 9>(gradient);
        if (planes > sh_plane(4)) {
            row.step<sh_plane(4), 9>(gradient);
            row.step<sh_plane(7), 6>(gradient);
        }
        if (planes > sh_plane(9)) {
            row.step<sh_plane(9), 12>(gradient);
            row.step<sh_plane(13), 9>(gradient);
        }
        model.lazy.last_step[gaussian] = model.lazy.clock->steps + 1;
        if (inputs->gathers_statistics != 0) gather(gaussian, gradient);
    }

  private:
    /// A plane's gradient.
    GS_DEVICE static float of_plane(const GaussianGradient& gradient, int p) {
        return p < kGeometryPlanes
                   ? gradient.geometry[p]
                   : gradient.basis[(p - kSh0) / 3] * gradient.color[(p - kSh0) % 3];
    }

    /// Where one Gaussian's state lies, what it slept through and how far this step goes.
    struct Row {
        static constexpr int kGroups = learning_group(kShRest) + 1;
        float* values;
        std::uint64_t stride;
        float* moments;
        float pending[kGroups], rates[kGroups];
        float epsilon, decay1, decay2;

        GS_DEVICE Row(const ModelView& model, std::uint32_t gaussian, const StepInputs& in)
            : epsilon(in.epsilon) {
            const LazyView& lazy = model.lazy;
            constexpr std::uint32_t kRows = kBlock;
            const std::uint32_t last = lazy.last_step[gaussian], age = lazy.clock->steps - last;
            values = model.values + gaussian;
            stride = model.stride;
            moments = lazy.moments +
                      static_cast<std::size_t>(gaussian / kRows) *
                          static_cast<std::size_t>(lazy.model_planes) * 2 * kRows +
                      gaussian % kRows;
            const float* slept =
                lazy.pending + static_cast<std::size_t>(last - lazy.clock->base) * kPendingColumns;
            GS_UNROLL
            for (int group = 0; group < kGroups; ++group) {
                pending[group] = slept[group];
                rates[group] = in.rates[group];
            }
            decay1 = lazy.decay[2 * age];
            decay2 = lazy.decay[2 * age + 1];
        }
        /// Planes kFirst .. kFirst + kCount - 1. All of them are read before the first is stored:
        /// a store may alias any later load, which then waits behind it.
        template <int kFirst, int kCount>
        GS_DEVICE void step(const GaussianGradient& gradient) const {
            float* value = values + static_cast<std::size_t>(kFirst) * stride;
            float* moment = moments + static_cast<std::size_t>(kFirst) * 2 * kBlock;
            math::AdamCell<float> cells[kCount];
            GS_UNROLL
            for (int i = 0; i < kCount; ++i)
                cells[i] = {value[static_cast<std::size_t>(i) * stride],
                            moment[static_cast<std::size_t>(2 * i) * kBlock],
                            moment[static_cast<std::size_t>(2 * i + 1) * kBlock]};
            GS_UNROLL
            for (int i = 0; i < kCount; ++i) {
                const int group = learning_group(kFirst + i);
                const auto awake = math::adam_settled(cells[i], pending[group], decay1, decay2);
                const auto next =
                    math::adam_step(awake, of_plane(gradient, kFirst + i), rates[group], epsilon);
                value[static_cast<std::size_t>(i) * stride] = next.value;
                moment[static_cast<std::size_t>(2 * i) * kBlock] = next.m;
                moment[static_cast<std::size_t>(2 * i + 1) * kBlock] = next.v;
            }
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
        const float sum = statistics.gradient_sum[gaussian], views = statistics.views[gaussian],
                    radius = statistics.radius_px[gaussian];
        statistics.gradient_sum[gaussian] = sum + sqrtf(x * x + y * y);
        statistics.views[gaussian] = views + 1.0f;
        statistics.radius_px[gaussian] = fmaxf(radius, gradient.radius_px);
    }
};

}  // namespace gs::cuda
