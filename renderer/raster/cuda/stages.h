// The forward stages' launches, one function per stage, for FramePipeline alone. Each enqueues its
// kernels on the stream and returns; none allocates or waits. The kernels are in the .cu file named
// beside it.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

void run_project(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                 const ModelView& model);

// bin.cu
/// After chunk_first_rank: depth keys and slots by rank, sentinels behind them; V, I, overflow.
void run_compact(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);
/// isects by rank, for the scan that makes emission_of_rank of them.
void run_count(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);
void run_emit(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);
/// Whether tile keys are 16 bits wide, and the key of what is behind the last isect.
constexpr bool short_tile_keys(const FrameLimits& limits) { return limits.tiles <= 65535; }

// ranges.cu
void run_ranges(const Stream& stream, const FrameLimits& limits, const FrameArrays& a);

// blend.cu, composite.cu
void run_blend(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
               const PictureView& picture);

}  // namespace gs::cuda
