// CudaRasterizer: FramePipeline for host results. A frame is enqueued as a whole with its
// downloads, waited for once, and drawn again with more memory when it did not fit.
#include "renderer/raster/cuda/cuda_rasterizer.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/record/scope.h"
#include "renderer/raster/cuda/cuda_state.h"
#include "renderer/raster/cuda/display.h"
#include "renderer/raster/cuda/frame_arrays.h"
#include "renderer/raster/cuda/project_backward.h"
#include "renderer/raster/frame_probe.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace cuda {
namespace {

void say_size(const FrameLimits& limits, RenderResult& result) {
    result.width = limits.width;
    result.height = limits.height;
    result.tiles_x = (limits.width + kTileSize - 1) / kTileSize;
    result.tiles_y = (limits.height + kTileSize - 1) / kTileSize;
}

void size_result(const FrameLimits& limits, RenderResult& result) {
    const std::size_t tiles = static_cast<std::size_t>(limits.tiles);
    say_size(limits, result);
    result.color.resize(limits.width, limits.height, 3);
    result.alpha.resize(limits.width, limits.height, 1);
    if (limits.depth) result.depth.resize(limits.width, limits.height, 1);
    if (limits.median_depth) result.median_depth.resize(limits.width, limits.height, 1);
    if (limits.counters) result.contributors.resize_discard(result.color.pixels());
    result.isects_per_tile.resize_discard(tiles);
    result.pairs_per_tile.resize_discard(tiles);
    result.pairs_per_tile.fill(0);  // counted only when asked for
}

void fill_counters(const FrameCounts& counts, std::size_t gaussians, RenderCounters& out) {
    out = {};
    out.gaussians = gaussians;
    out.candidates = std::min<std::uint64_t>(counts.candidates, gaussians);
    out.visible = counts.visible;
    out.isects = counts.isects;
    out.list_pairs = counts.list_pairs;
    out.evaluated_pairs = counts.evaluated_pairs;
    out.blended_pairs = counts.blended_pairs;
    out.longest_tile = static_cast<int>(counts.longest_tile);
    out.warps = counts.warps;
}

class CudaRasterizer final : public Rasterizer {
  public:
    explicit CudaRasterizer(const CudaDeviceInfo& device)
        : device_(device.index),
          ns_a_cycle_(1e6 / std::max(device.clock_khz, 1)),
          name_(fmt::format("CUDA ({}, sm_{}{})", device.name, device.compute_major,
                            device.compute_minor)) {
        use_device();
        stream_ = std::make_shared<const Stream>("raster");
        timers_ = std::make_unique<StageTimers>(*stream_);
    }
    ~CudaRasterizer() override { (void)choose_device(device_); }
    std::string name() const override { return name_; }
    std::unique_ptr<ForwardState> make_state() const override {
        use_device();
        return std::make_unique<CudaState>(stream_);
    }
    std::unique_ptr<ParameterSource> source_of(const GaussianModel& model,
                                               std::span<const BlockBounds> bounds) override {
        use_device();
        return std::make_unique<DeviceModelSource>(model, bounds, stream_);
    }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& base, RenderResult& result) override;
    std::shared_ptr<const gs::DevicePicture> forward_for_display(ParameterSource& source,
                                                                 const Camera& camera,
                                                                 const RenderOptions& options,
                                                                 ForwardState& base,
                                                                 RenderResult& result) override;
    void backward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                  ForwardState& base, const RenderResult& result, const PixelGradients& gradients,
                  GradientSink& sink) override;
    bool probe(const ForwardState& state, FrameProbe& out) const override;

  private:
    /// Makes the frame ready, and calls `draw_once(limits)`, which waits, until it fits.
    template <class F>
    void draw_until_it_fits(CudaState& state, ParameterSource& source, const Camera& camera,
                            const RenderOptions& options, RenderResult& result, F&& draw_once);
    /// The calling thread may be new, and CUDA's current device is a thread's own.
    void use_device() const { cuda::use_device(device_); }

    int device_;
    double ns_a_cycle_;  // at the device's highest clock
    std::string name_;
    std::shared_ptr<const Stream> stream_;
    std::unique_ptr<StageTimers> timers_;
    std::optional<DisplayPacker> packer_;  // made when first needed
};

template <class F>
void CudaRasterizer::draw_until_it_fits(CudaState& state, ParameterSource& source,
                                        const Camera& camera, const RenderOptions& options,
                                        RenderResult& result, F&& draw_once) {
    check_drawable(camera, options);
    use_device();
    ResidentSource* const resident = dynamic_cast<ResidentSource*>(&source);
    state.model = resident != nullptr ? resident->view() : state.copied.copy(source, *stream_);
    if (!options.sky) state.model.sky = nullptr;
    const bool fast = options.precision == Precision::fast && !options.gradients;
    state.colors = fast && !draws_through_lens(camera, options) && resident != nullptr
                       ? resident->half_colors()
                       : HalfColors{};
    state.measures = options.costs;
    state.tint = state.device_tint.show(options.tint, *stream_);
    state.constants[0] = FramePipeline::constants_of(camera, options, source.sh_degree());
    FrameLimits limits = limits_of(state, camera, options);
    state.pipeline.time(timers_.get());
    state.in_groups = false;
    for (;;) {
        draw_once(limits);
        timers_->poll();
        if (state.counts[0].overflow == 0) break;
        grow(state, options, limits);
    }
    const std::vector<TileGroup>& groups = state.pipeline.groups();
    state.visible_capacity.learn(state.counts[0].visible);
    if (groups.size() <= 1) state.isect_capacity.learn(state.counts[0].isects);
    fill_counters(state.counts[0], source.count(), result.counters);
    if (state.in_groups) result.counters.isects = sum_of_pairs(groups);
    state.in_groups = groups.size() > 1;
}

void CudaRasterizer::forward(ParameterSource& source, const Camera& camera,
                             const RenderOptions& options, ForwardState& base,
                             RenderResult& result) {
    CudaState& state = static_cast<CudaState&>(base);
    draw_until_it_fits(state, source, camera, options, result, [&](const FrameLimits& limits) {
        size_result(limits, result);
        draw(state, limits, camera, result);
    });
    BlendCosts& costs = result.costs;
    costs.tile_ns.resize_discard(0);  // of an earlier frame
    if (!options.costs) return;
    state.costs.fetch(ns_a_cycle_, costs.tile_ns, costs.tile_blended, costs.evaluated,
                      &costs.blended, *stream_);
    costs.tile_evaluated = result.pairs_per_tile;
}

std::shared_ptr<const gs::DevicePicture> CudaRasterizer::forward_for_display(
    ParameterSource& source, const Camera& camera, const RenderOptions& options, ForwardState& base,
    RenderResult& result) {
    CudaState& state = static_cast<CudaState&>(base);
    draw_until_it_fits(state, source, camera, options, result, [&](const FrameLimits& limits) {
        say_size(limits, result);
        enqueue_for_display(state, limits, camera, *timers_);
        state.stream->synchronize();  // whether it fits, and what it took
    });
    if (!packer_) packer_.emplace();
    const Span span(Stage::pack);
    const StageTimer timer(*timers_, Stage::pack);
    return packer_->pack(state.picture.view.color, result.width, result.height, *stream_);
}

PictureGradientView upload(const PixelGradients& gradients, DeviceBuffer<float>& to,
                           const Stream& stream) {
    const std::size_t color = gradients.color.values.size(), alpha = gradients.alpha.values.size(),
                      depth = gradients.depth.values.size();
    to.resize_discard(color + alpha + depth, stream);
    const auto put = [&](const ImageF& from, std::size_t at) -> const float* {
        if (from.values.empty()) return nullptr;
        copy_to_device(to.data() + at, from.values.data(), from.values.size() * sizeof(float),
                       stream);
        return to.data() + at;
    };
    return {put(gradients.color, 0),
            put(gradients.alpha, color),
            put(gradients.depth, color + alpha),
            {},
            false};
}

/// Hands the gradients on in blocks of 16.
void feed(const StoredGradients& g, std::size_t count, GradientSink& sink) {
    parallel_for((count + kBlock - 1) / kBlock, 16, [&](std::size_t block) {
        const std::size_t first = block * kBlock, lanes = std::min(kBlock, count - first);
        BlockGradients out{.block = block};
        for (std::size_t lane = 0; lane < lanes; ++lane)
            if (g.radius_px()[first + lane] != 0.0f) out.mask |= 1u << lane;
        if (out.mask == 0) return;
        const auto take = [&](const float* from, float* to) {
            std::fill_n(to, kBlock, 0.0f);
            std::copy_n(from + first, lanes, to);
        };
        for (int p = 0; p < kMaxPlanes; ++p)
            if (p < g.planes)
                take(g.values + static_cast<std::size_t>(p) * g.stride, out.planes[p]);
            else
                std::fill_n(out.planes[p], kBlock, 0.0f);
        take(g.mean2d(), out.mean2d[0]);
        take(g.mean2d() + g.stride, out.mean2d[1]);
        take(g.radius_px(), out.radius_px);
        for (int i = 0; g.motion && i < 3; ++i) {
            alignas(64) float turn[kBlock];
            take(g.turn() + static_cast<std::size_t>(i) * g.stride, turn);
            out.motion[i] = std::accumulate(turn, turn + kBlock, 0.0f);
            out.motion[3 + i] =
                std::accumulate(out.planes[kMeans + i], out.planes[kMeans + i] + kBlock, 0.0f);
        }
        sink.take(out);
    });
}

void CudaRasterizer::backward(ParameterSource& source, const Camera&, const RenderOptions& options,
                              ForwardState& base, const RenderResult& result,
                              const PixelGradients& gradients, GradientSink& sink) {
    CHECK(options.gradients, "forward() ran without options.gradients");
    CHECK(gradients.depth.values.empty() || options.depth, "depth gradients need a depth picture");
    use_device();
    CudaState& state = static_cast<CudaState&>(base);
    StoredGradients stored{};
    stored.stride = (source.count() + kBlock - 1) / kBlock * kBlock;
    stored.planes = plane_count(state.model.sh_degree);
    stored.motion = options.motion;
    stored.absolute = options.absolute;
    state.gradients.resize_discard(stored.bytes() / sizeof(float), *stream_);
    stored.values = state.gradients.data();
    PictureGradientView uploaded = upload(gradients, state.pixel_gradients, *stream_);
    uploaded.absolute = options.absolute;
    BlendCosts& costs = state.backward;
    costs = {};
    if (options.costs)
        uploaded.costs = state.costs.start(static_cast<std::size_t>(state.pipeline.limits().tiles),
                                           source.count(), *stream_);
    FrameArrays arrays = state.pipeline.arrays();
    if (state.in_groups)
        arrays = state.pipeline.blend_groups_backward(
            state.picture.view,
            state.picture.without_sky(state.model.sky != nullptr, result.color.pixels(), *stream_),
            uploaded);
    else
        state.pipeline.blend_backward(state.picture.view, uploaded);
    if (options.costs)
        state.costs.fetch(ns_a_cycle_, costs.tile_ns, costs.tile_evaluated, costs.evaluated,
                          nullptr, *stream_);
    const Span span(Stage::project_backward);
    {
        const StageTimer timer(*timers_, Stage::project_backward);
        launch_store_gradients(*stream_, state.pipeline.limits(), arrays, state.model, stored);
    }
    state.host_gradients.resize_discard(state.gradients.size());
    fetch(state.host_gradients.data(), state.gradients.data(), state.gradients.size(), *stream_);
    stream_->synchronize();
    timers_->poll();
    stored.values = state.host_gradients.data();
    feed(stored, source.count(), sink);
}

bool CudaRasterizer::probe(const ForwardState& base, FrameProbe& out) const {
    use_device();
    const CudaState& state = static_cast<const CudaState&>(base);
    if (state.in_groups) return false;  // the lists are those of the last group
    const FrameLimits& limits = state.pipeline.limits();
    const FrameArrays& arrays = state.pipeline.arrays();
    const std::size_t slots = std::size_t{limits.chunks()} * kChunk,
                      isects = state.counts[0].isects, visible = state.counts[0].visible;
    Buffer<Splat> splats(slots);
    Buffer<std::uint32_t> rows(slots), used(limits.chunks());
    fetch(used.data(), arrays.chunk_slots, used.size(), *state.stream);
    state.stream->synchronize();
    copy_slots(splats.data(), arrays.splats, used.span(), *state.stream);
    copy_slots(rows.data(), arrays.gaussian_from_slot, used.span(), *state.stream);
    out.tile_begin.resize_discard(static_cast<std::size_t>(limits.tiles) + 1);
    out.row_from_isect.resize_discard(isects);
    fetch(out.tile_begin.data(), arrays.tile_begin, out.tile_begin.size(), *state.stream);
    fetch(out.row_from_isect.data(), arrays.slot_from_isect, isects, *state.stream);
    state.stream->synchronize();
    out.rows.resize_discard(visible);
    out.splats.resize_discard(visible * kSplatPlanes);
    std::size_t i = 0;
    for (std::size_t chunk = 0; chunk < used.size(); ++chunk)
        for (std::size_t slot = chunk * kChunk; slot < chunk * kChunk + used[chunk]; ++slot, ++i) {
            const Splat& s = splats[slot];
            // + 0: the -0 that shown_channel() leaves is for projection backward alone.
            const float planes[kSplatPlanes] = {
                s.x, s.y, s.a, s.b, s.c, s.l, s.red + 0.0f, s.green + 0.0f, s.blue + 0.0f, s.depth};
            out.rows[i] = rows[slot];
            for (std::size_t p = 0; p < kSplatPlanes; ++p) out.splats[p * visible + i] = planes[p];
        }
    CHECK(i == visible, "{} Gaussians in chunks, {} counted", i, visible);
    for (std::uint32_t& isect : out.row_from_isect) isect = rows[isect];
    return true;
}

}  // namespace
}  // namespace cuda

Result<std::unique_ptr<Rasterizer>> make_cuda_rasterizer(int index) {
    const Result<CudaDeviceInfo> device = cuda_device_info(index);
    if (!device) return tl::make_unexpected(device.error());
    return std::unique_ptr<Rasterizer>(std::make_unique<cuda::CudaRasterizer>(*device));
}

}  // namespace gs
