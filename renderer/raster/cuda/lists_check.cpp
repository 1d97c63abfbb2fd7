#include "renderer/raster/cuda/lists_check.h"

#include <vector>

#include "renderer/device/cuda/device.h"
#include "renderer/raster/cuda/device_model.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/frame_limits.h"
#include "renderer/raster/cuda/pipeline.h"

namespace gs {
namespace cuda {
namespace {

/// What a list is judged by.
struct Listed {
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

FrameLimits room_of(const GaussianModel& model, const Camera& camera, std::uint32_t isects) {
    FrameLimits limits = FramePipeline::limits_of(camera, {});
    limits.gaussians = limits.visible = stepped(model.count);
    limits.isects = isects;
    return limits;
}

Listed list(const GaussianModel& model, const Camera& camera, const Stream& stream) {
    DeviceModel on_device;
    on_device.upload(model.values.span(), model.capacity, model.count, model.sh_degree, {}, stream);
    const FrameConstants constants = FramePipeline::constants_of(camera, {}, model.sh_degree);
    FramePipeline pipeline(stream);
    Listed out;
    for (std::uint32_t room = kLeastRoom;; room = stepped(out.counts.isects)) {
        const FrameLimits limits = room_of(model, camera, room);
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

bool in_box(const Coverage& c, std::uint32_t tile, int tiles_x) {
    const auto x = tile % static_cast<std::uint32_t>(tiles_x),
               y = tile / static_cast<std::uint32_t>(tiles_x);
    const auto columns = static_cast<std::uint32_t>(tiles_x);
    return ((x >= c.x0 && x < c.x1) || x + columns < c.x1) && y >= c.y0 && y < c.y1;
}

ListsCheck judge(const Listed& l, int tiles_x) {
    ListsCheck out;
    out.tiles = l.tile_begin.size() - 1;
    out.visible = l.counts.visible;
    out.isects = l.counts.isects;
    if (l.tile_begin.front() != 0 || l.tile_begin.back() != out.isects) ++out.wrong;
    std::vector<std::uint32_t> listed(l.splats.size(), 0);
    for (std::uint32_t tile = 0; tile < out.tiles; ++tile) {
        const std::uint32_t first = l.tile_begin[tile], end = l.tile_begin[tile + 1];
        if (end < first || end > out.isects) {
            ++out.wrong;
            continue;
        }
        for (std::uint32_t i = first; i < end; ++i) {
            const std::uint32_t slot = l.slot_from_isect[i];
            if (slot >= listed.size() || !in_box(l.coverage[slot], tile, tiles_x)) {
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
    for (std::size_t chunk = 0; chunk < l.chunk_slots.size(); ++chunk)
        for (std::size_t slot = chunk * kChunk; slot < chunk * kChunk + l.chunk_slots[chunk];
             ++slot)
            out.wrong += listed[slot] != l.isects_of_slot[slot] ? 1 : 0;
    return out;
}

}  // namespace
}  // namespace cuda

Result<ListsCheck> check_cuda_lists(const GaussianModel& model, const Camera& camera, int index) {
    const Result<CudaDeviceInfo> device = cuda_device_info(index);
    if (!device) return tl::make_unexpected(device.error());
    cuda::use_device(index);
    const cuda::Stream stream("lists check");
    return cuda::judge(cuda::list(model, camera, stream),
                       (camera.width + kTileSize - 1) / kTileSize);
}

}  // namespace gs
