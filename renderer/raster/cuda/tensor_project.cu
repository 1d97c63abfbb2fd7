// Projection of flat arrays and its backward by the bodies of tensor_entry.h: a thread an entry
// forward, a thread a Gaussian backward, through every camera in turn. Sums of a view's gradients
// go by blocks of Gaussians, then over the blocks in their order.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/block_sum.cuh"
#include "renderer/raster/cuda/tensor_stages.h"
#include "renderer/raster/tensor_entry.h"

namespace gs::cuda {
namespace {

using namespace tensor;

constexpr std::uint32_t kEntryThreads = 128, kRowThreads = kPart, kViewThreads = 128;

/// The cameras of a call.
struct Views {
    View bare;         ///< what all of them share, where
    const View* made;  ///< this is null; else [view]
};
GS_DEVICE View view_at(const ProjectInput& in, const Views& views, std::size_t view) {
    if (views.made != nullptr) return views.made[view];
    View out = views.bare;
    place_view(in, view, !in.unscented, out);
    return out;
}

struct EntriesParams {
    ProjectInput in;
    ProjectOutput out;
    Views views;
};
template <bool kUnscented>
GS_KERNEL(kEntryThreads, 1)
void project_entries(EntriesParams p) {
    const std::size_t e = std::size_t{blockIdx.x} * kEntryThreads + threadIdx.x;
    if (e >= p.in.sizes.entries()) return;
    ProjectInput in = p.in;
    in.unscented = kUnscented;  // known when compiling
    project_entry(in, view_at(in, p.views, view_of_entry(in.sizes, e)), e, p.out);
}

struct RowsParams {
    ViewSums* sums;  ///< [batch][part][camera]
    ProjectInput in;
    const std::int32_t* radii;
    ProjectSeeds seeds;
    ProjectGradients out;
    Views views;
    std::uint32_t parts;
};
template <bool kUnscented>
GS_KERNEL(kRowThreads, 1)
void project_rows_vjp(RowsParams p) {
    GS_SHARED(double, shared, kRowThreads);
    ProjectInput in = p.in;
    in.unscented = kUnscented;
    const std::size_t batch = blockIdx.x / p.parts, n = in.sizes.gaussians,
                      i = std::size_t{blockIdx.x % p.parts} * kRowThreads + threadIdx.x,
                      row = batch * n + i;
    RowSums sums;
    for (std::size_t camera = 0; camera < in.sizes.cameras; ++camera) {
        const std::size_t view = batch * in.sizes.cameras + camera, e = view * n + i;
        ViewSums of_view;
        if (i < n && p.radii[2 * e] > 0 && p.radii[2 * e + 1] > 0)
            entry_vjp(in, view_at(in, p.views, view), row, e, p.seeds, sums,
                      p.out.viewmats != nullptr ? &of_view : nullptr);
        if (p.out.viewmats == nullptr) continue;
        ViewSums& to = p.sums[std::size_t{blockIdx.x} * in.sizes.cameras + camera];
        for (int k = 0; k < 12; ++k) {
            const double sum = block_sum<kRowThreads>(of_view.m[k], shared);
            if (threadIdx.x == 0) to.m[k] = sum;
        }
    }
    if (i < n) put_row(p.out, row, sums);
}

struct ViewRowsParams {
    Sizes sizes;
    std::uint32_t parts;
    const ViewSums* sums;
    float* viewmats;
};
/// A thread a number of a matrix.
GS_KERNEL(kViewThreads, 1) void add_view_rows(ViewRowsParams p) {
    const std::size_t at = std::size_t{blockIdx.x} * kViewThreads + threadIdx.x, view = at / 16,
                      k = at % 16, cameras = p.sizes.cameras;
    if (view >= p.sizes.views()) return;
    double sum = 0;
    for (std::size_t part = 0; k < 12 && part < p.parts; ++part)
        sum += p.sums[(view / cameras * p.parts + part) * cameras + view % cameras].m[k];
    p.viewmats[at] = static_cast<float>(sum);
}

/// Distortion and rolling shutters are worked out on the host, from copies.
struct HostCameras {
    std::vector<float> viewmats, Ks, distortion, viewmats_rs;
    CameraInput in;
    HostCameras(const Stream& stream, const CameraInput& from, std::size_t views) : in(from) {
        const auto read = [&](std::vector<float>& to, const float*& array, std::size_t each) {
            if (array == nullptr) return;
            to.resize(views * each);
            copy_to_host(to.data(), array, to.size() * sizeof(float), stream);
            array = to.data();
        };
        read(viewmats, in.viewmats, 16);
        read(Ks, in.Ks, 9);
        read(distortion, in.distortion, 12);
        read(viewmats_rs, in.viewmats_rs, 16);
        stream.synchronize();
    }
};
/// `made` keeps what Views points to.
Views views_of(const Stream& stream, const ProjectInput& in, DeviceBuffer<View>& made) {
    if (in.distortion == nullptr && in.shutter == Shutter::global)
        return {bare_view(in, 0), nullptr};
    const HostCameras host(stream, in, in.sizes.views());
    made.upload(tensor::views_of(host.in, in.sizes.views(), !in.unscented), stream);
    stream.synchronize();  // until then the copy may read what is about to go
    return {{}, made.data()};
}

}  // namespace

void project_tensors(const Stream& stream, const ProjectInput& in, const ProjectOutput& out) {
    DeviceBuffer<View> made("cameras", &stream);
    const EntriesParams params{in, out, views_of(stream, in, made)};
    launch(stream, "project tensors", grid_for(in.sizes.entries(), kEntryThreads),
           in.unscented ? project_entries<true> : project_entries<false>, params);
}

void project_tensors_vjp(const Stream& stream, const ProjectInput& in, const std::int32_t* radii,
                         const ProjectSeeds& seeds, const ProjectGradients& out) {
    DeviceBuffer<View> made("cameras", &stream);
    DeviceBuffer<ViewSums> sums("gradients of cameras", &stream);
    const auto parts = static_cast<std::uint32_t>((in.sizes.gaussians + kPart - 1) / kPart);
    const auto blocks = static_cast<std::uint32_t>(in.sizes.batches * parts);
    if (out.viewmats != nullptr) sums.resize_discard(blocks * in.sizes.cameras, stream);
    const RowsParams params{sums.data(), in, radii, seeds, out, views_of(stream, in, made), parts};
    launch(stream, "project tensors backward", {blocks, kRowThreads},
           in.unscented ? project_rows_vjp<true> : project_rows_vjp<false>, params);
    if (out.viewmats != nullptr)
        launch(stream, "gradients of views", grid_for(16 * in.sizes.views(), kViewThreads),
               add_view_rows, ViewRowsParams{in.sizes, parts, sums.data(), out.viewmats});
}

}  // namespace gs::cuda
