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
//
// A sink whose Motion is std::true_type also gets GaussianGradient::turn.
//
// What a Gaussian's SH coefficients get is known before they are read (basis times colour), and the
// direction of view is all they are read for. A sink that reads them itself, to write them at
// once, has a class Update in place of take(): see WholeGradient.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/math/mip_filter.h"
#include "renderer/math/sh.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "renderer/raster/cuda/project_backward.h"
#include "renderer/raster/cuda/row_sums.cuh"
#include "renderer/raster/cuda/shared_constants.cuh"

namespace gs::cuda {

template <class Sink>
inline constexpr bool kWantsMotion = requires {
    requires Sink::Motion::value;
};

/// A sink whose Coded is std::true_type is of models whose moments are in 16 bits.
template <class Sink>
inline constexpr bool kCodedMoments = requires {
    requires Sink::Coded::value;
};

template <class Sink>
struct ProjectBackwardParams {
    FrameArrays frame;  ///< after blend backward
    ModelView model;    ///< unchanged since project
    Sink sink;
};

/// A visible Gaussian on its way to a sink that takes whole gradients, in the hands of its thread.
/// An Update of a Sink has the same functions, called in this order.
template <class Sink, bool kLazy>
struct WholeGradient {
    const Sink& sink;
    const ModelView& model;
    std::uint32_t gaussian;

    /// False: nothing else is asked.
    GS_DEVICE bool wanted() const { return true; }
    /// `gradient` is all there but for what reaches the mean through the colour. False: ends here.
    GS_DEVICE bool begin(const GaussianGradient&) const { return true; }
    /// Highest degree whose coefficients are asked for, not below the one in use.
    GS_DEVICE int degree(int in_use) const { return in_use; }
    /// Of bases kFirst .. kFirst + kCount - 1, r g b each, as they were when the frame was drawn.
    template <int kFirst, int kCount>
    GS_DEVICE void coefficients(const GaussianGradient&, Vec3f (&sh)[kCount]) const {
        const ModelReader<kLazy, kCodedMoments<Sink>> reader(model, gaussian);
        GS_UNROLL
        for (int k = 0; k < kCount; ++k) sh[k] = reader.sh(kFirst + k);
    }
    GS_DEVICE void finish(const GaussianGradient& gradient) const {
        sink.take(model, gaussian, gradient);
    }
};
template <class Sink, bool kLazy>
GS_DEVICE auto update_of(const Sink& sink, const ModelView& model, std::uint32_t gaussian) {
    if constexpr (requires { typename Sink::Update; })
        return typename Sink::Update(sink, model, gaussian);
    else
        return WholeGradient<Sink, kLazy>{sink, model, gaussian};
}

/// Gradients with respect to bases kFirst .. kFirst + kCount - 1, whose coefficients are read at
/// once.
template <int kFirst, int kCount, class Update>
GS_DEVICE void add_bases(const Update& update, const GaussianGradient& gradient,
                         float (&v_basis)[16]) {
    const Vec3f v{gradient.color[0], gradient.color[1], gradient.color[2]};
    Vec3f sh[kCount];
    update.template coefficients<kFirst, kCount>(gradient, sh);
    GS_UNROLL
    for (int k = 0; k < kCount; ++k) v_basis[kFirst + k] = dot(sh[k], v);
}
/// The gradient with respect to the direction of view; `degree` in use. As many coefficients at
/// once as registers hold.
template <class Update>
GS_DEVICE Vec3f through_direction(int degree, Vec3f direction, const Update& update,
                                  const GaussianGradient& gradient) {
    const int asked = update.degree(degree);
    float v_basis[16];
    add_bases<0, 1>(update, gradient, v_basis);
    if (asked > 0) add_bases<1, 3>(update, gradient, v_basis);
    if (asked > 1) {
        add_bases<4, 3>(update, gradient, v_basis);
        add_bases<7, 2>(update, gradient, v_basis);
    }
    if (asked > 2) {
        add_bases<9, 4>(update, gradient, v_basis);
        add_bases<13, 3>(update, gradient, v_basis);
    }
    return math::sh_basis_vjp(degree, direction, v_basis);
}

/// Standard deviations, as stored times the modifier, as they were drawn: through a 3D filter.
template <class Reader>
GS_DEVICE Vec3f drawn_scale(const FrameConstants& c, const Reader& reader, Vec3f scale) {
    if (reader.filtered())
        if (const float filter = c.scale_modifier * reader.filter(); filter > 0.0f)
            return math::mip_scale(scale, filter);
    return scale;
}

/// With respect to a Gaussian's mean and covariance in the picture.
struct ImageGradient {
    Vec2<float> mean;
    Sym2<float> cov;
};
GS_DEVICE ImageGradient image_gradient(const FrameConstants& c,
                                       const math::Projection<float>& projected,
                                       const SplatSums& sums) {
    const auto conic = math::conic_of(projected.cov, projected.det, c.blur);
    // ln alpha = ln opacity - 0.5 (xx dx^2 + yy dy^2) - xy dx dy, d = pixel - mean.
    const float s = sums.a.x, sx = sums.a.y, sy = sums.b.x;
    const Vec2<float> v_mean2d{conic.inverse.xx * sx + conic.inverse.xy * sy,
                               conic.inverse.xy * sx + conic.inverse.yy * sy};
    const Sym2<float> v_conic{-0.5f * sums.a.z, -sums.b.y, -0.5f * sums.b.z};
    const float v_compensation = c.antialiased != 0 ? s / conic.compensation : 0.0f;
    return {v_mean2d,
            math::conic_of_vjp(projected.cov, projected.det, c.blur, v_conic, v_compensation)};
}

/// All but what reaches the mean through the colour and but the bases. Returns the mean. What was
/// clamped is known from the splat.
template <bool kMotion, class Camera, class Reader>
GS_DEVICE Vec3f direct_gradient(const FrameConstants& c, const Reader& reader, const Splat& splat,
                                const SplatSums& sums, GaussianGradient& out) {
    const Vec3f mean = reader.mean();
    const Vec3f stored = reader.scale(c.scale_modifier);
    const Quatf quat = reader.quat();
    const float logit = reader.opacity_logit();
    const Vec3f scale = drawn_scale(c, reader, stored);  // a branch, behind all loads
    const Vec3f shown{splat.red, splat.green, splat.blue};
    const Camera& camera = camera_of<Camera>(c);
    const auto forward = math::trace(camera, mean, scale, quat);
    const math::Projection<float>& projected = forward.projection;
    const ImageGradient v = image_gradient(c, projected, sums);
    const auto g = math::trace_vjp(camera, forward, mean, scale, quat, v.mean, v.cov, sums.c.w);
    out.geometry[kLogScales] = g.scale.x * scale.x;
    out.geometry[kLogScales + 1] = g.scale.y * scale.y;
    out.geometry[kLogScales + 2] = g.scale.z * scale.z;
    if (reader.filtered()) {
        const float filter = c.scale_modifier * reader.filter(),
                    drawn[3] = {scale.x, scale.y, scale.z};
        for (int i = 0; i < 3 && filter > 0.0f; ++i)
            out.geometry[kLogScales + i] = math::mip_log_scale_vjp(
                math::mip_share_of_drawn(drawn[i], filter), out.geometry[kLogScales + i], sums.a.x);
    }
    out.geometry[kQuats] = g.quat.w;
    out.geometry[kQuats + 1] = g.quat.x;
    out.geometry[kQuats + 2] = g.quat.y;
    out.geometry[kQuats + 3] = g.quat.z;
    out.geometry[kOpacityLogits] = sums.a.x * (1.0f - math::sigmoid(logit));
    out.mean2d[0] = v.mean.x;
    out.mean2d[1] = v.mean.y;
    out.radius_px = 3.0f * math::sqrt(math::max(projected.cov.xx, projected.cov.yy) + c.blur);

    if constexpr (kMotion) {
        const Vec3f turn = cross(mean - c.ray_origin, g.mean) + math::quat_turn_vjp(quat, g.quat);
        out.turn[0] = turn.x;
        out.turn[1] = turn.y;
        out.turn[2] = turn.z;
    }
    out.geometry[kMeans] = g.mean.x;
    out.geometry[kMeans + 1] = g.mean.y;
    out.geometry[kMeans + 2] = g.mean.z;
    out.color[0] = signbit(shown.x) ? 0.0f : sums.c.x;
    out.color[1] = signbit(shown.y) ? 0.0f : sums.c.y;
    out.color[2] = signbit(shown.z) ? 0.0f : sums.c.z;
    return mean;
}

template <bool kMotion, class Camera, class Reader, class Update>
GS_DEVICE void hand_over(const FrameConstants& c, const Reader& reader, Update& update,
                         const Splat& splat, const SplatSums& sums) {
    GaussianGradient gradient;
    const Vec3f mean = direct_gradient<kMotion, Camera>(c, reader, splat, sums, gradient);
    const Vec3f ray = mean - c.ray_origin, direction = math::normalize(ray);
    GS_UNROLL
    for (int k = 1; k < 16; ++k) gradient.basis[k] = 0.0f;
    math::sh_basis(c.sh_degree, direction, gradient.basis);
    if (!update.begin(gradient)) return;
    const Vec3f through_color =
        math::normalize_vjp(ray, through_direction(c.sh_degree, direction, update, gradient));
    gradient.geometry[kMeans] += through_color.x;
    gradient.geometry[kMeans + 1] += through_color.y;
    gradient.geometry[kMeans + 2] += through_color.z;
    update.finish(gradient);
}

template <class Camera, class Sink, bool kLazy>
GS_DEVICE void project_chunk_backward(const ProjectBackwardParams<Sink>& p) {
    GS_SHARED(std::uint32_t, long_runs, kChunk / kWarp);
    GS_SHARED(RowRun, runs, kChunk);
    GS_SHARED(SplatSums, partial_sums, 2 * kChunk / kWarp);
    GS_SHARED(std::uint32_t, constants, kConstantWords<Camera>);
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
    if (!used) return;
    const std::uint32_t gaussian = p.frame.gaussian_from_slot[slot];
    auto update = update_of<Sink, kLazy>(p.sink, p.model, gaussian);
    if (update.wanted())
        hand_over<kWantsMotion<Sink>, Camera>(
            c, ModelReader<kLazy, kCodedMoments<Sink>>(p.model, gaussian), update,
            p.frame.splats[slot], sums);
}

template <class Sink, bool kLazy>
GS_KERNEL(kChunk, 2)
void project_backward(ProjectBackwardParams<Sink> p) {
    project_chunk_backward<math::Pinhole<float>, Sink, kLazy>(p);
}
template <class Sink, bool kLazy>
GS_KERNEL(kChunk, 1)
void project_backward_lens(ProjectBackwardParams<Sink> p) {
    project_chunk_backward<math::LensCamera<float>, Sink, kLazy>(p);
}

/// By the unscented transform: project_backward_unscented.cuh, for files of its own.
template <class Sink, bool kLazy>
void launch_project_backward_unscented(const Stream& stream, const char* name,
                                       const FrameLimits& limits,
                                       ProjectBackwardParams<Sink> params);

/// `name` as for launch(). `kLazy`: reads through the optimizer, which the model then has.
template <class Sink, bool kLazy>
void launch_project_backward(const Stream& stream, const char* name, const FrameLimits& limits,
                             ProjectBackwardParams<Sink> params) {
    CHECK(params.model.lazy.any() == kLazy && params.model.lazy.coded() == kCodedMoments<Sink>);
    if (limits.unscented)
        return launch_project_backward_unscented<Sink, kLazy>(stream, name, limits, params);
    launch(stream, name, Grid{limits.chunks(), kChunk},
           limits.lens ? project_backward_lens<Sink, kLazy> : project_backward<Sink, kLazy>,
           params);
}

}  // namespace gs::cuda
