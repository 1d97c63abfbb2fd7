#include "renderer/raster/cuda/lists_check.h"

#include <fmt/core.h>

#include <span>
#include <vector>

#include "base/hash.h"
#include "renderer/device/cuda/device.h"
#include "renderer/raster/cuda/device_model.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/frame_limits.h"
#include "renderer/raster/cuda/pipeline.h"
#include "renderer/raster/tile_cover.h"

namespace gs {
namespace cuda {
namespace {

/// What a list is judged by.
struct Listed {
    int tiles_x = 0;
    float wrap = 0;  ///< FrameConstants::wrap
    std::vector<Splat> splats;
    std::vector<Coverage> coverage;
    std::vector<std::uint32_t> isects_of_slot, chunk_slots, tile_begin, slot_from_isect;
    FrameCounts counts{};
};

template <class T>
void bring(std::vector<T>& to, const T* from, std::size_t count, const Stream& stream) {
    to.resize(count);
    if (count > 0) copy_to_host(to.data(), from, count * sizeof(T), stream);
}

FrameLimits limits_for(const GaussianModel& model, const Camera& camera, std::uint32_t isects) {
    FrameLimits limits = FramePipeline::limits_of(camera, {});
    limits.gaussians = limits.visible = stepped(model.count);
    limits.isects = isects;
    return limits;
}

/// The next capacity for lists of `isects` pairs. Throws above what a frame can have.
std::uint32_t larger_capacity(std::uint32_t isects) {
    if (isects > kMaxCapacity)
        throw DeviceError(
            fmt::format("lists of {} (Gaussian, tile) pairs, {} at most fit", isects, kMaxCapacity),
            true);
    return stepped(isects);
}

Listed list(const GaussianModel& model, const Camera& camera, const Stream& stream) {
    DeviceModel on_device;
    on_device.upload(model.values.span(), model.capacity, model.count, model.sh_degree, {}, stream);
    const FrameConstants constants = FramePipeline::constants_of(camera, {}, model.sh_degree);
    FramePipeline pipeline(stream);
    Listed out;
    out.tiles_x = constants.tiles_x;
    out.wrap = constants.wrap;
    for (std::uint32_t capacity = kMinCapacity;; capacity = larger_capacity(out.counts.isects)) {
        const FrameLimits limits = limits_for(model, camera, capacity);
        pipeline.prepare(limits);
        const FrameArrays& a = pipeline.arrays();
        copy_to_device(a.constants, &constants, sizeof constants, stream);
        pipeline.project(on_device.view());
        pipeline.list_tiles();
        copy_to_host(&out.counts, a.counts, sizeof out.counts, stream);
        stream.synchronize();
        if (out.counts.overflow != 0) continue;
        bring(out.chunk_slots, a.chunk_slots, limits.chunks(), stream);
        stream.synchronize();
        const auto bring_slots = [&](auto& to, const auto* from) {
            to.resize(std::size_t{limits.chunks()} * kChunk);
            copy_slots(to.data(), from, out.chunk_slots, stream);
        };
        bring_slots(out.splats, a.splats);
        bring_slots(out.coverage, a.coverage);
        bring_slots(out.isects_of_slot, a.isects_of_slot);
        bring(out.tile_begin, a.tile_begin, static_cast<std::size_t>(limits.tiles) + 1, stream);
        bring(out.slot_from_isect, a.slot_from_isect, out.counts.isects, stream);
        stream.synchronize();
        return out;
    }
}

/// The tiles of a row that a slot is listed in, found again on the host: the same bits as on the
/// device. The rows of an ellipse may reach a tile further than its box, which is rounded by
/// itself.
TileRange tiles_of_row(const Listed& l, std::uint32_t slot, int row) {
    const Coverage& c = l.coverage[slot];
    const Splat& s = l.splats[slot];
    if (c.exact == 0) return {c.x0, c.x1};
    return ellipse_row({c.conic_xx, c.conic_xy, c.conic_yy}, c.limit, {s.x, s.y},
                       {s.extent_x, s.extent_y}, row, l.tiles_x, l.wrap);
}

bool covers(const Listed& l, std::uint32_t slot, std::uint32_t tile) {
    const int column = static_cast<int>(tile) % l.tiles_x, row = static_cast<int>(tile) / l.tiles_x;
    const Coverage& c = l.coverage[slot];
    if (row < c.y0 || row >= c.y1) return false;
    const TileRange range = tiles_of_row(l, slot, row);
    return (column >= range.first && column < range.end) || column + l.tiles_x < range.end;
}

std::uint32_t tiles_of(const Listed& l, std::uint32_t slot) {
    int tiles = 0;
    for (int row = l.coverage[slot].y0; row < l.coverage[slot].y1; ++row) {
        const TileRange range = tiles_of_row(l, slot, row);
        tiles += range.end - range.first;
    }
    return static_cast<std::uint32_t>(tiles);
}

/// The list of one tile; how often each slot is listed goes to `listed`.
void judge_tile(const Listed& l, std::uint32_t tile, std::vector<std::uint32_t>& listed,
                ListsCheck& out) {
    const std::uint32_t first = l.tile_begin[tile], end = l.tile_begin[tile + 1];
    if (end < first || end > out.isects) {
        ++out.wrong;
        return;
    }
    for (std::uint32_t i = first; i < end; ++i) {
        const std::uint32_t slot = l.slot_from_isect[i];
        if (slot >= listed.size() || !covers(l, slot, tile)) {
            ++out.wrong;
            continue;
        }
        ++listed[slot];
        if (i == first) continue;
        const std::uint32_t before = l.slot_from_isect[i - 1];
        out.wrong += before == slot ? 1 : 0;
        out.unsorted +=
            before < listed.size() && l.splats[slot].depth < l.splats[before].depth ? 1 : 0;
    }
}

ListsCheck judge(const Listed& l) {
    ListsCheck out{
        .tiles = l.tile_begin.size() - 1, .visible = l.counts.visible, .isects = l.counts.isects};
    if (l.tile_begin.front() != 0 || l.tile_begin.back() != out.isects) ++out.wrong;
    out.hash = hash_array(std::span<const std::uint32_t>(l.slot_from_isect),
                          hash_array(std::span<const std::uint32_t>(l.tile_begin)));
    std::vector<std::uint32_t> listed(l.splats.size(), 0);
    for (std::uint32_t tile = 0; tile < out.tiles; ++tile) judge_tile(l, tile, listed, out);
    for (std::size_t chunk = 0; chunk < l.chunk_slots.size(); ++chunk)
        for (std::size_t i = 0; i < l.chunk_slots[chunk]; ++i) {
            const auto slot = static_cast<std::uint32_t>(chunk * kChunk + i);
            const std::uint32_t wanted = tiles_of(l, slot);
            out.wrong += listed[slot] != wanted || l.isects_of_slot[slot] != wanted ? 1 : 0;
        }
    return out;
}

}  // namespace
}  // namespace cuda

Result<ListsCheck> check_cuda_lists(const GaussianModel& model, const Camera& camera, int index) {
    const Result<CudaDeviceInfo> device = cuda_device_info(index);
    if (!device) return tl::make_unexpected(device.error());
    cuda::use_device(index);
    const cuda::Stream stream("lists check");
    return cuda::judge(cuda::list(model, camera, stream));
}

}  // namespace gs
