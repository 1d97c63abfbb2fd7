// Colours of flat arrays of spherical harmonics, in double.
#include "renderer/raster/tensor_shading.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace gs::tensor {
namespace {

std::vector<Centre> centres_of(const ShadeInput& in) {
    std::vector<Centre> out;
    for (std::size_t view = 0; view < in.sizes.views(); ++view)
        out.push_back(centre_of(in.viewmats + 16 * view));
    return out;
}

/// One Gaussian through all cameras of its batch; `v_centres` [camera] are added to.
void row_vjp(const ShadeInput& in, const std::vector<Centre>& centres, std::size_t batch,
             std::size_t i, const float* v_colors, const ShadeGradients& out, Vec3d* v_centres) {
    const std::size_t n = in.sizes.gaussians, cameras = in.sizes.cameras, row = batch * n + i;
    double v_sh[48] = {};
    Vec3d v_mean{};
    for (std::size_t camera = 0; camera < cameras; ++camera) {
        const std::size_t view = batch * cameras + camera, e = view * n + i;
        if (in.by_view) std::fill(std::begin(v_sh), std::end(v_sh), 0.0);
        if (is_seen(in, e)) {
            const Vec3d v_ray =
                shaded_vjp(in, shaded(in, row, centres[view].at, e), v_colors + 3 * e, v_sh);
            v_mean += v_ray;
            v_centres[camera] += -v_ray;
        }
        if (in.by_view && out.coefficients != nullptr)
            put_coefficients(in, v_sh, out.coefficients + e * in.bases * 3);
    }
    if (!in.by_view && out.coefficients != nullptr)
        put_coefficients(in, v_sh, out.coefficients + row * in.bases * 3);
    put_mean(out, row, v_mean);
}

}  // namespace

void shade(const ShadeInput& in, float* colors) {
    const std::vector<Centre> centres = centres_of(in);
    parallel_for(in.sizes.entries(), kPart, [&](std::size_t e) {
        shade_entry(in, centres[view_of_entry(in.sizes, e)].at, e, colors);
    });
}

void shade_vjp(const ShadeInput& in, const float* v_colors, const ShadeGradients& out) {
    const std::size_t n = in.sizes.gaussians, cameras = in.sizes.cameras,
                      parts = (n + kPart - 1) / kPart;
    const std::vector<Centre> centres = centres_of(in);
    std::vector<Vec3d> sums(in.sizes.batches * parts * cameras);  // [batch][part][camera]
    parallel_for(in.sizes.batches * parts, 1, [&](std::size_t task) {
        const std::size_t begin = task % parts * kPart;
        for (std::size_t i = begin; i < std::min(n, begin + kPart); ++i)
            row_vjp(in, centres, task / parts, i, v_colors, out, &sums[task * cameras]);
    });
    if (out.viewmats == nullptr) return;
    for (std::size_t view = 0; view < in.sizes.views(); ++view) {
        Vec3d sum{};
        for (std::size_t part = 0; part < parts; ++part)
            sum += sums[(view / cameras * parts + part) * cameras + view % cameras];
        put_view(centres[view], sum, out.viewmats + 16 * view);
    }
}

}  // namespace gs::tensor
