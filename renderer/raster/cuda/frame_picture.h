// Memory of a frame's picture and maps on the device. Used by CudaRasterizer.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/frame_limits.h"

namespace gs::cuda {

struct FramePicture {
    DeviceBuffer<float> planes{"picture"};  ///< colour, alpha, depth, median depth
    DeviceBuffer<std::uint16_t> contributors{"contributors of a picture"};
    DeviceBuffer<std::uint32_t> per_tile{"counts per tile"};  ///< isects, pairs
    DeviceBuffer<float> again{"picture"};
    PictureView view;

    void resize(const FrameLimits& limits, const Stream& stream) {
        const std::size_t pixels =
            static_cast<std::size_t>(limits.width) * static_cast<std::size_t>(limits.height);
        const std::size_t tiles = static_cast<std::size_t>(limits.tiles);
        make(planes, pixels * (limits.median_depth ? 6 : limits.depth ? 5 : 4), stream);
        make(per_tile, tiles * 2, stream);
        if (limits.counters) make(contributors, pixels, stream);
        view = {};
        view.color = planes.data();
        view.alpha = planes.data() + 3 * pixels;
        view.depth = limits.depth ? planes.data() + 4 * pixels : nullptr;
        view.median_depth = limits.median_depth ? planes.data() + 5 * pixels : nullptr;
        view.contributors = limits.counters ? contributors.data() : nullptr;
        view.isects_per_tile = per_tile.data();
        view.pairs_per_tile = limits.counters ? per_tile.data() + tiles : nullptr;
    }
    /// Where a frame's colours are drawn again: in place, or, where the picture has a sky in it,
    /// in memory that is for nothing else.
    float* without_sky(bool has_sky, std::size_t pixels, const Stream& stream) {
        if (!has_sky) return view.color;
        again.resize_discard(3 * pixels, stream);
        return again.data();
    }
    /// New memory is cleared: a frame that does not fit draws nothing, and is fetched before that
    /// is known.
    template <class T>
    static void make(DeviceBuffer<T>& buffer, std::size_t size, const Stream& stream) {
        const std::size_t before = buffer.capacity_bytes();
        buffer.resize_discard(size, stream);
        if (buffer.capacity_bytes() != before)
            fill_bytes(buffer.data(), 0, buffer.capacity_bytes(), stream);
    }
    std::size_t bytes() const {
        return planes.capacity_bytes() + again.capacity_bytes() + contributors.capacity_bytes() +
               per_tile.capacity_bytes();
    }
};

}  // namespace gs::cuda
