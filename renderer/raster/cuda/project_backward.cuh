// Projection backward: sums over pixels of each visible Gaussian back through conic, projection and
// spherical harmonics to its parameters, which a sink takes while they are in registers. A block
// per chunk, a thread per slot.
//
// A Sink is a small trivially copyable struct, a kernel parameter, with
//     GS_DEVICE void take(const ModelView& model, std::uint32_t gaussian, const GaussianGradient&
//     gradient) const;
// called at most once a Gaussian and frame, by the thread that has it, for visible ones only and in
// no order; other lanes of the warp may be elsewhere, so it uses no warp collective. It may write
// what belongs to that Gaussian, the model included: everything of it that projection backward
// needs has been read. Values may be NaN or infinite where parameters are absurd. basis[k] is 0
// above the degree in use. In a frame that overflowed nothing is called. Launch with
// launch_project_backward().
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/math/sh.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "renderer/raster/cuda/project_backward.h"
#include "renderer/raster/cuda/row_sums.cuh"
#include "renderer/raster/cuda/shared_constants.cuh"

namespace gs::cuda {

template <class Sink>
struct ProjectBackwardParams {
    FrameArrays frame;  ///< after blend backward
    ModelView model;    ///< unchanged since project
    Sink sink;
    GradientRows rows = GradientRows::all;
};

/// Colour: SH basis and the gradient before the clamp into `out`; the mean's gradient through the
/// view direction is the result. What was clamped is known from the splat, so each coefficient is
/// read once, for that gradient, and those of one degree together; degree 0 has no direction.
template <bool kLazy>
GS_DEVICE Vec3f shade_backward(const FrameConstants& c, const ModelReader<kLazy>& reader,
                               Vec3f mean, Vec3f shown, Vec3f v_color, GaussianGradient& out) {
    const Vec3f ray = mean - c.ray_origin, direction = math::normalize(ray);
    GS_UNROLL
    for (int k = 1; k < 16; ++k) out.basis[k] = 0.0f;
    math::sh_basis(c.sh_degree, direction, out.basis);
    const Vec3f v{signbit(shown.x) ? 0.0f : v_color.x, signbit(shown.y) ? 0.0f : v_color.y,
                  signbit(shown.z) ? 0.0f : v_color.z};
    out.color[0] = v.x;
    out.color[1] = v.y;
    out.color[2] = v.z;
    float v_basis[16];
    GS_UNROLL
    for (int degree = 1; degree < 4; ++degree) {
        if (degree > c.sh_degree) break;
        GS_UNROLL
        for (int k = degree * degree; k < sh_bases(degree); ++k) v_basis[k] = dot(reader.sh(k), v);
    }
    return math::normalize_vjp(ray, math::sh_basis_vjp(c.sh_degree, direction, v_basis));
}

template <bool kLazy>
GS_DEVICE void gaussian_gradient(const FrameConstants& c, const ModelReader<kLazy>& reader,
                                 const Splat& splat, const SplatSums& sums, GaussianGradient& out) {
    const Vec3f mean = reader.mean(), scale = reader.scale(c.scale_modifier);
    const Quatf quat = reader.quat();
    const float logit = reader.opacity_logit();
    const Vec3f shown{splat.red, splat.green, splat.blue};
    const auto projected = math::project(c.camera, mean, scale, quat);
    const auto conic = math::conic_of(projected.cov, projected.det, c.blur);

    // ln alpha = ln opacity - 0.5 (xx dx^2 + yy dy^2) - xy dx dy, d = pixel - mean.
    const float s = sums.a.x, sx = sums.a.y, sy = sums.a.z;
    const Vec2<float> v_mean2d{conic.inverse.xx * sx + conic.inverse.xy * sy,
                               conic.inverse.xy * sx + conic.inverse.yy * sy};
    const Sym2<float> v_conic{-0.5f * sums.a.w, -sums.b.x, -0.5f * sums.b.y};
    const float v_compensation = c.antialiased != 0 ? s / conic.compensation : 0.0f;
    const auto v_cov =
        math::conic_of_vjp(projected.cov, projected.det, c.blur, v_conic, v_compensation);
    const auto g = math::project_vjp(c.camera, mean, scale, quat, v_mean2d, v_cov, sums.c.y);
    out.geometry[kLogScales] = g.scale.x * scale.x;
    out.geometry[kLogScales + 1] = g.scale.y * scale.y;
    out.geometry[kLogScales + 2] = g.scale.z * scale.z;
    out.geometry[kQuats] = g.quat.w;
    out.geometry[kQuats + 1] = g.quat.x;
    out.geometry[kQuats + 2] = g.quat.y;
    out.geometry[kQuats + 3] = g.quat.z;
    out.geometry[kOpacityLogits] = s * (1.0f - math::sigmoid(logit));
    out.mean2d[0] = v_mean2d.x;
    out.mean2d[1] = v_mean2d.y;
    out.radius_px = 3.0f * math::sqrt(math::max(projected.cov.xx, projected.cov.yy) + c.blur);

    const Vec3f through_color =
        shade_backward(c, reader, mean, shown, {sums.b.z, sums.b.w, sums.c.x}, out);
    out.geometry[kMeans] = g.mean.x + through_color.x;
    out.geometry[kMeans + 1] = g.mean.y + through_color.y;
    out.geometry[kMeans + 2] = g.mean.z + through_color.z;
}

template <class Sink, bool kLazy>
GS_KERNEL(kChunk, 2)
void project_backward(ProjectBackwardParams<Sink> p) {
    GS_SHARED(std::uint32_t, long_runs, kChunk / kWarp);
    GS_SHARED(RowRun, runs, kChunk);
    GS_SHARED(SplatSums, partial_sums, 2 * kChunk / kWarp);
    GS_SHARED(std::uint32_t, constants, kConstantWords);
    if (p.frame.counts->overflow != 0) return;
    const FrameConstants& c = share_constants(p.frame.constants, constants);  // sum_long_runs waits
    const bool used = threadIdx.x < p.frame.chunk_slots[blockIdx.x];
    const std::uint32_t slot = blockIdx.x * kChunk + threadIdx.x;
    RowRun mine{0, 0};
    if (used) mine = {p.frame.first_emission[slot], p.frame.isects_of_slot[slot]};
    if (p.rows == GradientRows::first) mine.count = mine.count > 0 ? 1 : 0;
    SplatSums sums = sum_rows(p.frame.isect_gradients, mine);
    sum_long_runs(p.frame.isect_gradients, mine, sums, long_runs, runs, partial_sums);
    if (!used) return;
    const std::uint32_t gaussian = p.frame.gaussian_from_slot[slot];
    GaussianGradient gradient;
    gaussian_gradient(c, ModelReader<kLazy>(p.model, gaussian), p.frame.splats[slot], sums,
                      gradient);
    p.sink.take(p.model, gaussian, gradient);
}

/// `name` as for launch(). Reads through the optimizer where the model has one.
template <class Sink>
void launch_project_backward(const Stream& stream, const char* name, const FrameLimits& limits,
                             ProjectBackwardParams<Sink> params) {
    const Grid grid{limits.chunks(), kChunk};
    if (params.model.lazy.moments != nullptr)
        launch(stream, name, grid, project_backward<Sink, true>, params);
    else
        launch(stream, name, grid, project_backward<Sink, false>, params);
}

}  // namespace gs::cuda
