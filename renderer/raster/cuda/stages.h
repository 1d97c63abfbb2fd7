// The forward stages' launches, one function per stage, for FramePipeline alone. Each enqueues its
// kernels on the stream and returns; none allocates or waits. The kernels are in the .cu file named
// beside it.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"
#include "renderer/raster/tile_groups.h"

namespace gs::cuda {

void run_project(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                 const ModelView& model, const TintView& tint);

// sort.cu: pairs into [1]
/// By depth: slots of all chunks into ranks, front to back; V, I, overflow.
void run_sort_by_depth(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);
/// By tile, stably.
void run_sort_by_tile(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);

// emit.cu
/// Tile keys and payload by emission, in the order of ranks.
void run_emit(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);
/// Whether tile keys are 16 bits wide.
constexpr bool short_tile_keys(const FrameLimits& limits) { return limits.tiles <= 65535; }

// ranges.cu
/// Where the lists of a group's tiles begin, and its items.
void run_ranges(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                TileGroup group);

// blend.cu, composite.cu
void run_blend(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
               const PictureView& picture);

}  // namespace gs::cuda
