#include "renderer/reference/rays.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "renderer/math/along_ray.h"
#include "renderer/reference/blend.h"
#include "renderer/reference/sh.h"

namespace gs::reference {
namespace {

/// A Gaussian ready to be met.
struct Ball {
    Vec3d mean, scale;
    Quatd quat;
    Mat3d whitening;
    double opacity;
    bool sound;  ///< every number is finite, and the quaternion has a length
};

Vec3d mean_of(const Parameters& scene, std::size_t i) {
    return {scene.at(kMeans, i), scene.at(kMeans + 1, i), scene.at(kMeans + 2, i)};
}

std::vector<Ball> balls_of(const Parameters& scene, const Options& options) {
    std::vector<Ball> out(scene.count);
    for (std::size_t i = 0; i < scene.count; ++i) {
        Ball& b = out[i];
        const auto scale = [&](int axis) {
            return options.scale_modifier * std::exp(scene.at(kLogScales + axis, i));
        };
        b.mean = mean_of(scene, i);
        b.scale = {scale(0), scale(1), scale(2)};
        b.quat = {scene.at(kQuats, i), scene.at(kQuats + 1, i), scene.at(kQuats + 2, i),
                  scene.at(kQuats + 3, i)};
        b.whitening = math::whitening(b.scale, b.quat);
        b.opacity = math::sigmoid(scene.at(kOpacityLogits, i));
        double sum = b.mean.x + b.mean.y + b.mean.z + b.opacity;
        for (const auto& row : b.whitening.m) sum += row[0] + row[1] + row[2];
        b.sound = std::isfinite(sum);
    }
    return out;
}

struct Met {
    math::Nearest<double> nearest;
    Evaluation evaluation{};
    Projected as;  ///< what PixelBlend blends: colour and depth
};
Met meet(const Ball& ball, const CameraRay& ray, Vec3d signal, const Options& options) {
    Met out;
    out.nearest = math::nearest(ball.whitening, ray.origin - ball.mean, ray.direction);
    Evaluation& e = out.evaluation;
    if (!ball.sound || !(out.nearest.hit >= 0)) return out;
    e.gaussian = std::exp(-0.5 * out.nearest.distance2);
    const double alpha = ball.opacity * e.gaussian;
    e.clamped = alpha > options.alpha_max;
    e.alpha = e.clamped ? options.alpha_max : alpha;
    e.blends = e.alpha >= options.alpha_min;
    out.as.color = signal;
    out.as.depth = out.nearest.hit;
    return out;
}

std::vector<std::size_t> nearest_first(std::vector<std::pair<double, std::size_t>>& by_depth) {
    std::stable_sort(by_depth.begin(), by_depth.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::size_t> out;
    out.reserve(by_depth.size());
    for (const auto& [depth, i] : by_depth) out.push_back(i);
    return out;
}

}  // namespace

std::vector<CameraRay> rays_of(const Camera& camera) {
    std::vector<CameraRay> out;
    out.reserve(static_cast<std::size_t>(camera.width) * static_cast<std::size_t>(camera.height));
    for (int y = 0; y < camera.height; ++y)
        for (int x = 0; x < camera.width; ++x) out.push_back(camera.ray_of(x + 0.5, y + 0.5));
    return out;
}

std::vector<std::size_t> order_along(const Parameters& scene, const Camera& camera,
                                     const Options& options) {
    std::vector<std::pair<double, std::size_t>> by_depth;
    for (std::size_t i = 0; i < scene.count; ++i) {
        const double depth =
            camera.depth_of(camera.rotation * mean_of(scene, i) + camera.translation);
        if (depth > options.near_plane && depth < options.far_plane) by_depth.push_back({depth, i});
    }
    return nearest_first(by_depth);
}

std::vector<std::size_t> order_around(const Parameters& scene, Vec3d place) {
    std::vector<std::pair<double, std::size_t>> by_depth;
    for (std::size_t i = 0; i < scene.count; ++i) {
        const Vec3d arm = mean_of(scene, i) - place;
        if (const double squared = dot(arm, arm); std::isfinite(squared))
            by_depth.push_back({squared, i});
    }
    return nearest_first(by_depth);
}

RayPicture render_rays(const Parameters& scene, std::span<const Vec3d> signals,
                       std::span<const std::size_t> order, std::span<const CameraRay> rays,
                       const Options& options) {
    const std::vector<Ball> balls = balls_of(scene, options);
    const std::size_t n = rays.size();
    RayPicture out{std::vector<Vec3d>(n),  std::vector<double>(n),     std::vector<double>(n),
                   std::vector<double>(n), std::vector<int>(n),        std::vector<std::uint8_t>(n),
                   std::vector<double>(n), std::vector<std::size_t>(n)};
    parallel_for(n, 16, [&](std::size_t r) {
        PixelBlend pixel;
        for (std::size_t rank = 0; rays[r].valid && rank < order.size() && !pixel.done; ++rank) {
            const std::size_t i = order[rank];
            const Met met = meet(balls[i], rays[r], signals[i], options);
            if (pixel.add(met.as, met.evaluation, options) == Fate::blended) out.last[r] = rank + 1;
        }
        out.signal[r] = pixel.color + pixel.transmittance * color_behind(rays[r], options);
        out.alpha[r] = pixel.alpha;
        out.hit[r] = pixel.depth;
        out.median[r] = pixel.median_depth;
        out.contributors[r] = pixel.contributors;
        out.fragile[r] = pixel.fragile ? 1 : 0;
        out.transmittance[r] = pixel.transmittance;
    });
    return out;
}

RayGradient render_rays_backward(const Parameters& scene, std::span<const Vec3d> signals,
                                 std::span<const std::size_t> order,
                                 std::span<const CameraRay> rays, const Options& options,
                                 const RayPicture& picture, const RayPictureGradient& v) {
    const std::vector<Ball> balls = balls_of(scene, options);
    const std::size_t n = rays.size();
    RayGradient out{Parameters(scene.count, scene.sh_degree), std::vector<Vec3d>(scene.count),
                    std::vector<Vec3d>(n), std::vector<Vec3d>(n)};
    std::vector<Mat3d> v_whitening(scene.count);
    for (std::size_t r = 0; r < n; ++r) {
        PixelBackward state;
        if (!v.signal.empty()) state.v_color = v.signal[r];
        if (!v.alpha.empty()) state.v_alpha = v.alpha[r];
        if (!v.hit.empty()) state.v_depth = v.hit[r];
        state.transmittance = picture.transmittance[r];
        state.behind =
            picture.transmittance[r] * dot(color_behind(rays[r], options), state.v_color);
        for (std::size_t rank = picture.last[r]; rank-- > 0;) {
            const std::size_t i = order[rank];
            const Ball& ball = balls[i];
            const Met met = meet(ball, rays[r], signals[i], options);
            if (!met.evaluation.blends) continue;
            const PixelBackward::Step step = state.pass(met.as, met.evaluation);
            out.signals[i] += step.weight * state.v_color;
            double v_distance2 = 0;
            if (!met.evaluation.clamped) {
                out.parameters.at(kOpacityLogits, i) +=
                    step.v_alpha * met.evaluation.gaussian * ball.opacity * (1 - ball.opacity);
                v_distance2 = -0.5 * step.v_alpha * met.evaluation.alpha;
            }
            const auto g =
                math::nearest_vjp(ball.whitening, rays[r].origin - ball.mean, rays[r].direction,
                                  met.nearest, v_distance2, step.weight * state.v_depth);
            for (int k = 0; k < 3; ++k)
                for (int c = 0; c < 3; ++c) v_whitening[i].m[k][c] += g.whitening.m[k][c];
            out.parameters.at(kMeans, i) -= g.arm.x;
            out.parameters.at(kMeans + 1, i) -= g.arm.y;
            out.parameters.at(kMeans + 2, i) -= g.arm.z;
            out.origin[r] += g.arm;
            out.direction[r] += g.direction;
        }
    }
    for (std::size_t i = 0; i < scene.count; ++i) {
        if (!balls[i].sound) continue;
        const auto g =
            math::whitening_vjp(balls[i].scale, balls[i].quat, balls[i].whitening, v_whitening[i]);
        const double log_scale[3] = {g.log_scale.x, g.log_scale.y, g.log_scale.z},
                     quat[4] = {g.quat.w, g.quat.x, g.quat.y, g.quat.z};
        for (int k = 0; k < 3; ++k) out.parameters.at(kLogScales + k, i) = log_scale[k];
        for (int k = 0; k < 4; ++k) out.parameters.at(kQuats + k, i) = quat[k];
    }
    return out;
}

}  // namespace gs::reference
