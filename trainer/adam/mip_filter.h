// The 3D filter of Mip-Splatting (Yu et al. 2024): no Gaussian is thinner than what the photos can
// tell. A Gaussian's filter is f = sqrt(0.2) times the least size that a pixel has at its mean,
// over all training cameras that see it; it is drawn with s' = sqrt(s^2 + f^2) and with opacity
// o' = o prod(s / s'), and training goes by gradients through both. What is stored is s and o; who
// draws or saves the model takes it filtered. Trainer says when filters are sized, LazySource draws
// through them, TrainingSink takes gradients back; on CUDA projection and its backward do both.
#pragma once

#include <cstddef>
#include <span>

#include "base/buffer.h"
#include "base/exchange.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

enum class FilterRows {
    all,
    fresh,  ///< those that have none yet: 0
};
/// Filters by row, world units, of rows 0 .. count - 1 of a model whose planes kMeans .. are
/// `means` [3][capacity]; of the others 0. A camera sees what is beyond `near_plane` and falls into
/// its picture or 15 % of its width or height beside it. A pixel's size is depth / focal length of
/// a pinhole, and through any other lens or shutter the side of the square that the pixel covers at
/// the mean. What no camera sees gets the largest filter that any row has, of all `ranks`. `filter`
/// is resized.
void size_filter(std::span<const float> means, std::size_t count, std::span<const Camera> cameras,
                 float near_plane, FilterRows rows, Buffer<float>& filter,
                 Exchange& ranks = one_process());

/// Log scales and opacity logits of a block's planes (plane p at planes + p * kBlock), as they are
/// drawn. `filter`: of its 16 rows.
void filter_block(float* planes, const float* filter);
/// Gradients with respect to what filter_block() made, to those with respect to the stored
/// `planes`: exact but for what single precision leaves of an opacity of 1.
void filter_block_vjp(const float* planes, const float* filter, BlockGradients& gradients);
/// The whole model as it is drawn. `filter` by row; empty: nothing changes.
void filter_model(GaussianModel& model, std::span<const float> filter);

}  // namespace gs
