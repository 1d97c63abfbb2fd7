// BatchGradients: what the views of one step's batch add up to, by block of 16 Gaussians, in host
// memory. Each view's sink adds its blocks as backward makes them, one view after another, so the
// sums are the same bits on any number of threads; the last view's step reads their mean. Owned by
// CpuTraining; trainer/cuda/batch_step.h is the device's.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

class BatchGradients {
  public:
    /// Nothing is in it, and there is space for `blocks` blocks of `planes` planes each.
    void begin(std::size_t blocks, int planes);
    /// Adds one view's block, but for lanes in `locked` and those whose gradient is not finite,
    /// which are returned. From many threads, each block once a view.
    std::uint32_t add(const BlockGradients& gradients, std::uint32_t locked);
    /// The mean of `views` views, planes and mask alone. False: no view showed the block.
    bool mean(std::size_t block, std::uint32_t views, BlockGradients& out) const;
    std::size_t bytes() const { return sums_.capacity_bytes() + seen_.capacity_bytes(); }

  private:
    std::size_t planes_ = 0;
    Buffer<float> sums_;          ///< [block][planes][16]; anything where nothing was seen
    Buffer<std::uint32_t> seen_;  ///< [block] lanes that a view showed
};

}  // namespace gs
