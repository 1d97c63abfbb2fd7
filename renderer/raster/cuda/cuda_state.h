// The state of CudaRasterizer between its calls, and how one frame is enqueued: in one pass, in
// groups of tiles, or as a recorded picture for the screen. Private to raster/cuda.
#pragma once

#include <memory>

#include "renderer/device/cuda/recorded_work.h"
#include "renderer/raster/cuda/device_costs.h"
#include "renderer/raster/cuda/device_model.h"
#include "renderer/raster/cuda/device_tint.h"
#include "renderer/raster/cuda/frame_limits.h"
#include "renderer/raster/cuda/frame_picture.h"
#include "renderer/raster/cuda/pipeline.h"

namespace gs::cuda {

/// Everything the kernels of a picture for the screen were given when it was recorded.
struct FrameShape {
    FrameLimits limits;
    const void *frame = nullptr, *counts = nullptr;
    std::size_t frame_bytes = 0;  ///< changes when memory does
    ModelView model;
    TintView tint;
    HalfColors colors;
    PictureView picture;
    bool operator==(const FrameShape&) const = default;
};
/// Stages inside a recorded frame cannot be timed: that often one is enqueued kernel by kernel.
constexpr std::uint64_t kTimedEvery = 8;

struct CudaState final : ForwardState {
    explicit CudaState(std::shared_ptr<const Stream> s)
        : stream(std::move(s)), pipeline(*stream), graphs(*stream, "frames") {}
    ~CudaState() override { (void)choose_device(device); }
    std::size_t bytes() const override {
        return pipeline.bytes() + picture.bytes() + copied.bytes() +
               device_tint.words.capacity_bytes() + costs.bytes() + backward.bytes() +
               pixel_gradients.capacity_bytes() + gradients.capacity_bytes();
    }

    std::size_t high_water() const override { return pipeline.high_water(); }
    const BlendCosts& backward_costs() const override { return backward; }

    const int device = device_in_use();
    std::shared_ptr<const Stream> stream;
    FramePipeline pipeline;
    FramePicture picture;
    CopiedSource copied;
    ModelView model;  ///< of the last forward()
    DeviceTint device_tint;
    TintView tint;          ///< the same
    HalfColors colors;      ///< the same; none: the model's own
    bool measures = false;  ///< the same, its costs
    DeviceCosts costs;
    BlendCosts backward;
    PinnedBuffer<FrameConstants> constants{1, "constants of a frame"};
    PinnedBuffer<FrameCounts> counts{1, "counts of a frame"};
    std::unique_ptr<PinnedBuffer<std::byte>> landing;  ///< where pictures arrive on the host
    Capacity visible_capacity, isect_capacity;         ///< what the next frame will be given
    bool in_groups = false;                            ///< the last frame did not fit one pass
    RecordedWork<FrameShape> graphs;                   ///< of pictures for the screen
    std::uint64_t shown = 0;                           ///< such pictures so far
    DeviceBuffer<float> pixel_gradients{"gradients of a picture"};
    DeviceBuffer<float> gradients{"gradients of Gaussians"};
    Buffer<float> host_gradients;
};

template <class T>
void fetch(T* to, const T* from, std::size_t count, const Stream& stream) {
    if (count > 0) copy_to_host(to, from, count * sizeof(T), stream);
}

/// The sizes that the first attempt at a frame gets: by what frames before it needed.
FrameLimits limits_of(const CudaState& state, const Camera& camera, const RenderOptions& options);
/// The sizes of the next attempt, after one with `limits` that did not fit: all of the frame, where
/// that may be and the device's memory has it; else groups of tiles.
void grow(CudaState& state, const RenderOptions& options, FrameLimits& limits);

/// Enqueues the frame and its download, and waits.
void draw(CudaState& state, const FrameLimits& limits, const Camera& camera, RenderResult& result);
/// Enqueues a frame whose result stays on the device; replayed, where others were like it.
void enqueue_for_display(CudaState& state, const FrameLimits& limits, const Camera& camera,
                         StageTimers& timers);

}  // namespace gs::cuda
