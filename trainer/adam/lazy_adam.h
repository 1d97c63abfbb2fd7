// LazyAdam: Adam that touches only the Gaussians a view shows, with the results of dense Adam. A
// Gaussian without gradient moves along m / sqrt(v), which shrinks by r = beta1 / sqrt(beta2) a
// step, so the steps it slept through are one table value:
//   pending[s] = sum over t = s+1..T of c_t r^(t-s),   c_t = lr_t sqrt(1 - beta2^t) / (1 -
//   beta1^t).
// The tables follow whatever learning rates the steps really had. The trainer owns one; LazySource
// reads through it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "base/buffer.h"
#include "renderer/raster/rasterizer.h"
#include "trainer/adam/adam_block.h"
#include "trainer/adam/adam_tables.h"
#include "trainer/settings/schedule.h"

namespace gs {

/// Everything a checkpoint must hold to continue with the same bits.
struct AdamState : AdamClock {
    Buffer<float> moments;  ///< [blocks of capacity][planes of the model][2][16]; empty: in codes
    Buffer<std::uint16_t> codes;      ///< [blocks of capacity][planes of the model][16]
    Buffer<std::uint32_t> last_step;  ///< [capacity]
};
/// Moments of zero for every row of `model`, nothing pending; steps of `batch` views. `compact`:
/// 2 bytes a parameter instead of 8.
AdamState initial_adam_state(const GaussianModel& model, std::uint32_t batch = 1,
                             bool compact = false);

/// Of a row and plane, as they are stored.
math::AdamMoments moments_of(const AdamState& state, int model_planes, std::size_t row, int plane);

class LazyAdam {
  public:
    LazyAdam() = default;
    /// Works on `state`, the Adam state of the rows of `model`. Others may change it only after
    /// flush(), and then make a new LazyAdam. `tags`: of RowIdentity, which codes are rounded by;
    /// not needed where moments are floats.
    LazyAdam(const GaussianModel& model, AdamState& state,
             std::span<const std::uint32_t> tags = {});

    const AdamState& state() const { return *state_; }

    /// Opens step T + 1: `planes` as many as will have gradients. Raised rates settle every
    /// Gaussian first (bounds rely on them).
    void begin_step(GaussianModel& model, const LearningRates& rates, int planes);
    /// The step of one visible block; from many threads, each block once. Lanes in `locked` stay as
    /// they are. Returns lanes skipped for gradients that are not finite.
    std::uint32_t apply(GaussianModel& model, const BlockGradients& gradients,
                        std::uint32_t locked = 0);
    /// Closes the step, also for all Gaussians that slept.
    void end_step();

    /// Rates of the step that begin_step() opened last, by learning group, bias corrections
    /// included.
    const float* rates() const { return tables_.step().rate; }
    /// Lets `change` add to the stored values of each block's rows in use, which what they read as
    /// follows, sleeping or not: (block, its first row, rows) from many threads. True: means moved.
    /// After end_step(). Scales may only shrink.
    void add_to_values(
        GaussianModel& model,
        const std::function<bool(const adam::Block&, std::size_t, std::size_t)>& change);

    /// By row, [capacity], kept by the caller: what the model is drawn through (mip_filter.h),
    /// which bounds hold. Empty: nothing. After flush().
    void set_filter(std::span<const float> filter) {
        filter_ = filter;
        bounds_valid_ = false;
    }
    std::span<const float> filter() const { return filter_; }
    /// Gradients with respect to a block as LazySource shows it, to those with respect to what it
    /// reads as. Where there is a filter.
    void unfilter(const GaussianModel& model, BlockGradients& gradients) const;

    /// Brings every row up to date. Changes low bits, so only at points that a resumed run passes
    /// too.
    void flush(GaussianModel& model);
    /// Planes first .. of a block as they read now, to out[count][16].
    void read(const GaussianModel& model, std::size_t block, int first, int count,
              float* out) const;
    /// True when the block's stored values are current.
    bool current(std::size_t block) const;

    /// Valid between begin_step() and the next flush(), else empty.
    std::span<const BlockBounds> bounds() const {
        return bounds_valid_ ? bounds_.span() : std::span<const BlockBounds>{};
    }

    /// Of the bounds.
    std::size_t bytes() const { return bounds_.capacity_bytes(); }

  private:
    adam::Block block_of(const GaussianModel& model, std::size_t block) const;
    void refresh_bounds(const GaussianModel& model);
    BlockBounds bound(const adam::Block& block, std::size_t index, std::size_t lanes) const;

    AdamState* state_ = nullptr;
    std::span<const std::uint32_t> tags_;
    int model_planes_ = 0;
    AdamTables tables_;
    adam::Drift drift_{};
    Buffer<BlockBounds> bounds_;
    bool bounds_valid_ = false;
    std::span<const float> filter_;
};

/// The model as training sees it, every slept step applied, filtered where it is, nothing stored.
/// Rendering through it changes no bit of the run.
class LazySource final : public ParameterSource {
  public:
    /// `sh_degree`: the highest that will be asked for.
    LazySource(const GaussianModel& model, const LazyAdam& adam, int sh_degree)
        : model_(model), adam_(adam), sh_degree_(std::min(sh_degree, model.sh_degree)) {}
    std::size_t count() const override { return model_.count; }
    int sh_degree() const override { return sh_degree_; }
    BlockView geometry(std::size_t block, float* scratch) override;
    BlockView sh(std::size_t block, float* scratch) override;
    std::span<const BlockBounds> bounds() const override { return adam_.bounds(); }
    const Sky* sky() const override { return model_.sky.empty() ? nullptr : &model_.sky; }

  private:
    const GaussianModel& model_;
    const LazyAdam& adam_;
    const int sh_degree_;
};

}  // namespace gs
