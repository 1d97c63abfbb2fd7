// BatchSink: what projection backward ends in where a step has several views (batch_step.h).
#pragma once

#include "renderer/raster/cuda/project_backward.cuh"
#include "trainer/cuda/adam_sink.cuh"
#include "trainer/cuda/batch_step.h"

namespace gs::cuda {

/// Adds a view's gradients, plane by plane.
struct BatchSink {
    const StepInputs* inputs;
    const RunFlags* flags;
    FrameCounts* counts;  ///< poisoned
    StatisticsView statistics;
    BatchView batch;

    GS_DEVICE void take(const ModelView& model, std::uint32_t gaussian,
                        const GaussianGradient& gradient) const {
        (void)add(model, gaussian, gradient);
    }

  protected:
    /// False: it is left out.
    GS_DEVICE bool add(const ModelView& model, std::uint32_t gaussian,
                       const GaussianGradient& gradient) const {
        if (flags->go == 0 || locked_tag(statistics.tags[gaussian])) return false;
        const int bases = (inputs->planes - kSh0) / 3;
        if (!sound(gradient, bases)) {
            atomicAdd(&counts->poisoned, 1u);
            return false;
        }
        const bool more = batch.seen[gaussian] != 0;
        batch.seen[gaussian] = 1;
        Sums sums{batch.sums + gaussian, model.stride, more};
        sums.add<0, kSh0 + 3>(gradient);
        if (bases > 1) sums.add<sh_plane(1), 9>(gradient);
        if (bases > 4) sums.add<sh_plane(4), 15>(gradient);
        if (bases > 9) sums.add<sh_plane(9), 21>(gradient);
        if (inputs->gathers_statistics != 0)
            gather_statistics(statistics, *inputs, gaussian, gradient);
        return true;
    }

  private:
    /// A Gaussian's row of what the batch's views add up to.
    struct Sums {
        float* planes;
        std::uint64_t stride;
        bool more;  ///< there is something in it
        /// Planes kFirst .. kFirst + kCount - 1, read before the first is stored (AdamRow::step).
        template <int kFirst, int kCount>
        GS_DEVICE void add(const GaussianGradient& gradient) const {
            float* at = planes + kFirst * stride;
            float sum[kCount];
            GS_UNROLL
            for (int i = 0; i < kCount; ++i)
                sum[i] = more ? at[static_cast<std::uint64_t>(i) * stride] : 0.0f;
            GS_UNROLL
            for (int i = 0; i < kCount; ++i) {
                const float g = of_plane(gradient, kFirst + i);
                at[static_cast<std::uint64_t>(i) * stride] = more ? sum[i] + g : g;
            }
        }
    };
    GS_DEVICE static bool sound(const GaussianGradient& gradient, int bases) {
        SoundGradients all;
        GS_UNROLL
        for (int p = 0; p < kSh0; ++p) all.add(gradient.geometry[p]);
        GS_UNROLL
        for (int k = 0; k < 16; ++k) {
            if (k >= bases) break;
            GS_UNROLL
            for (int c = 0; c < 3; ++c) all.add(gradient.basis[k] * gradient.color[c]);
        }
        return all.all();
    }
};

/// The same, and what every Gaussian that was added or is locked adds to the scene's motion, by
/// row.
struct BatchMotionSink : BatchSink {
    using Motion = std::true_type;
    float* motion;  ///< as AdamMotionSink::motion

    GS_DEVICE void take(const ModelView& model, std::uint32_t gaussian,
                        const GaussianGradient& gradient) const {
        const bool locked = locked_tag(statistics.tags[gaussian]);
        if (flags->go == 0 || (!locked && !add(model, gaussian, gradient))) return;
        for (int i = 0; i < 3; ++i) {
            motion[static_cast<std::uint64_t>(i) * model.stride + gaussian] = gradient.turn[i];
            motion[static_cast<std::uint64_t>(3 + i) * model.stride + gaussian] =
                gradient.geometry[kMeans + i];
        }
    }
};

/// The same of models whose moments are in 16 bits.
struct CodedBatchSink : BatchSink {
    using Coded = std::true_type;
};
struct CodedBatchMotionSink : BatchMotionSink {
    using Coded = std::true_type;
};

}  // namespace gs::cuda
