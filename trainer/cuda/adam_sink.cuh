// AdamSink: what projection backward ends in during training (raster/cuda/project_backward.cuh):
// while a Gaussian's gradient is in registers, its parameters and moments are caught up, stepped
// and stored, and its density statistics gathered. The CPU's twin is adam_block.cpp's Apply with
// DensityStatistics::add, the same but for one thing: where the gradient of a mean is absurd by
// what reaches it through the colour alone, the CPU leaves the whole Gaussian as it is, and this
// steps all of it, the mean without a gradient. Both count it as poisoned. About 24 bytes of
// traffic a plane, read a dozen planes at a time: what is waited for is the first of each dozen.
// Coefficients of the harmonics are stepped where projection backward reads them, so only the
// geometry is read twice.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/math/adam_code.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "trainer/cuda/step_records.h"
#include "trainer/density/row_identity.h"

namespace gs::cuda {

/// First plane of the coefficients of SH basis k.
constexpr int sh_plane(int k) { return kSh0 + 3 * k; }

/// A plane's gradient.
GS_DEVICE float of_plane(const GaussianGradient& gradient, int p) {
    return p < kGeometryPlanes ? gradient.geometry[p]
                               : gradient.basis[(p - kSh0) / 3] * gradient.color[(p - kSh0) % 3];
}

/// Where one Gaussian's state lies, what it slept through and how far this step goes. `kCoded`: its
/// moments are in 16 bits.
template <bool kCoded>
struct AdamRow {
    static constexpr int kGroups = learning_group(kShRest) + 1;
    float* values;
    std::uint64_t stride;
    RowMoments<kCoded> moments;
    float pending[kGroups], rates[kGroups];
    float epsilon, decay1, decay2;
    std::uint32_t rounding;

    GS_DEVICE AdamRow(const ModelView& model, std::uint32_t gaussian, const StepInputs& in)
        : moments(model.lazy, gaussian),
          epsilon(in.epsilon),
          rounding(rounding_of<kCoded>(model.lazy, gaussian, model.lazy.clock->steps + 1)) {
        const LazyView& lazy = model.lazy;
        const std::uint32_t last = lazy.last_step[gaussian], age = lazy.clock->steps - last;
        values = model.values + gaussian;
        stride = model.stride;
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
    /// Steps planes kFirst .. kFirst + kCount - 1; `before` is what they were. All of them are read
    /// before the first is stored: a store may alias any later load, which then waits behind it.
    /// Without `moves` nothing is stored.
    template <int kFirst, int kCount>
    GS_DEVICE void step(const GaussianGradient& gradient, float (&before)[kCount],
                        bool moves) const {
        float* value = values + static_cast<std::size_t>(kFirst) * stride;
        math::AdamCell<float> cells[kCount];
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) {
            const auto [m, v] = moments.of(kFirst + i);
            cells[i] = {value[static_cast<std::size_t>(i) * stride], m, v};
        }
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) {
            cells[i] =
                math::adam_settled(cells[i], pending[learning_group(kFirst + i)], decay1, decay2);
            before[i] = cells[i].value;
        }
        if (!moves) return;
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) {
            const auto next = math::adam_step(cells[i], of_plane(gradient, kFirst + i),
                                              rates[learning_group(kFirst + i)], epsilon);
            value[static_cast<std::size_t>(i) * stride] = next.value;
            moments.put(kFirst + i, {next.m, next.v}, rounding);
        }
    }
};

/// Gradients that are not finite, or absurd, are counted and taken by nobody.
struct SoundGradients {
    float largest = 0.0f, poison = 0.0f;  // NaN once any is NaN or infinite
    GS_DEVICE void add(float g) {
        largest = fmaxf(largest, fabsf(g));
        poison += 0.0f * g;
    }
    GS_DEVICE bool all() const { return largest < math::kLargestAdamGradient && poison == 0.0f; }
};

/// What one view of a Gaussian adds to what density control goes by.
GS_DEVICE void gather_statistics(const StatisticsView& to, const StepInputs& in,
                                 std::uint32_t gaussian, const GaussianGradient& gradient) {
    const float x = gradient.mean2d[0] * in.to_ndc_x, y = gradient.mean2d[1] * in.to_ndc_y;
    const float sum = to.gradient_sum[gaussian], views = to.views[gaussian],
                radius = to.radius_px[gaussian];
    to.gradient_sum[gaussian] = sum + sqrtf(x * x + y * y);
    to.views[gaussian] = views + 1.0f;
    to.radius_px[gaussian] = fmaxf(radius, gradient.radius_px);
}

template <bool kCoded>
class AdamUpdate;
struct AdamSink {
    const StepInputs* inputs;
    const RunFlags* flags;
    FrameCounts* counts;  ///< poisoned
    StatisticsView statistics;

    using Update = AdamUpdate<false>;
};
/// Of moments in 16 bits.
struct CodedAdamSink : AdamSink {
    using Coded = std::true_type;
    using Update = AdamUpdate<true>;
};

/// Of one Gaussian. One whose gradient is absurd is left as it is; where only what reaches the mean
/// through the colour is, which is known when the coefficients have been stepped, its mean goes
/// without a gradient.
template <bool kCoded>
class AdamUpdate {
  public:
    GS_DEVICE AdamUpdate(const AdamSink& sink, const ModelView& model, std::uint32_t gaussian,
                         bool moves = true)
        : sink_(sink),
          model_(model),
          gaussian_(gaussian),
          moves_(moves),
          planes_(sink.inputs->planes),
          row_(model, gaussian, *sink.inputs) {}

    GS_DEVICE bool wanted() const {
        const std::uint32_t go = sink_.flags->go, tag = sink_.statistics.tags[gaussian_];
        return go != 0 && !locked_tag(tag);
    }
    GS_DEVICE bool begin(const GaussianGradient& gradient) const {
        SoundGradients sound;
        GS_UNROLL
        for (int p = 0; p < kGeometryPlanes; ++p) sound.add(gradient.geometry[p]);
        GS_UNROLL
        for (int k = 0; k < 16; ++k) {
            if (sh_plane(k) >= planes_) break;
            GS_UNROLL
            for (int channel = 0; channel < 3; ++channel)
                sound.add(gradient.basis[k] * gradient.color[channel]);
        }
        if (!sound.all()) atomicAdd(&sink_.counts->poisoned, 1u);
        return sound.all();
    }
    /// Planes that had gradients keep moving.
    GS_DEVICE int degree(int) const {
        return planes_ > sh_plane(9)   ? 3
               : planes_ > sh_plane(4) ? 2
               : planes_ > sh_plane(1) ? 1
                                       : 0;
    }
    template <int kFirst, int kCount>
    GS_DEVICE void coefficients(const GaussianGradient& gradient, Vec3f (&sh)[kCount]) const {
        float before[3 * kCount];
        row_.template step<sh_plane(kFirst), 3 * kCount>(gradient, before, moves_);
        GS_UNROLL
        for (int k = 0; k < kCount; ++k)
            sh[k] = {before[3 * k], before[3 * k + 1], before[3 * k + 2]};
    }
    GS_DEVICE void finish(GaussianGradient& gradient) const {
        SoundGradients mean;
        GS_UNROLL
        for (int p = kMeans; p < kMeans + 3; ++p) mean.add(gradient.geometry[p]);
        if (!mean.all()) {
            atomicAdd(&sink_.counts->poisoned, 1u);
            GS_UNROLL
            for (int p = kMeans; p < kMeans + 3; ++p) gradient.geometry[p] = 0.0f;
        }
        float before[kGeometryPlanes];
        row_.template step<0, kGeometryPlanes>(gradient, before, true);
        model_.lazy.last_step[gaussian_] = model_.lazy.clock->steps + 1;
        if (sink_.inputs->gathers_statistics != 0)
            gather_statistics(sink_.statistics, *sink_.inputs, gaussian_, gradient);
    }

  protected:
    const AdamSink& sink_;
    const ModelView& model_;
    const std::uint32_t gaussian_;
    const bool moves_;
    const int planes_;
    const AdamRow<kCoded> row_;
};

/// The same, and what every Gaussian that was stepped or is locked adds to the scene's motion, by
/// row: the photo shows the locked ones all the same.
template <bool kCoded>
class AdamMotionUpdate;
struct AdamMotionSink : AdamSink {
    using Motion = std::true_type;
    using Update = AdamMotionUpdate<false>;
    float* motion;  ///< [6][model.stride], zero where nothing is written: turn x y z, move x y z
};
struct CodedAdamMotionSink : AdamMotionSink {
    using Coded = std::true_type;
    using Update = AdamMotionUpdate<true>;
};
template <bool kCoded>
class AdamMotionUpdate : public AdamUpdate<kCoded> {
    using Stepping = AdamUpdate<kCoded>;

  public:
    GS_DEVICE AdamMotionUpdate(const AdamMotionSink& sink, const ModelView& model,
                               std::uint32_t gaussian)
        : Stepping(sink, model, gaussian, !locked_tag(sink.statistics.tags[gaussian])),
          motion_(sink.motion + gaussian),
          stride_(model.stride) {}
    GS_DEVICE bool wanted() const { return this->sink_.flags->go != 0; }
    GS_DEVICE bool begin(const GaussianGradient& gradient) const {
        return !this->moves_ || Stepping::begin(gradient);
    }
    GS_DEVICE void finish(GaussianGradient& gradient) const {
        if (this->moves_) Stepping::finish(gradient);
        for (int i = 0; i < 3; ++i) {
            motion_[static_cast<std::uint64_t>(i) * stride_] = gradient.turn[i];
            motion_[static_cast<std::uint64_t>(3 + i) * stride_] = gradient.geometry[kMeans + i];
        }
    }

  private:
    float* const motion_;
    const std::uint64_t stride_;
};

}  // namespace gs::cuda
