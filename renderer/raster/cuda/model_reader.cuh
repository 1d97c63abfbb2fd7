// How kernels read a Gaussian: a plane of it through ModelView, with the optimizer steps it slept
// through applied on the fly where the model is in training. Forward's and backward's projection
// read through it; nothing is stored. No read contains a branch, so planes that are asked for
// before anything is decided or stored are waited for once.
#pragma once

#include <type_traits>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/math/adam_code.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"

namespace gs::cuda {

/// The column of LazyView::pending that plane `p` follows.
GS_DEVICE constexpr int learning_group(int p) {
    return p < kLogScales       ? 0
           : p < kQuats         ? 1
           : p < kOpacityLogits ? 2
           : p < kSh0           ? 3
           : p < kShRest        ? 4
                                : 5;
}

/// The moments of one row. `kCoded`: in 16 bits.
template <bool kCoded>
class RowMoments {
  public:
    RowMoments() = default;
    GS_DEVICE RowMoments(const LazyView& lazy, std::uint32_t row) {
        constexpr std::uint32_t kRows = kBlock;
        if constexpr (kCoded)
            first_ = lazy.codes;
        else
            first_ = lazy.moments;
        first_ += static_cast<std::size_t>(row / kRows) *
                      static_cast<std::size_t>(lazy.model_planes) * kWidth +
                  row % kRows;
    }
    GS_DEVICE math::AdamMoments of(int plane) const {
        const Stored* at = first_ + static_cast<std::size_t>(plane) * kWidth;
        if constexpr (kCoded)
            return math::decode_moments(*at);
        else
            return {at[0], at[kBlock]};
    }
    /// m / sqrt(v).
    GS_DEVICE float direction(int plane) const {
        if constexpr (kCoded)
            return math::decode_direction(first_[static_cast<std::size_t>(plane) * kWidth]);
        const auto [m, v] = of(plane);
        return math::adam_direction(m, v);
    }
    /// `rounding`: math::row_rounding(); of floats ignored.
    GS_DEVICE void put(int plane, math::AdamMoments now, std::uint32_t rounding) const {
        Stored* at = first_ + static_cast<std::size_t>(plane) * kWidth;
        if constexpr (kCoded) {
            *at = static_cast<std::uint16_t>(
                math::encode_moments(now, math::plane_rounding(rounding, plane)));
        } else {
            at[0] = now.m;
            at[kBlock] = now.v;
        }
    }

  private:
    using Stored = std::conditional_t<kCoded, std::uint16_t, float>;
    static constexpr std::size_t kWidth = kCoded ? kBlock : 2 * kBlock;  ///< of a block's plane
    Stored* first_ = nullptr;
};
/// What a row's codes are rounded by once `steps` steps are done.
template <bool kCoded>
GS_DEVICE std::uint32_t rounding_of(const LazyView& lazy, std::uint32_t row, std::uint32_t steps) {
    if constexpr (kCoded) return math::row_rounding(lazy.seed, steps, lazy.tags[row]);
    return 0;
}

/// One Gaussian of a model. `kLazy`: ModelView::lazy has moments, `kCoded` in 16 bits. Neighbouring
/// threads read neighbouring numbers: 4 bytes a plane each, when lazy 8 more of moments, or 2.
template <bool kLazy, bool kCoded = false>
class ModelReader {
  public:
    GS_DEVICE ModelReader(const ModelView& model, std::uint32_t gaussian)
        : values_(model.values + gaussian), stride_(model.stride) {
        if constexpr (kLazy) {
            const LazyView& lazy = model.lazy;
            moments_ = {lazy, gaussian};
            pending_ = lazy.pending +
                       static_cast<std::size_t>(lazy.last_step[gaussian] - lazy.clock->base) * 8;
            filter_ = lazy.filter;
            gaussian_ = gaussian;
        }
    }
    /// A plane that never moved has moments of 0 and reads as it is stored.
    GS_DEVICE float plane(int p) const {
        const float stored = values_[static_cast<std::size_t>(p) * stride_];
        if constexpr (!kLazy) return stored;
        return stored - moments_.direction(p) * pending_[learning_group(p)];
    }
    GS_DEVICE Vec3f vector(int p) const { return {plane(p), plane(p + 1), plane(p + 2)}; }
    GS_DEVICE Vec3f mean() const { return vector(kMeans); }
    /// Standard deviations, world units.
    GS_DEVICE Vec3f scale(float modifier) const {
        const Vec3f log_scale = vector(kLogScales);
        return modifier *
               Vec3f{math::exp(log_scale.x), math::exp(log_scale.y), math::exp(log_scale.z)};
    }
    GS_DEVICE Quatf quat() const {
        return {plane(kQuats), plane(kQuats + 1), plane(kQuats + 2), plane(kQuats + 3)};
    }
    GS_DEVICE float opacity_logit() const { return plane(kOpacityLogits); }
    /// Of its 3D filter, world units; 0: none. Scale and opacity above are without it. Only where
    /// the model is filtered(), which is the same for all threads.
    GS_DEVICE bool filtered() const { return kLazy && filter_ != nullptr; }
    GS_DEVICE float filter() const { return filter_[gaussian_]; }
    /// Coefficients of basis k, r g b.
    GS_DEVICE Vec3f sh(int k) const { return vector(kSh0 + 3 * k); }

  private:
    const float* values_;
    std::uint64_t stride_;
    RowMoments<kCoded> moments_;
    const float* pending_ = nullptr;
    const float* filter_ = nullptr;
    std::uint32_t gaussian_ = 0;
};

}  // namespace gs::cuda
