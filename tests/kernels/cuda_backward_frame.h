// A frame as forward leaves it for backward, made on the host by the plainest loops: kernel tests
// of backward need no forward kernel, choose how tiles are split, and may pretend that any isect
// contributed or did not.
#pragma once

#include <vector>

#include "renderer/raster/cuda/project_backward.h"
#include "renderer/reference/rasterize.h"

namespace gs::test {

class HandMadeFrame {
  public:
    /// Splits tiles of more than `item_isects` isects. Bits are set for all isects of a sub-tile
    /// when `all_contribute`, whatever they did: a superset must give the same sums.
    HandMadeFrame(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
                  std::uint32_t item_isects = cuda::kItemIsects, bool all_contribute = false);

    const cuda::FrameArrays& arrays() const { return arrays_; }
    const cuda::FrameLimits& limits() const { return limits_; }
    cuda::PictureView picture();
    std::uint32_t isects() const { return counts_.isects; }
    std::uint32_t items() const { return counts_.items; }
    std::uint32_t visible() const { return counts_.visible; }
    void overflow() { counts_.overflow = 1; }
    /// As if emit had found fewer tiles than projection counted of the Gaussian furthest away: its
    /// last `rows` emissions belong to no tile.
    void count_too_many(std::uint32_t rows);

    /// NaN everywhere before, so that a row nobody wrote shows.
    std::vector<cuda::IsectGradient>& isect_gradients() { return isect_gradients_; }
    bool live(std::size_t emission) const {
        return (live_rows_[emission / 32] >> (emission % 32) & 1u) != 0;
    }

  private:
    void project(const GaussianModel& model);
    void bin();
    void split(std::uint32_t item_isects);
    void blend(std::uint32_t tile, bool all_contribute);
    void point();

    cuda::FrameLimits limits_;
    cuda::FrameArrays arrays_{};
    cuda::FrameConstants constants_{};
    cuda::FrameCounts counts_{};
    std::vector<cuda::Splat> splats_;
    std::vector<std::uint32_t> gaussian_from_slot_, isects_of_slot_, first_emission_, chunk_slots_,
        slot_from_rank_;
    std::vector<std::uint32_t> emission_, slot_from_isect_, tile_begin_, item_order_, contributed_,
        live_rows_;
    std::vector<cuda::WorkItem> items_;
    std::vector<std::vector<std::uint32_t>> items_of_tile_;
    std::vector<float> partials_, final_transmittance_, color_, depth_;
    std::vector<cuda::IsectGradient> isect_gradients_;
};

/// Picture gradients as backward takes them, on the host.
struct HandMadeGradients {
    std::vector<float> color, alpha, depth;
    HandMadeGradients(const reference::PictureGradient& v);
    cuda::PictureGradientView view() const;
};

}  // namespace gs::test
