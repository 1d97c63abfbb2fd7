#include "renderer/raster/cuda/pipeline.h"

#include <bit>
#include <utility>

#include "renderer/raster/cuda/blend_backward.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kMostTiles = 1u << 26;  // a warp's sum of isects stays within 32 bits

/// Sorts [0] into [1].
template <class Key>
void sort_pair(Primitives& primitives, Key* (&keys)[2], std::uint32_t* (&values)[2], std::size_t n,
               int end_bit, const Stream& stream) {
    Swap<Key> k{{keys[0], keys[1]}};
    Swap<std::uint32_t> v{{values[0], values[1]}};
    if (n > 0) primitives.sort_pairs(k, v, n, end_bit, stream);
    if (n > 0 && k.current == 0) std::swap(keys[0], keys[1]);
    if (n > 0 && v.current == 0) std::swap(values[0], values[1]);
}

}  // namespace

void FramePipeline::prepare(const FrameLimits& limits) {
    if (carved_.constants != nullptr && limits == limits_) return;
    CHECK(limits.width > 0 && limits.height > 0 && limits.width <= 65535 * kTileSize &&
              limits.height <= 65535 * kTileSize &&
              static_cast<std::uint32_t>(limits.tiles) <= kMostTiles,
          "{} x {} px", limits.width, limits.height);
    CHECK(limits.item_isects % 32 == 0 && limits.item_isects > 0 &&
          limits.item_isects <= kItemIsects);
    carved_ = {};
    arena_.reset(frame_bytes(limits), stream_);
    primitives_.reserve(std::max(limits.visible, limits.isects),
                        std::max(limits.visible, limits.chunks()), stream_);
    limits_ = limits;
    carved_ = arrays_ = carve_frame(limits, arena_);
}

void FramePipeline::project(const ModelView& model) {
    const StageScope scope(timers_, Stage::project);
    CHECK(model.count <= limits_.gaussians, "{} Gaussians in a frame made for {}", model.count,
          limits_.gaussians);
    arrays_ = carved_;
    fill_bytes(arrays_.counts, 0, sizeof(FrameCounts), stream_);
    fill_bytes(arrays_.isect_total, 0, sizeof(*arrays_.isect_total), stream_);
    run_project(stream_, limits_, arrays_, model);
}

void FramePipeline::sort_and_bin() {
    FrameArrays& a = arrays_;
    {
        const StageScope scope(timers_, Stage::sort);
        if (limits_.chunks() > 0)
            primitives_.exclusive_sum(a.chunk_slots, a.chunk_first_rank, limits_.chunks(), stream_);
        run_compact(stream_, limits_, a);
        sort_pair(primitives_, a.depth_keys, a.slot_from_rank, limits_.visible, 32, stream_);
    }
    {
        const StageScope scope(timers_, Stage::emit);
        run_count(stream_, limits_, a);
        if (limits_.visible > 0)
            primitives_.exclusive_sum(a.emission_of_rank, a.emission_of_rank, limits_.visible,
                                      stream_);
        run_emit(stream_, limits_, a);
    }
    {
        const StageScope scope(timers_, Stage::sort);
        sort_by_tile();
    }
    const StageScope scope(timers_, Stage::ranges);
    if (!limits_.gradients) a.slot_from_isect = a.payload[1];
    run_ranges(stream_, limits_, a);
}

void FramePipeline::sort_by_tile() {
    FrameArrays& a = arrays_;
    const int bits =
        std::bit_width(static_cast<unsigned>(limits_.tiles));  // the sentinel is `tiles`
    if (!short_tile_keys(limits_))
        return sort_pair(primitives_, a.tile_keys, a.payload, limits_.isects, bits, stream_);
    std::uint16_t* keys[2] = {reinterpret_cast<std::uint16_t*>(a.tile_keys[0]),
                              reinterpret_cast<std::uint16_t*>(a.tile_keys[1])};
    sort_pair(primitives_, keys, a.payload, limits_.isects, bits, stream_);
    for (int i = 0; i < 2; ++i) a.tile_keys[i] = reinterpret_cast<std::uint32_t*>(keys[i]);
}

void FramePipeline::blend(const PictureView& picture) {
    const StageScope scope(timers_, Stage::blend);
    CHECK(picture.color != nullptr && (picture.depth != nullptr) == limits_.depth,
          "a picture has the planes its limits say");
    if (picture.pairs_per_tile != nullptr)
        fill_bytes(picture.pairs_per_tile, 0,
                   static_cast<std::size_t>(limits_.tiles) * sizeof(std::uint32_t), stream_);
    run_blend(stream_, limits_, arrays_, picture);
}

void FramePipeline::blend_backward(const PictureView& picture, const PictureGradientView& gradients,
                                   BackwardVariant variant) {
    const StageScope scope(timers_, Stage::blend_backward);
    CHECK(limits_.gradients, "the frame was drawn without what its gradients need");
    launch_blend_backward(stream_, limits_, {arrays_, picture, gradients}, variant);
}

std::size_t FramePipeline::bytes() const { return arena_.bytes() + primitives_.bytes(); }

}  // namespace gs::cuda
