// FramePipeline: the CUDA stages of one frame, each a method that only enqueues. CudaRasterizer
// strings them together for pictures (cuda_rasterizer.cpp), CudaTraining for steps (trainer/cuda).
// Neither allocates nor waits when limits stay.
#pragma once

#include "renderer/device/cuda/primitives.h"
#include "renderer/device/cuda/runtime.h"
#include "renderer/device/cuda/stage_timer.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/frame_groups.h"
#include "renderer/raster/cuda/half_colors.h"
#include "renderer/raster/cuda/model_view.h"

namespace gs::cuda {

class FramePipeline {
  public:
    explicit FramePipeline(const Stream& stream) : stream_(stream) {}

    /// From now on the stages' GPU time is taken by `timers`, which are the stream's; null: it is
    /// not.
    void time(StageTimers* timers) { timers_ = timers; }

    /// Host side of a frame's constants. The same decisions as the CPU backend's
    /// make_project_params.
    static FrameConstants constants_of(const Camera& camera, const RenderOptions& options,
                                       int model_sh_degree);

    /// Limits that say what of a frame its camera decides: sizes, and what it is projected through.
    static FrameLimits limits_of(const Camera& camera, const RenderOptions& options);

    /// Makes the arrays for `limits`; their content is lost when the limits are others. Grows (and
    /// waits) only when they exceed what was ever asked for.
    void prepare(const FrameLimits& limits);
    const FrameLimits& limits() const { return limits_; }
    const FrameArrays& arrays() const { return arrays_; }

    // ---- each enqueues its kernels; `constants` were written to arrays().constants on this stream
    // before
    void project(const ModelView& model, const TintView& tint = {}, const HalfColors& colors = {});
    /// Sort, emit, sort, ranges: from visible Gaussians to every tile's list, front to back.
    void list_tiles();
    void blend(const PictureView& picture);
    /// After blend() with limits().gradients, same picture; as often as wanted.
    void blend_backward(const PictureView& picture, const PictureGradientView& gradients);
    // project backward is a template on its sink: raster/cuda/project_backward.cuh

    // ---- in groups of tiles, where limits().isects are fewer than the frame has (frame_groups.h)
    /// After project(): cuts the frame into groups of at most limits().isects, but for a tile that
    /// has more alone. Waits. What is left to do is draw_groups(), with space for the fullest.
    const std::vector<TileGroup>& make_groups();
    /// In the place of list_tiles() and blend().
    void draw_groups(const PictureView& picture);
    /// In the place of blend_backward(); project backward takes what it returns. Waits. Draws
    /// again: the colours into `color`.
    FrameArrays blend_groups_backward(const PictureView& picture, float* color,
                                      const PictureGradientView& gradients);
    /// Of the frame that was drawn in groups; none: it was in one pass.
    const std::vector<TileGroup>& groups() const { return groups_.list(); }

    /// Memory between two frames, for callers that use the stream then.
    struct Idle {
        Arena& arena;  ///< of `bytes` or more, nothing of it taken
        Primitives& primitives;
    };
    /// The contents of the frame's arrays are lost; the next prepare() makes new arrays. Grows (and
    /// waits) only beyond what frames and borrowers ever asked for.
    Idle lend(std::size_t bytes);

    std::size_t bytes() const;
    std::size_t high_water() const {
        return arena_.high_water();
    }  ///< most of the arena that was ever in use

  private:
    void list_group(const TileGroup& group);
    void blend_group(const PictureView& picture, const TileGroup& group);

    const Stream& stream_;
    StageTimers* timers_ = nullptr;
    FrameLimits limits_;
    FrameArrays arrays_{};
    Arena arena_{"arrays of a frame"};
    Primitives primitives_;
    FrameGroups groups_;
};

}  // namespace gs::cuda
