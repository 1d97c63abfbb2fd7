#include "renderer/raster/cuda/pipeline.h"

#include "renderer/raster/cuda/blend_backward.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kMostTiles = 1u << 26;  // a warp's sum of isects stays within 32 bits

}  // namespace

void FramePipeline::prepare(const FrameLimits& limits) {
    if (carved_.constants != nullptr && limits == limits_) return;
    CHECK(
        limits.width > 0 && limits.height > 0 && limits.width <= 65535 * kTileSize &&
            limits.height <= 65535 * kTileSize &&
            static_cast<std::uint32_t>(limits.tiles) <= kMostTiles &&
            static_cast<std::uint64_t>(limits.width) * static_cast<std::uint64_t>(limits.height) <=
                0xffffffffu,
        "{} x {} px", limits.width, limits.height);
    CHECK(limits.item_isects % 32 == 0 && limits.item_isects > 0 &&
          limits.item_isects <= kItemIsects);
    carved_ = arrays_ = {};  // also where what follows fails
    arena_.reset(frame_bytes(limits), stream_);
    primitives_.reserve(std::max(limits.visible, limits.isects), limits.chunks(), stream_);
    limits_ = limits;
    carved_ = arrays_ = carve_frame(limits, arena_);
}

FramePipeline::Idle FramePipeline::lend(std::size_t bytes) {
    carved_ = arrays_ = {};
    arena_.reset(bytes, stream_);
    return {arena_, primitives_};
}

void FramePipeline::project(const ModelView& model, const TintView& tint,
                            const HalfColors& colors) {
    const StageScope scope(timers_, Stage::project);
    CHECK(model.count <= limits_.gaussians, "{} Gaussians in a frame made for {}", model.count,
          limits_.gaussians);
    arrays_ = carved_;
    // They lie side by side (frame_arrays.cpp): one fill.
    auto* const counts = reinterpret_cast<std::byte*>(arrays_.counts);
    auto* const end =
        reinterpret_cast<std::byte*>(arrays_.count_chain + 1 + limits_.counting_blocks());
    CHECK(arrays_.isect_total < arrays_.count_chain && end > counts);
    fill_bytes(counts, 0, static_cast<std::size_t>(end - counts), stream_);
    run_project(stream_, limits_, arrays_, model, tint, colors);
}

void FramePipeline::list_tiles() {
    {
        const StageScope scope(timers_, Stage::sort);
        run_sort_by_depth(stream_, limits_, arrays_, primitives_);
    }
    {
        const StageScope scope(timers_, Stage::emit);
        run_emit(stream_, limits_, arrays_);
    }
    {
        const StageScope scope(timers_, Stage::sort);
        run_sort_by_tile(stream_, limits_, arrays_, primitives_);
    }
    const StageScope scope(timers_, Stage::ranges);
    if (!limits_.gradients) arrays_.slot_from_isect = arrays_.payload[1];
    run_ranges(stream_, limits_, arrays_);
}

void FramePipeline::blend(const PictureView& picture) {
    const StageScope scope(timers_, Stage::blend);
    CHECK(picture.color != nullptr && (picture.depth != nullptr) == limits_.depth &&
              (picture.median_depth != nullptr) == limits_.median_depth &&
              (limits_.depth || !limits_.median_depth),
          "a picture has the planes its limits say");
    CHECK(picture.costs.tile_cycles == nullptr || (limits_.counters && !limits_.depth),
          "costs are measured with counters and without depth");
    if (picture.pairs_per_tile != nullptr)
        fill_bytes(picture.pairs_per_tile, 0,
                   static_cast<std::size_t>(limits_.tiles) * sizeof(std::uint32_t), stream_);
    run_blend(stream_, limits_, arrays_, picture);
}

void FramePipeline::blend_backward(const PictureView& picture,
                                   const PictureGradientView& gradients) {
    const StageScope scope(timers_, Stage::blend_backward);
    CHECK(limits_.gradients, "the frame was drawn without what its gradients need");
    launch_blend_backward(stream_, limits_, {arrays_, picture, gradients});
}

std::size_t FramePipeline::bytes() const { return arena_.bytes() + primitives_.bytes(); }

}  // namespace gs::cuda
