// DeviceCosts: what blending costs, in device memory while it is measured, and brought back. The
// rasterizer has one for forward and backward, one after the other.
#pragma once

#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

struct DeviceCosts {
    DeviceBuffer<unsigned long long> cycles{"cycles per tile"};
    DeviceBuffer<std::uint32_t> pairs{"pairs per tile and Gaussian"};  // tiles, evaluated, blended

    CostView start(std::size_t tiles, std::size_t rows, const Stream& stream) {
        cycles.resize_discard(tiles, stream);
        pairs.resize_discard(tiles + 2 * rows, stream);
        fill_bytes(cycles.data(), 0, tiles * sizeof(unsigned long long), stream);
        fill_bytes(pairs.data(), 0, (tiles + 2 * rows) * sizeof(std::uint32_t), stream);
        return {cycles.data(), pairs.data(), pairs.data() + tiles, pairs.data() + tiles + rows};
    }
    /// Waits. `tile_pairs`, `evaluated`, `blended`: where what CostView calls so goes; or null.
    void fetch(double ns_a_cycle, Buffer<float>& tile_ns, Buffer<std::uint32_t>& tile_pairs,
               Buffer<std::uint32_t>& evaluated, Buffer<std::uint32_t>* blended,
               const Stream& stream) const {
        const std::size_t tiles = cycles.size(), rows = (pairs.size() - tiles) / 2;
        std::vector<unsigned long long> taken(tiles);
        cycles.download(taken, stream);
        const auto get = [&](Buffer<std::uint32_t>& to, std::size_t from, std::size_t count) {
            to.resize_discard(count);
            if (count > 0)
                copy_to_host(to.data(), pairs.data() + from, count * sizeof(std::uint32_t), stream);
        };
        get(tile_pairs, 0, tiles);
        get(evaluated, tiles, rows);
        if (blended != nullptr) get(*blended, tiles + rows, rows);
        stream.synchronize();
        tile_ns.resize_discard(tiles);
        for (std::size_t tile = 0; tile < tiles; ++tile)
            tile_ns[tile] = static_cast<float>(ns_a_cycle * static_cast<double>(taken[tile]));
    }
    std::size_t bytes() const { return cycles.capacity_bytes() + pairs.capacity_bytes(); }
};

}  // namespace gs::cuda
