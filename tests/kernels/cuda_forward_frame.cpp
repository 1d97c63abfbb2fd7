#include "tests/kernels/cuda_forward_frame.h"

namespace gs::test {

cuda::FrameLimits ForwardFrame::roomy(const GaussianModel& model, const Camera& camera,
                                      const RenderOptions& options, std::uint32_t isects_each) {
    cuda::FrameLimits limits = cuda::FramePipeline::limits_of(camera, options);
    limits.gaussians = limits.visible = static_cast<std::uint32_t>(model.count);
    limits.isects = limits.visible * isects_each;
    limits.gradients = options.gradients;
    limits.depth = options.depth;
    limits.median_depth = options.median_depth;
    limits.counters = options.counters;
    return limits;
}

ForwardFrame::ForwardFrame(const GaussianModel& model, const Camera& camera,
                           const RenderOptions& options, const cuda::FrameLimits& wanted)
    : limits(wanted),
      constants(cuda::FramePipeline::constants_of(camera, options, model.sh_degree)) {
    model_.upload(model.values.span(), model.capacity, model.count, model.sh_degree, {}, stream);
    planes_.resize_discard(6 * pixels(), stream);
    contributors_.resize_discard(pixels(), stream);
    per_tile_.resize_discard(2 * static_cast<std::size_t>(limits.tiles), stream);
    cuda::fill_bytes(planes_.data(), 0x7f, 6 * pixels() * sizeof(float), stream);
    picture.color = planes_.data();
    picture.alpha = planes_.data() + 3 * pixels();
    picture.depth = limits.depth ? planes_.data() + 4 * pixels() : nullptr;
    picture.median_depth = limits.median_depth ? planes_.data() + 5 * pixels() : nullptr;
    picture.contributors = limits.counters ? contributors_.data() : nullptr;
    picture.isects_per_tile = per_tile_.data();
    picture.pairs_per_tile = limits.counters ? per_tile_.data() + limits.tiles : nullptr;
}

void ForwardFrame::bin(const cuda::ModelView& model) {
    pipeline.prepare(limits);
    cuda::copy_to_device(pipeline.arrays().constants, &constants, sizeof(constants), stream);
    pipeline.project(model);
    pipeline.list_tiles();
}

void ForwardFrame::blend() { pipeline.blend(picture); }

}  // namespace gs::test
