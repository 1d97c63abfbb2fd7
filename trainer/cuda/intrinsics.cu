#include "trainer/cuda/intrinsics.h"

#include "renderer/math/lens_intrinsics.h"
#include "renderer/raster/cuda/block_sum.cuh"
#include "renderer/raster/cuda/project_backward.cuh"

namespace gs::cuda {
namespace {

struct IntrinsicsParams {
    FrameArrays frame;
    ModelView model;
    double* sums;  ///< [kLensNumbers][chunks]
    std::uint32_t chunks;
    StepResult* result;
};

template <class Camera, class Reader>
GS_DEVICE math::LensGradient<float> of_gaussian(const FrameConstants& c, const Reader& reader,
                                                const SplatSums& sums) {
    const Camera& camera = camera_of<Camera>(c);
    const Vec3f mean = reader.mean();
    const Vec3f stored = reader.scale(c.scale_modifier);
    const Quatf quat = reader.quat();
    const Vec3f scale = drawn_scale(c, reader, stored);
    const auto projected = math::trace(camera, mean, scale, quat).projection;
    const ImageGradient v = image_gradient(c, projected, sums);
    return math::intrinsics_vjp(camera, projected, scale, quat, v.mean, v.cov);
}

/// A block per chunk, a thread per slot. `kCoded`: moments are in 16 bits.
template <class Camera, bool kCoded>
GS_DEVICE void sum_chunk(const IntrinsicsParams& p) {
    GS_SHARED(std::uint32_t, long_runs, kChunk / kWarp);
    GS_SHARED(RowRun, runs, kChunk);
    GS_SHARED(SplatSums, partial_sums, 2 * kChunk / kWarp);
    GS_SHARED(std::uint32_t, constants, kConstantWords<Camera>);
    GS_SHARED(double, partial, kChunk);
    if (p.frame.counts->overflow != 0) return;
    const FrameConstants& c =
        share_constants<kChunk, Camera>(p.frame.constants, constants);  // sum_long_runs waits
    const bool used = threadIdx.x < p.frame.chunk_slots[blockIdx.x];
    const std::uint32_t slot = blockIdx.x * kChunk + threadIdx.x;
    RowRun mine{0, 0};
    if (used) mine = {p.frame.first_emission[slot], p.frame.isects_of_slot[slot]};
    const GradientTable table{p.frame.isect_gradients, p.frame.live_rows};
    SplatSums sums = sum_rows(table, mine);
    sum_long_runs(table, mine, sums, long_runs, runs, partial_sums);
    math::LensGradient<float> gradient{};
    if (used)
        gradient = of_gaussian<Camera>(
            c, ModelReader<true, kCoded>(p.model, p.frame.gaussian_from_slot[slot]), sums);
    for (std::uint32_t k = 0; k < math::kLensNumbers; ++k) {
        const double sum = block_sum<kChunk>(static_cast<double>(gradient.v[k]), partial);
        if (threadIdx.x == 0) p.sums[k * p.chunks + blockIdx.x] = sum;
    }
}
template <bool kCoded>
GS_KERNEL(kChunk, 2)
void sum_intrinsics(IntrinsicsParams p) {
    sum_chunk<math::Pinhole<float>, kCoded>(p);
}
template <bool kCoded>
GS_KERNEL(kChunk, 1)
void sum_intrinsics_lens(IntrinsicsParams p) {
    sum_chunk<math::LensCamera<float>, kCoded>(p);
}

/// One block.
GS_KERNEL(kChunk, 1) void add_intrinsics(IntrinsicsParams p) {
    GS_SHARED(double, partial, kChunk);
    const std::uint32_t chunks = p.frame.counts->overflow != 0 ? 0 : p.chunks;
    for (std::uint32_t k = 0; k < math::kLensNumbers; ++k) {
        double total = 0;
        for (std::uint32_t chunk = threadIdx.x; chunk < chunks; chunk += kChunk)
            total += p.sums[k * p.chunks + chunk];
        total = block_sum<kChunk>(total, partial);
        if (threadIdx.x == 0) p.result->intrinsics[k] = total;
    }
}

}  // namespace

void launch_intrinsics(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                       const ModelView& model, double* sums, StepResult* result) {
    const IntrinsicsParams params{frame, model, sums, limits.chunks(), result};
    using Kernel = void (*)(IntrinsicsParams);
    static constexpr Kernel kernels[2][2] = {
        {sum_intrinsics<false>, sum_intrinsics<true>},
        {sum_intrinsics_lens<false>, sum_intrinsics_lens<true>}};
    launch(stream, "intrinsics", Grid{limits.chunks(), kChunk},
           kernels[limits.lens][model.lazy.coded()], params);
    launch(stream, "add_intrinsics", Grid{1, kChunk}, add_intrinsics, params);
}

}  // namespace gs::cuda
