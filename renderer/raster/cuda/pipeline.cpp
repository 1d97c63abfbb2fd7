#include "renderer/raster/cuda/pipeline.h"

#include "renderer/raster/cuda/blend_backward.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kMostTiles = 1u << 26;  // a warp's sum of isects stays within 32 bits

}  // namespace

void FramePipeline::prepare(const FrameLimits& limits) {
    groups_.clear();
    if (arrays_.constants != nullptr && limits == limits_) return;
    CHECK(
        limits.width > 0 && limits.height > 0 && limits.width <= 65535 * kTileSize &&
            limits.height <= 65535 * kTileSize &&
            static_cast<std::uint32_t>(limits.tiles) <= kMostTiles &&
            static_cast<std::uint64_t>(limits.width) * static_cast<std::uint64_t>(limits.height) <=
                0xffffffffu,
        "{} x {} px", limits.width, limits.height);
    CHECK(limits.item_isects % 32 == 0 && limits.item_isects > 0 &&
          limits.item_isects <= kItemIsects);
    arrays_ = {};  // also where what follows fails
    arena_.reset(frame_bytes(limits), stream_);
    if (limits.gradients)  // what density rounds will borrow
        primitives_.reserve(2 * std::size_t{limits.gaussians}, limits.gaussians, stream_);
    limits_ = limits;
    arrays_ = carve_frame(limits, arena_);
}

FramePipeline::Idle FramePipeline::lend(std::size_t bytes) {
    arrays_ = {};
    arena_.reset(bytes, stream_);
    return {arena_, primitives_};
}

void FramePipeline::project(const ModelView& model, const TintView& tint,
                            const HalfColors& colors) {
    const StageScope scope(timers_, Stage::project);
    CHECK(model.count <= limits_.gaussians, "{} Gaussians in a frame made for {}", model.count,
          limits_.gaussians);
    // They lie side by side (frame_arrays.cpp): one fill.
    auto* const counts = reinterpret_cast<std::byte*>(arrays_.counts);
    const std::ptrdiff_t bytes = reinterpret_cast<std::byte*>(arrays_.splats) - counts;
    CHECK(bytes > 0);
    fill_bytes(counts, 0, static_cast<std::size_t>(bytes), stream_);
    run_project(stream_, limits_, arrays_, model, tint, colors);
}

void FramePipeline::list_tiles() {
    {
        const StageScope scope(timers_, Stage::sort);
        run_sort_by_depth(stream_, limits_, arrays_);
    }
    list_group({0, static_cast<std::uint32_t>(limits_.tiles), 0});
}

void FramePipeline::list_group(const TileGroup& group) {
    {
        const StageScope scope(timers_, Stage::emit);
        run_emit(stream_, limits_, arrays_);
    }
    {
        const StageScope scope(timers_, Stage::sort);
        run_sort_by_tile(stream_, limits_, arrays_);
    }
    const StageScope scope(timers_, Stage::ranges);
    run_ranges(stream_, limits_, arrays_, group);
}

void FramePipeline::blend(const PictureView& picture) {
    blend_group(picture, {0, static_cast<std::uint32_t>(limits_.tiles), 0});
}

void FramePipeline::blend_group(const PictureView& picture, const TileGroup& group) {
    const StageScope scope(timers_, Stage::blend);
    CHECK(picture.color != nullptr && (picture.depth != nullptr) == limits_.depth &&
              (picture.median_depth != nullptr) == limits_.median_depth &&
              (limits_.depth || !limits_.median_depth),
          "a picture has the planes its limits say");
    CHECK(picture.costs.tile_cycles == nullptr || (limits_.counters && !limits_.depth),
          "costs are measured with counters and without depth");
    if (picture.pairs_per_tile != nullptr)
        fill_bytes(picture.pairs_per_tile + group.first, 0,
                   (group.end - group.first) * sizeof(std::uint32_t), stream_);
    run_blend(stream_, limits_, arrays_, picture);
}

void FramePipeline::blend_backward(const PictureView& picture,
                                   const PictureGradientView& gradients) {
    const StageScope scope(timers_, Stage::blend_backward);
    CHECK(limits_.gradients, "the frame was drawn without what its gradients need");
    launch_blend_backward(stream_, limits_, {arrays_, picture, gradients});
}

const std::vector<TileGroup>& FramePipeline::make_groups() {
    const StageScope scope(timers_, Stage::sort);
    groups_.make(stream_, limits_, arrays_, limits_.isects);
    run_sort_by_depth(stream_, limits_, arrays_);
    return groups_.list();
}

void FramePipeline::draw_groups(const PictureView& picture) {
    for (const TileGroup& group : groups_.list()) {
        groups_.enter(stream_, limits_, arrays_, group);
        list_group(group);
        blend_group(picture, group);
    }
}

FrameArrays FramePipeline::blend_groups_backward(const PictureView& picture, float* color,
                                                 const PictureGradientView& gradients) {
    PictureView again = picture;  // the bits that it has; but what is counted is counted already
    again.color = color;
    again.pairs_per_tile = nullptr;
    again.costs = {};
    groups_.start_sums(stream_, limits_, arrays_);
    for (const TileGroup& group : groups_.list()) {
        groups_.enter(stream_, limits_, arrays_, group);
        list_group(group);
        blend_group(again, group);
        blend_backward(picture, gradients);
        groups_.add_gradients(stream_, limits_, arrays_);
    }
    groups_.finish_sums(stream_, limits_, arrays_);
    return groups_.summed(limits_, arrays_);
}

std::size_t FramePipeline::bytes() const {
    return arena_.bytes() + primitives_.bytes() + groups_.bytes();
}

}  // namespace gs::cuda
