#include <algorithm>
#include <cmath>
#include <memory>

#include "python/native/checked.h"
#include "renderer/raster/cuda/cuda_tensor_ops.h"

/// A picture's lists, and the sizes of the call that made them.
struct gausscope_lists {
    std::int64_t images, entries;
    std::int32_t width, height, device_type, device;
    std::unique_ptr<const gs::tensor::BlendLists> lists;
};

namespace gs::native {
namespace {

constexpr std::int32_t kMostSide = 65536;  // px
constexpr std::int64_t kMostEntries = 0xffffffff, kMostChannels = 4096;

/// What computes on the call's CUDA device; null: the CPU does.
std::unique_ptr<tensor::CudaOps> cuda_of(const gausscope_call& call) {
    if (call.device_type == GAUSSCOPE_CPU) return nullptr;
    auto ops = tensor::cuda_tensor_ops(call.device, call.stream);
    if (!ops)
        throw Refused{GAUSSCOPE_UNSUPPORTED,
                      fmt::format("CUDA tensors: {}; move them to the CPU", ops.error().message)};
    return std::move(*ops);
}

void check_picture(std::int32_t width, std::int32_t height) {
    require(width > 0 && height > 0 && width <= kMostSide && height <= kMostSide,
            "a picture of {} x {}: each side must be from 1 to {} px", width, height, kMostSide);
}
tensor::Sizes sizes_of(std::int64_t batches, std::int64_t cameras, std::int64_t gaussians) {
    require(product({batches, cameras, gaussians}) <= kMostEntries,
            "{} batches x {} cameras x {} Gaussians are too many", batches, cameras, gaussians);
    return {static_cast<std::size_t>(batches), static_cast<std::size_t>(cameras),
            static_cast<std::size_t>(gaussians)};
}

CameraModel model_of(std::int32_t lens, bool distorted) {
    switch (lens) {
        case GAUSSCOPE_PINHOLE:
            return distorted ? CameraModel::full_opencv : CameraModel::pinhole;
        case GAUSSCOPE_ORTHO:
            require(!distorted, "distortion: an ortho camera has none");
            return CameraModel::orthographic;
        case GAUSSCOPE_FISHEYE:
            return CameraModel::opencv_fisheye;
        case GAUSSCOPE_FTHETA:
            require(distorted, "distortion is missing: an ftheta camera is nothing else");
            return CameraModel::ftheta;
        default:
            throw Refused{GAUSSCOPE_UNSUPPORTED, fmt::format("lens {} is not known", lens)};
    }
}
/// Of the arguments of projecting or of blending along rays.
template <class Args>
void set_cameras(const Args& a, bool bends, tensor::CameraInput& in) {
    const std::int64_t b = a.batches, c = a.cameras;
    check_picture(a.width, a.height);
    in.width = a.width, in.height = a.height;
    in.viewmats = array_of("viewmats", a.viewmats, {b, c, 4, 4});
    in.Ks = array_of("Ks", a.Ks, {b, c, 3, 3});
    in.distortion = optional_array("distortion", a.distortion, {b, c, 12});
    require(a.shutter >= GAUSSCOPE_GLOBAL && a.shutter <= GAUSSCOPE_RIGHT_TO_LEFT,
            "shutter {} is not known", a.shutter);
    in.shutter = static_cast<Shutter>(a.shutter);  // the same order
    if (in.shutter != Shutter::global)
        in.viewmats_rs = array_of("viewmats_rs", a.viewmats_rs, {b, c, 4, 4});
    in.model = model_of(a.lens, in.distortion != nullptr);
    require(bends || (in.distortion == nullptr && in.shutter == Shutter::global),
            "distortion and a rolling shutter need unscented");
}

tensor::ProjectInput project_input(const gausscope_project_args& a) {
    const std::int64_t b = a.batches, c = a.cameras, n = a.gaussians;
    tensor::ProjectInput in{};
    in.sizes = sizes_of(b, c, n);
    set_cameras(a, a.unscented != 0, in);
    require(a.eps2d >= 0 && std::isfinite(a.eps2d), "eps2d is {}, below 0", a.eps2d);
    require(!std::isnan(a.near_plane) && !std::isnan(a.far_plane) && !std::isnan(a.radius_clip),
            "near_plane, far_plane or radius_clip is not a number");
    require(a.least_compensation >= 0 && a.least_compensation <= 1,
            "least_compensation is {}, not from 0 to 1", a.least_compensation);
    in.means = array_of("means", a.means, {b, n, 3});
    in.covars = optional_array("covars", a.covars, {b, n, 6});
    if (in.covars == nullptr) {
        in.quats = array_of("quats", a.quats, {b, n, 4});
        in.scales = array_of("scales", a.scales, {b, n, 3});
    }
    in.opacities = array_of("opacities", a.opacities, {b, n});
    in.unscented = a.unscented != 0;
    require(!in.unscented || in.covars == nullptr, "unscented needs quats and scales, not covars");
    in.near_plane = a.near_plane, in.far_plane = a.far_plane;
    in.radius_clip = a.radius_clip, in.blur = a.eps2d;
    in.antialiased = a.antialiased != 0, in.least_compensation = a.least_compensation;
    return in;
}

tensor::ShadeInput shade_input(const gausscope_shade_args& a) {
    const std::int64_t b = a.batches, c = a.cameras, n = a.gaussians;
    tensor::ShadeInput in{};
    in.sizes = sizes_of(b, c, n);
    require(a.degree >= 0 && a.degree <= 3, "SH degree {}: it must be from 0 to 3", a.degree);
    require(a.bases >= (a.degree + 1) * (a.degree + 1),
            "{} SH coefficients are too few for degree {}", a.bases, a.degree);
    in.degree = a.degree;
    in.bases = static_cast<std::size_t>(a.bases);
    in.by_view = a.by_view != 0;
    in.means = array_of("means", a.means, {b, n, 3});
    in.viewmats = array_of("viewmats", a.viewmats, {b, c, 4, 4});
    in.coefficients =
        array_of("coefficients", a.coefficients, {b, in.by_view ? c : 1, n, a.bases, 3});
    in.radii = array_of<std::int32_t>("radii", a.radii, {b, c, n, 2});
    return in;
}

/// `in` keeps a pointer to `rays`.
void set_rays(const gausscope_blend_args& a, tensor::RayInput& rays, tensor::BlendInput& in) {
    const std::int64_t b = a.batches, c = a.cameras, n = a.gaussians;
    rays.sizes = sizes_of(b, c, n);
    require(a.images == product({b, c}) && a.entries == product({b, c, n}),
            "{} images of {} entries are not those of {} batches x {} cameras x {} Gaussians",
            a.images, a.entries, b, c, n);
    for (std::int64_t i = 0; i < a.images; ++i)
        require(in.first[static_cast<std::size_t>(i)] == i * n,
                "first does not have every image's {} entries", n);
    require(in.radii != nullptr || n == 0, "radii are missing");
    set_cameras(a, true, rays);
    rays.means = array_of("means", a.means, {b, n, 3});
    rays.quats = array_of("quats", a.quats, {b, n, 4});
    rays.scales = array_of("scales", a.scales, {b, n, 3});
    in.rays = &rays;
}
tensor::BlendInput blend_input(const gausscope_blend_args& a, tensor::RayInput& rays) {
    tensor::BlendInput in{};
    check_picture(a.width, a.height);
    require(a.images >= 0 && a.entries >= 0 && a.entries <= kMostEntries, "{} images of {} entries",
            a.images, a.entries);
    require(a.channels >= 1 && a.channels <= kMostChannels, "{} channels: there must be 1 to {}",
            a.channels, kMostChannels);
    require(a.alpha_max > 0 && a.alpha_max < 1, "alpha_max is {}, not between 0 and 1",
            a.alpha_max);
    product({a.images, a.height, a.width, a.channels});
    in.first = {array_of<std::int64_t>("first", a.first, {a.images + 1}),
                static_cast<std::size_t>(a.images) + 1};
    require(in.first.front() == 0 && in.first.back() == a.entries &&
                std::is_sorted(in.first.begin(), in.first.end()),
            "first does not rise from 0 to the {} entries", a.entries);
    in.radii = optional_array<std::int32_t>("radii", a.radii, {a.entries, 2});
    in.means2d = array_of("means2d", a.means2d, {a.entries, 2});
    if (a.along_rays == 0) in.conics = array_of("conics", a.conics, {a.entries, 3});
    in.opacities = array_of("opacities", a.opacities, {a.entries});
    in.depths = array_of("depths", a.depths, {a.entries});
    in.colors = array_of("colors", a.colors, {a.entries, a.channels});
    in.backgrounds = optional_array("backgrounds", a.backgrounds, {a.images, a.channels});
    in.channels = static_cast<std::size_t>(a.channels);
    in.width = a.width, in.height = a.height, in.alpha_max = a.alpha_max;
    if (a.along_rays == 0) return in;
    if (a.call.device_type != GAUSSCOPE_CPU)
        throw Refused{GAUSSCOPE_UNSUPPORTED,
                      "CUDA tensors: blending along rays is on the CPU alone"};
    set_rays(a, rays, in);
    return in;
}

void require_still_poses(const tensor::CameraInput& in, const gausscope_array& v_viewmats) {
    require(in.shutter == Shutter::global || v_viewmats.data == nullptr,
            "v_viewmats: a rolling shutter has no gradient of its poses");
}

void project_vjp(const gausscope_project_args& a) {
    const std::int64_t b = a.batches, c = a.cameras, n = a.gaussians;
    const tensor::ProjectInput in = project_input(a);
    const bool covars = in.covars != nullptr;
    require_still_poses(in, a.v_viewmats);
    const std::int32_t* radii = array_of<std::int32_t>("radii", a.radii, {b, c, n, 2});
    const tensor::ProjectSeeds seeds{optional_array("v_means2d", a.v_means2d, {b, c, n, 2}),
                                     optional_array("v_depths", a.v_depths, {b, c, n}),
                                     optional_array("v_conics", a.v_conics, {b, c, n, 3}),
                                     optional_array("v_compensated", a.v_compensated, {b, c, n})};
    const tensor::ProjectGradients out{
        optional_array("v_means", a.v_means, {b, n, 3}),
        covars ? nullptr : optional_array("v_quats", a.v_quats, {b, n, 4}),
        covars ? nullptr : optional_array("v_scales", a.v_scales, {b, n, 3}),
        covars ? optional_array("v_covars", a.v_covars, {b, n, 6}) : nullptr,
        optional_array("v_opacities", a.v_opacities, {b, n}),
        optional_array("v_viewmats", a.v_viewmats, {b, c, 4, 4})};
    const auto cuda = cuda_of(a.call);
    cuda ? cuda->project_vjp(in, radii, seeds, out) : tensor::project_vjp(in, radii, seeds, out);
}

void blend(gausscope_blend_args& a) {
    tensor::RayInput rays{};
    const tensor::BlendInput in = blend_input(a, rays);
    a.lists = nullptr;
    auto made = std::make_unique<gausscope_lists>();
    *made = {a.images, a.entries, a.width, a.height, a.call.device_type, a.call.device, nullptr};
    float *picture = array_of("picture", a.picture, {a.images, a.height, a.width, a.channels}),
          *alphas = array_of("alphas", a.alphas, {a.images, a.height, a.width});
    const auto cuda = cuda_of(a.call);
    made->lists = cuda ? cuda->blend(in, picture, alphas, a.gradients != 0)
                       : tensor::blend(in, picture, alphas, a.gradients != 0);
    if (made->lists != nullptr) a.lists = made.release();
}

void blend_vjp(const gausscope_blend_args& a) {
    tensor::RayInput rays{};
    const tensor::BlendInput in = blend_input(a, rays);
    require(a.lists != nullptr, "lists are missing: forward was called without gradients");
    const gausscope_lists& l = *a.lists;
    require(l.images == a.images && l.entries == a.entries && l.width == a.width &&
                l.height == a.height && l.device_type == a.call.device_type &&
                l.device == a.call.device,
            "the lists are of another call");
    const std::int64_t e = a.entries, b = a.batches, n = a.gaussians;
    const bool flat = in.rays == nullptr;
    if (!flat) require_still_poses(rays, a.v_viewmats);
    const tensor::BlendSeeds seeds{
        array_of("picture", a.picture, {a.images, a.height, a.width, a.channels}),
        array_of("alphas", a.alphas, {a.images, a.height, a.width}),
        optional_array("v_picture", a.v_picture, {a.images, a.height, a.width, a.channels}),
        optional_array("v_alphas", a.v_alphas, {a.images, a.height, a.width})};
    const tensor::BlendGradients out{
        flat ? array_of("v_means2d", a.v_means2d, {e, 2}) : nullptr,
        flat ? array_of("v_conics", a.v_conics, {e, 3}) : nullptr,
        array_of("v_opacities", a.v_opacities, {e}),
        array_of("v_colors", a.v_colors, {e, a.channels}),
        flat ? optional_array("absolute", a.absolute, {e, 2}) : nullptr,
        flat ? nullptr : optional_array("v_means", a.v_means, {b, n, 3}),
        flat ? nullptr : optional_array("v_quats", a.v_quats, {b, n, 4}),
        flat ? nullptr : optional_array("v_scales", a.v_scales, {b, n, 3}),
        flat ? nullptr : optional_array("v_viewmats", a.v_viewmats, {b, a.cameras, 4, 4})};
    const auto cuda = cuda_of(a.call);
    cuda ? cuda->blend_vjp(in, *l.lists, seeds, out) : tensor::blend_vjp(in, *l.lists, seeds, out);
}

}  // namespace
}  // namespace gs::native

using namespace gs::native;

const char* gausscope_version(void) { return GAUSSCOPE_VERSION; }

int gausscope_project(gausscope_project_args* args) {
    return guarded(args, [&] {
        const std::int64_t b = args->batches, c = args->cameras, n = args->gaussians;
        const gs::tensor::ProjectInput in = project_input(*args);
        const gs::tensor::ProjectOutput out{
            array_of<std::int32_t>("radii", args->radii, {b, c, n, 2}),
            array_of("means2d", args->means2d, {b, c, n, 2}),
            array_of("depths", args->depths, {b, c, n}),
            array_of("conics", args->conics, {b, c, n, 3}),
            array_of("compensated", args->compensated, {b, c, n})};
        const auto cuda = cuda_of(args->call);
        cuda ? cuda->project(in, out) : gs::tensor::project(in, out);
    });
}
int gausscope_project_vjp(gausscope_project_args* args) {
    return guarded(args, [&] { project_vjp(*args); });
}

int gausscope_shade(gausscope_shade_args* args) {
    return guarded(args, [&] {
        const gs::tensor::ShadeInput in = shade_input(*args);
        float* colors =
            array_of("colors", args->colors, {args->batches, args->cameras, args->gaussians, 3});
        const auto cuda = cuda_of(args->call);
        cuda ? cuda->shade(in, colors) : gs::tensor::shade(in, colors);
    });
}
int gausscope_shade_vjp(gausscope_shade_args* args) {
    return guarded(args, [&] {
        const std::int64_t b = args->batches, c = args->cameras, n = args->gaussians;
        const gs::tensor::ShadeInput in = shade_input(*args);
        const float* v_colors = array_of("v_colors", args->v_colors, {b, c, n, 3});
        const gs::tensor::ShadeGradients out{
            optional_array("v_means", args->v_means, {b, n, 3}),
            optional_array("v_viewmats", args->v_viewmats, {b, c, 4, 4}),
            optional_array("v_coefficients", args->v_coefficients,
                           {b, args->by_view != 0 ? c : 1, n, args->bases, 3})};
        const auto cuda = cuda_of(args->call);
        cuda ? cuda->shade_vjp(in, v_colors, out) : gs::tensor::shade_vjp(in, v_colors, out);
    });
}

int gausscope_blend(gausscope_blend_args* args) {
    return guarded(args, [&] { blend(*args); });
}
int gausscope_blend_vjp(gausscope_blend_args* args) {
    return guarded(args, [&] { blend_vjp(*args); });
}
void gausscope_lists_free(gausscope_lists* lists) { delete lists; }
