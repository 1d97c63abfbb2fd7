#include "renderer/raster/cuda/cuda_state.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/sky.h"
#include "renderer/raster/frame_size.h"

namespace gs::cuda {
namespace {

/// What a frame may list at once, by its options.
std::uint32_t most_isects(const RenderOptions& options) {
    const std::uint64_t most = options.most_pairs == 0 ? kMaxCapacity : options.most_pairs;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kMaxCapacity));
}

void enqueue_sky(CudaState& state) {
    if (state.model.sky == nullptr) return;
    const PictureView& view = state.picture.view;
    launch_sky(
        *state.stream, state.pipeline.limits(),
        {state.pipeline.arrays().constants, state.model.sky, view.color, view.alpha, nullptr});
}

/// What changes from frame to frame is read from memory: `state.constants`.
void enqueue_kernels(CudaState& state) {
    const Stream& stream = *state.stream;
    copy_to_device(state.pipeline.arrays().constants, state.constants.data(),
                   sizeof(FrameConstants), stream);
    state.pipeline.project(state.model, state.tint, state.colors);
    state.pipeline.list_tiles();
    state.pipeline.blend(state.picture.view);
    enqueue_sky(state);
    fetch(state.counts.data(), state.pipeline.arrays().counts, 1, stream);
}

/// The same in groups of tiles of at most limits.isects each, but for a tile that has more alone.
/// Waits for how many each has.
void enqueue_groups(CudaState& state, FrameLimits limits, const Camera& camera) {
    const Stream& stream = *state.stream;
    for (;;) {
        copy_to_device(state.pipeline.arrays().constants, state.constants.data(),
                       sizeof(FrameConstants), stream);
        state.pipeline.project(state.model, state.tint, state.colors);
        const std::vector<TileGroup>& groups = state.pipeline.make_groups();
        const std::uint64_t row =
            limits.wraps && limits.gradients
                ? fullest_cut_row(groups, (limits.width + kTileSize - 1) / kTileSize)
                : 0;
        if (row > 0) refuse_row(camera, row, limits.isects);
        const std::uint64_t most = most_pairs(groups);
        if (most <= limits.isects) break;
        limits.isects = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kMaxCapacity));
        state.pipeline.prepare(limits);
    }
    state.pipeline.draw_groups(state.picture.view);
    enqueue_sky(state);
    fetch(state.counts.data(), state.pipeline.arrays().counts, 1, stream);
}

/// Makes memory for the frame's arrays and pictures.
void prepare(CudaState& state, const FrameLimits& limits) {
    const Stream& stream = *state.stream;
    state.picture.resize(limits, stream);
    if (state.measures)
        state.picture.view.costs =
            state.costs.start(static_cast<std::size_t>(limits.tiles), state.model.count, stream);
    state.pipeline.prepare(limits);
}

/// One array of a result, and where it lies on the device.
struct Fetched {
    void* to;
    const void* from;
    std::size_t bytes;
};
/// Copies into memory that is not page-locked make the host wait and go at a fraction of the bus: a
/// picture lands in a page-locked block and is copied on from there, by all threads.
void fetch_picture(CudaState& state, std::span<const Fetched> parts) {
    constexpr std::size_t kPiece = 1 << 20;
    std::size_t bytes = 0;
    for (const Fetched& part : parts) bytes += part.bytes;
    if (!state.landing || state.landing->size() < bytes) {
        state.landing.reset();
        state.landing =
            std::make_unique<PinnedBuffer<std::byte>>(bytes, "pictures on their way to the host");
    }
    std::byte* at = state.landing->data();
    struct Piece {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
    };
    std::vector<Piece> pieces;
    for (const Fetched& part : parts) {
        copy_to_host(at, part.from, part.bytes, *state.stream);
        for (std::size_t i = 0; i < part.bytes; i += kPiece)
            pieces.push_back(
                {static_cast<std::byte*>(part.to) + i, at + i, std::min(kPiece, part.bytes - i)});
        at += part.bytes;
    }
    state.stream->synchronize();
    parallel_for(pieces.size(), 1, [&](std::size_t i) {
        std::memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
    });
}

/// The capacity for a frame that sees at least `needed` Gaussians; one that can never fit is an
/// error.
std::uint32_t grown(std::uint32_t needed, std::uint32_t current) {
    if (needed <= current) return current;
    if (needed > kMaxCapacity)
        throw FrameTooLarge(
            fmt::format("a frame of more than {} visible Gaussians is more than this device is "
                        "given",
                        kMaxCapacity));
    return capacity_for(needed, current);
}

/// Lowers the space for lists to what the device's free memory holds. True: it had to.
bool fit_lists(const CudaState& state, FrameLimits& limits) {
    const Result<CudaMemory> memory = cuda_memory(state.device);
    if (!memory) return false;
    const std::uint64_t free = memory->free_bytes + state.pipeline.bytes(),
                        needed = frame_bytes(limits);
    if (needed <= free) return false;
    FrameLimits none = limits;
    none.isects = 0;
    const std::uint64_t rest = frame_bytes(none), each = (needed - rest) / limits.isects + 1;
    const std::uint64_t fit = pairs_that_fit(free - std::min(free, rest), each);
    if (fit >= limits.isects) return false;
    limits.isects = static_cast<std::uint32_t>(fit);
    return true;
}

/// Space for the lists of a frame that has `isects`: for all of them, where that may be and the
/// device's memory has it; else for a group.
void grow_lists(CudaState& state, std::uint32_t isects, const RenderOptions& options,
                FrameLimits& limits) {
    const std::uint32_t most = most_isects(options);
    state.in_groups = isects > most;
    limits.isects = isects > most             ? most
                    : isects <= limits.isects ? limits.isects
                                              : std::min(capacity_for(isects, limits.isects), most);
    if (fit_lists(state, limits)) state.in_groups = limits.isects < isects;
}

}  // namespace

FrameLimits limits_of(const CudaState& state, const Camera& camera, const RenderOptions& options) {
    FrameLimits limits = FramePipeline::limits_of(camera, options);
    limits.gaussians = state.model.count;
    limits.gradients = options.gradients;
    limits.depth = options.depth;
    limits.median_depth = options.median_depth;
    limits.counters = options.counters;
    // The first frame may see everything; how often each will be listed is a guess.
    limits.visible =
        state.visible_capacity.known() ? state.visible_capacity.now() : stepped(state.model.count);
    limits.isects = state.isect_capacity.known() ? state.isect_capacity.now()
                                                 : stepped(std::uint64_t{state.model.count} * 4);
    limits.isects = std::min(limits.isects, most_isects(options));
    if (!state.isect_capacity.known()) fit_lists(state, limits);
    return limits;
}

void grow(CudaState& state, const RenderOptions& options, FrameLimits& limits) {
    const FrameCounts& counts = state.counts[0];
    limits.visible = grown(counts.visible, limits.visible);
    if (!state.in_groups) grow_lists(state, counts.isects, options, limits);
}

void enqueue_for_display(CudaState& state, const FrameLimits& limits, const Camera& camera,
                         StageTimers& timers) {
    prepare(state, limits);
    if (state.in_groups) return enqueue_groups(state, limits, camera);
    const bool timed = state.shown++ % kTimedEvery == 0;
    if (!timed && !state.measures) {
        timers.enable(false);
        const bool done = state.graphs.run(
            {limits, state.pipeline.arrays().constants, state.counts.data(), state.pipeline.bytes(),
             state.model, state.tint, state.colors, state.picture.view},
            [&] { enqueue_kernels(state); });
        timers.enable(true);
        if (done) return;
    }
    enqueue_kernels(state);
}

void draw(CudaState& state, const FrameLimits& limits, const Camera& camera, RenderResult& result) {
    prepare(state, limits);
    state.in_groups ? enqueue_groups(state, limits, camera) : enqueue_kernels(state);
    const PictureView& view = state.picture.view;
    std::vector<Fetched> parts;
    const auto take = [&](auto& to, const auto* from) {
        if (from != nullptr && to.size() > 0)
            parts.push_back({to.data(), from, to.size() * sizeof(*from)});
    };
    take(result.color.values, view.color);
    take(result.alpha.values, view.alpha);
    take(result.depth.values, view.depth);
    take(result.median_depth.values, view.median_depth);
    take(result.isects_per_tile, view.isects_per_tile);
    if (limits.counters) take(result.contributors, view.contributors);
    take(result.pairs_per_tile, view.pairs_per_tile);
    fetch_picture(state, parts);
}

}  // namespace gs::cuda
