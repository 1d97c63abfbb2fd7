// Carving a frame's arrays from an arena, for FramePipeline::prepare(); and bringing arrays of
// slots to the host, for who looks into a frame.
#pragma once

#include <cstdint>
#include <span>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

/// Bytes of an arena that carve_frame() takes.
std::size_t frame_bytes(const FrameLimits& limits);
/// The arena was reset to at least frame_bytes(limits). Arrays not wanted are null.
FrameArrays carve_frame(const FrameLimits& limits, Arena& arena);

/// The slots in use of a frame's array [slot]; those beyond are not written, and not copied.
/// `used`: [chunk], chunk_slots of the frame, here already. `to` has space for all slots, and is
/// complete once `stream` is.
template <class T>
void copy_slots(T* to, const T* from, std::span<const std::uint32_t> used, const Stream& stream) {
    for (std::size_t chunk = 0; chunk < used.size(); ++chunk)
        if (used[chunk] > 0)
            copy_to_host(to + chunk * kChunk, from + chunk * kChunk, used[chunk] * sizeof(T),
                         stream);
}

}  // namespace gs::cuda
