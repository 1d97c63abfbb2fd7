#include "app/session/parts/scene_info.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/session/viewer.h"
#include "base/nth.h"
#include "renderer/math/scalar.h"
#include "renderer/raster/view_setup.h"
#include "renderer/scene/lost_views.h"
#include "trainer/settings/trainer_types.h"

namespace gs {

Histogram histogram_of(std::string name, std::string unit, std::vector<float> samples,
                       bool logarithmic) {
    constexpr std::size_t kBins = 64;
    Histogram out{
        std::move(name), std::move(unit), 0, 1, logarithmic, std::vector<float>(kBins, 0.0f)};
    std::erase_if(samples, [&](float v) { return !std::isfinite(v) || (logarithmic && v <= 0); });
    if (samples.empty()) return out;
    out.lo = static_cast<double>(quantile(samples, 0.005));
    out.hi = static_cast<double>(quantile(samples, 0.995));
    if (!(out.hi > out.lo)) out.hi = out.lo + (out.lo != 0 ? std::abs(out.lo) * 0.01 : 1.0);
    const auto scale = [&](double v) { return logarithmic ? std::log(v) : v; };
    const double lo = scale(out.lo), width = scale(out.hi) - lo;
    for (const float v : samples) {
        const double t = (scale(static_cast<double>(v)) - lo) / width;
        if (t >= 0 && t <= 1)
            ++out.counts[std::min(kBins - 1, static_cast<std::size_t>(t * kBins))];
    }
    return out;
}

namespace {

constexpr std::size_t kMostSamples =
    200000;  // every k-th Gaussian beyond that: shapes of histograms need no more

std::size_t stride_for(std::size_t count) { return std::max<std::size_t>(1, count / kMostSamples); }

std::vector<Histogram> model_histograms(const GaussianModel& model) {
    std::vector<float> opacity, scale, anisotropy, sh_energy;
    const std::size_t stride = stride_for(model.count);
    for (std::size_t i = 0; i < model.count; i += stride) {
        opacity.push_back(math::sigmoid(model.at(kOpacityLogits, i)));
        std::array<float, 3> s{model.at(kLogScales, i), model.at(kLogScales + 1, i),
                               model.at(kLogScales + 2, i)};
        std::sort(s.begin(), s.end());
        scale.push_back(std::exp(s[2]));
        anisotropy.push_back(std::exp(std::min(s[2] - s[0], 30.0f)));
        float energy = 0;
        for (int p = kShRest; p < model.planes(); ++p) energy += model.at(p, i) * model.at(p, i);
        sh_energy.push_back(std::sqrt(energy));
    }
    return {
        histogram_of("opacity", "", std::move(opacity), false),
        histogram_of("scale (largest axis)", "world units", std::move(scale), true),
        histogram_of("anisotropy (largest / smallest axis)", "ratio", std::move(anisotropy), true),
        histogram_of("SH energy (degree 1 and up)", "", std::move(sh_energy), false)};
}

/// Bounds that leave out the outermost percent on each side of each axis.
void robust_bounds(const GaussianModel& model, Vec3f& lo, Vec3f& hi) {
    float low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
    const std::size_t stride = stride_for(model.count);
    for (int axis = 0; axis < 3; ++axis) {
        std::vector<float> values;
        for (std::size_t i = 0; i < model.count; i += stride)
            if (std::isfinite(model.at(kMeans + axis, i)))
                values.push_back(model.at(kMeans + axis, i));
        if (values.empty()) continue;
        std::sort(values.begin(), values.end());
        low[axis] = values[values.size() / 100];
        high[axis] = values[values.size() - 1 - values.size() / 100];
    }
    lo = {low[0], low[1], low[2]};
    hi = {high[0], high[1], high[2]};
}

Vec3f normalized_or(Vec3d v, Vec3f otherwise) {
    const double length = std::sqrt(dot(v, v));
    if (!(length > 1e-9)) return otherwise;
    return {static_cast<float>(v.x / length), static_cast<float>(v.y / length),
            static_cast<float>(v.z / length)};
}

/// The point nearest to all optical axes in the least-squares sense; the mean of the cameras when
/// they are parallel.
Vec3d looked_at_point(const Capture& capture, Vec3d mean_position) {
    double a[3][3] = {{1e-6, 0, 0}, {0, 1e-6, 0}, {0, 0, 1e-6}};
    double b[3] = {1e-6 * mean_position.x, 1e-6 * mean_position.y, 1e-6 * mean_position.z};
    for (const View& view : capture.views) {
        const Vec3d p = view.camera.position(), d = view.camera.forward();
        const double pv[3] = {p.x, p.y, p.z}, dv[3] = {d.x, d.y, d.z};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const double m = (i == j ? 1.0 : 0.0) - dv[i] * dv[j];
                a[i][j] += m;
                b[i] += m * pv[j];
            }
    }
    const Vec3d c0{a[0][0], a[1][0], a[2][0]}, c1{a[0][1], a[1][1], a[2][1]},
        c2{a[0][2], a[1][2], a[2][2]}, r{b[0], b[1], b[2]};
    const double det = dot(c0, cross(c1, c2));
    if (!(std::abs(det) > 1e-12)) return mean_position;
    return {dot(r, cross(c1, c2)) / det, dot(c0, cross(r, c2)) / det, dot(c0, cross(c1, r)) / det};
}

void describe_cameras(const Capture& capture, SceneInfo& info) {
    Vec3d mean{}, up{};
    std::vector<std::size_t> used;
    const std::vector<std::uint8_t> lost = lost_views(capture);
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        if (lost[v] == 0) used.push_back(v);
    const double n = static_cast<double>(std::max<std::size_t>(1, used.size()));
    for (const std::size_t v : used) {
        const View& view = capture.views[v];
        mean += (1.0 / n) * view.camera.position();
        const auto& m = view.camera.rotation.m;
        up += Vec3d{-m[1][0], -m[1][1], -m[1][2]};
    }
    double radius = 0;
    for (const std::size_t v : used) {
        const Vec3d d = capture.views[v].camera.position() - mean;
        radius = std::max(radius, std::sqrt(dot(d, d)));
    }
    const Vec3d center = looked_at_point(capture, mean);
    info.center = {static_cast<float>(center.x), static_cast<float>(center.y),
                   static_cast<float>(center.z)};
    info.up = normalized_or(up, {0, -1, 0});
    info.extent = radius > 0 ? 1.1 * radius : 1.0;
}

/// Nine in ten of the values on each axis, and a tenth of their range on either side. An empty list
/// changes nothing.
void core_of(std::array<std::vector<float>, 3>& axes, ClipBox& core) {
    constexpr float kMargin = 0.1f;
    float* lo[3] = {&core.lo.x, &core.lo.y, &core.lo.z};
    float* hi[3] = {&core.hi.x, &core.hi.y, &core.hi.z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<float>& values = axes[axis];
        std::erase_if(values, [](float v) { return !std::isfinite(v); });
        if (values.empty()) continue;
        const float low = nth_of(values, values.size() / 20),
                    high = nth_of(values, values.size() - 1 - values.size() / 20);
        *lo[axis] = low - kMargin * (high - low);
        *hi[axis] = high + kMargin * (high - low);
    }
}
ClipBox core_of(const Capture& capture) {
    std::array<std::vector<float>, 3> axes;
    for (const SparsePoint& point : capture.points) {
        axes[0].push_back(point.position.x);
        axes[1].push_back(point.position.y);
        axes[2].push_back(point.position.z);
    }
    ClipBox core;
    core_of(axes, core);
    return core;
}
ClipBox core_of(const GaussianModel& model) {
    std::array<std::vector<float>, 3> axes;
    for (std::size_t i = 0; i < model.count; i += stride_for(model.count))
        for (std::size_t axis = 0; axis < 3; ++axis)
            axes[axis].push_back(model.at(kMeans + static_cast<int>(axis), i));
    ClipBox core;
    core_of(axes, core);
    return core;
}

/// Cameras tell what they look at, not how far away it is: a drone's path is small beside the
/// ground below it. The middle of the points and the distance that nine in ten of them keep.
void describe_points(const Capture& capture, SceneInfo& info) {
    constexpr std::size_t kEnough = 20;
    info.radius = info.extent;
    if (capture.points.size() < kEnough) return;
    std::vector<float> x, y, z, away;
    for (const SparsePoint& point : capture.points) {
        x.push_back(point.position.x);
        y.push_back(point.position.y);
        z.push_back(point.position.z);
    }
    const Vec3f middle{quantile(x, 0.5), quantile(y, 0.5), quantile(z, 0.5)};
    for (const SparsePoint& point : capture.points) {
        const Vec3f d = point.position - middle;
        away.push_back(std::sqrt(dot(d, d)));
    }
    const double radius = quantile(away, 0.9);
    if (!(radius > 0) || !std::isfinite(radius)) return;
    info.center = middle;
    info.radius = radius;
}

}  // namespace

SceneInfo describe_scene(const LoadedScene& scene) {
    SceneInfo info{.name = scene.name,
                   .path = scene.path,
                   .format = scene.format,
                   .run_folder = scene.run_folder,
                   .origin = scene.capture ? scene.capture->origin : scene.model->origin,
                   .notes = scene.notes};
    if (scene.capture) {
        info.train_views = scene.capture->view_indices(false).size();
        info.test_views = scene.capture->view_indices(true).size();
        info.points = scene.capture->points.size();
        info.skipped = scene.capture->skipped;
        describe_cameras(*scene.capture, info);
        describe_points(*scene.capture, info);
    } else {
        Vec3f lo{}, hi{};
        robust_bounds(*scene.model, lo, hi);
        const Vec3f half = 0.5f * (hi - lo);
        info.center = 0.5f * (lo + hi);
        info.extent = std::max(1e-6, std::sqrt(static_cast<double>(dot(half, half))));
        info.radius = info.extent;
    }
    info.core = scene.capture && !scene.capture->points.empty() ? core_of(*scene.capture)
                : scene.trainer                                 ? core_of(scene.trainer->model())
                                                                : core_of(*scene.model);
    info.near_plane = static_cast<double>(rules_for(render_options(scene, {})).near_plane);
    return info;
}

void describe_model(const GaussianModel& model, SceneInfo& info) {
    info.gaussians = model.count;
    info.sh_degree = model.sh_degree;
    robust_bounds(model, info.lo, info.hi);
    info.histograms = model_histograms(model);
}

std::vector<CameraRow> camera_rows(const Capture& capture) {
    std::vector<CameraRow> rows;
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const View& view = capture.views[i];
        CameraRow row{.view = i,
                      .name = view.name,
                      .test = view.test,
                      .camera = view.camera,
                      .psnr = kNotMeasured,
                      .ssim = kNotMeasured,
                      .loss = kNotMeasured};
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace gs
