// Colours of flat arrays and their backward by the bodies of tensor_shading.h; threads and sums as
// in tensor_project.cu.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/block_sum.cuh"
#include "renderer/raster/cuda/tensor_stages.h"
#include "renderer/raster/tensor_shading.h"

namespace gs::cuda {
namespace {

using namespace tensor;

constexpr std::uint32_t kEntryThreads = 128, kRowThreads = kPart, kViewThreads = 32;

struct EntriesParams {
    ShadeInput in;
    float* colors;
};
GS_KERNEL(kEntryThreads, 1) void shade_entries(EntriesParams p) {
    const std::size_t e = std::size_t{blockIdx.x} * kEntryThreads + threadIdx.x;
    if (e >= p.in.sizes.entries()) return;
    const float* view = p.in.viewmats + 16 * view_of_entry(p.in.sizes, e);
    shade_entry(p.in, centre_of(view).at, e, p.colors);
}

struct RowsParams {
    Vec3d* sums;  ///< [batch][part][camera] of the camera's centre
    ShadeInput in;
    const float* v_colors;
    ShadeGradients out;
    std::uint32_t parts;
};
GS_KERNEL(kRowThreads, 1) void shade_rows_vjp(RowsParams p) {
    GS_SHARED(double, shared, kRowThreads);
    const ShadeInput& in = p.in;
    const std::size_t batch = blockIdx.x / p.parts, n = in.sizes.gaussians,
                      i = std::size_t{blockIdx.x % p.parts} * kRowThreads + threadIdx.x,
                      row = batch * n + i;
    double v_sh[48] = {};
    Vec3d v_mean{};
    for (std::size_t camera = 0; camera < in.sizes.cameras; ++camera) {
        const std::size_t view = batch * in.sizes.cameras + camera, e = view * n + i;
        Vec3d v_ray{};
        if (in.by_view)
            for (double& v : v_sh) v = 0;
        if (i < n && is_seen(in, e))
            v_ray = shaded_vjp(in, shaded(in, row, centre_of(in.viewmats + 16 * view).at, e),
                               p.v_colors + 3 * e, v_sh);
        v_mean += v_ray;
        if (i < n && in.by_view && p.out.coefficients != nullptr)
            put_coefficients(in, v_sh, p.out.coefficients + e * in.bases * 3);
        if (p.out.viewmats == nullptr) continue;
        const Vec3d sum{block_sum<kRowThreads>(-v_ray.x, shared),
                        block_sum<kRowThreads>(-v_ray.y, shared),
                        block_sum<kRowThreads>(-v_ray.z, shared)};
        if (threadIdx.x == 0) p.sums[std::size_t{blockIdx.x} * in.sizes.cameras + camera] = sum;
    }
    if (i >= n) return;
    if (!in.by_view && p.out.coefficients != nullptr)
        put_coefficients(in, v_sh, p.out.coefficients + row * in.bases * 3);
    put_mean(p.out, row, v_mean);
}

struct CentresParams {
    ShadeInput in;
    std::uint32_t parts;
    const Vec3d* sums;
    float* viewmats;
};
/// A thread a camera.
GS_KERNEL(kViewThreads, 1) void add_centres(CentresParams p) {
    const std::size_t view = std::size_t{blockIdx.x} * kViewThreads + threadIdx.x,
                      cameras = p.in.sizes.cameras;
    if (view >= p.in.sizes.views()) return;
    Vec3d sum{};
    for (std::size_t part = 0; part < p.parts; ++part)
        sum += p.sums[(view / cameras * p.parts + part) * cameras + view % cameras];
    put_view(centre_of(p.in.viewmats + 16 * view), sum, p.viewmats + 16 * view);
}

}  // namespace

void shade_tensors(const Stream& stream, const ShadeInput& in, float* colors) {
    launch(stream, "shade tensors", grid_for(in.sizes.entries(), kEntryThreads), shade_entries,
           EntriesParams{in, colors});
}

void shade_tensors_vjp(const Stream& stream, const ShadeInput& in, const float* v_colors,
                       const ShadeGradients& out) {
    DeviceBuffer<Vec3d> sums("gradients of cameras", &stream);
    const auto parts = static_cast<std::uint32_t>((in.sizes.gaussians + kPart - 1) / kPart);
    const auto blocks = static_cast<std::uint32_t>(in.sizes.batches * parts);
    if (out.viewmats != nullptr) sums.resize_discard(blocks * in.sizes.cameras, stream);
    launch(stream, "shade tensors backward", {blocks, kRowThreads}, shade_rows_vjp,
           RowsParams{sums.data(), in, v_colors, out, parts});
    if (out.viewmats != nullptr)
        launch(stream, "gradients of centres", grid_for(in.sizes.views(), kViewThreads),
               add_centres, CentresParams{in, parts, sums.data(), out.viewmats});
}

}  // namespace gs::cuda
