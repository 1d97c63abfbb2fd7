// Carving a frame's arrays from an arena. FramePipeline::prepare() uses it.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

/// Bytes of an arena that carve_frame() takes.
std::size_t frame_bytes(const FrameLimits& limits);
/// The arena was reset to at least frame_bytes(limits). Arrays not wanted are null.
FrameArrays carve_frame(const FrameLimits& limits, Arena& arena);

}  // namespace gs::cuda
