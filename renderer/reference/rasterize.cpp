#include "renderer/reference/rasterize.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/parallel.h"
#include "renderer/reference/blend.h"
#include "renderer/reference/sh.h"
#include "renderer/scene/camera_lens.h"

namespace gs::reference {
namespace {

std::vector<std::size_t> front_to_back(const std::vector<Projected>& projected) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < projected.size(); ++i)
        if (projected[i].visible) order.push_back(i);
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return in_front(projected[a], projected[b]); });
    return order;
}

/// Rays of pixels, where something is asked of them.
class PixelRays {
  public:
    PixelRays(const Camera& camera, const Options& options)
        : width_(static_cast<std::size_t>(camera.width)) {
        if (!options.sky.empty()) pixels_.emplace(camera);
    }
    CameraRay of(std::size_t i) const {
        if (!pixels_) return {};
        return pixels_->ray_of(static_cast<double>(i % width_) + 0.5,
                               static_cast<double>(i / width_) + 0.5);
    }

  private:
    std::size_t width_;
    std::optional<CameraPixels> pixels_;
};

std::size_t pixel_at(const Picture& picture, int x, int y) {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
           static_cast<std::size_t>(x);
}

void write(const PixelBlend& pixel, Vec3d behind, std::size_t i, Picture& out) {
    out.color[3 * i] = pixel.color.x + pixel.transmittance * behind.x;
    out.color[3 * i + 1] = pixel.color.y + pixel.transmittance * behind.y;
    out.color[3 * i + 2] = pixel.color.z + pixel.transmittance * behind.z;
    out.alpha[i] = pixel.alpha;
    out.depth[i] = pixel.depth;
    out.median_depth[i] = pixel.median_depth;
    out.contributors[i] = pixel.contributors;
    out.fragile[i] = pixel.fragile ? 1 : 0;
    out.fragile_median[i] = pixel.fragile_median ? 1 : 0;
    out.transmittance[i] = pixel.transmittance;
}

/// The rows of one band, all Gaussians front to back.
void render_band(const Options& options, const Region& band, std::vector<PixelBlend>& pixels,
                 Picture& out) {
    for (std::size_t rank = 0; rank < out.order.size(); ++rank) {
        const Projected& p = out.projected[out.order[rank]];
        for (int y = std::max(p.y0, band.y0); y < std::min(p.y1, band.y1); ++y)
            for (int x = std::max(p.x0, band.x0); x < std::min(p.x1, band.x1); ++x) {
                const std::size_t i = pixel_at(out, x, y);
                if (pixels[i].done) continue;
                if (pixels[i].add(p, evaluate(p, x, y, options), options) == Fate::blended)
                    out.last[i] = rank + 1;
            }
    }
}

}  // namespace

Picture render(const Parameters& scene, const Camera& camera, const Options& options,
               const Region& region, const Progress& progress) {
    constexpr int kBandRows = 8;
    Picture out;
    out.width = camera.width;
    out.height = camera.height;
    const std::size_t n = out.pixels();
    out.projected.resize(scene.count);
    const DrawnCamera drawn(camera);
    parallel_for(scene.count, 1024,
                 [&](std::size_t i) { out.projected[i] = project(scene, i, drawn, options); });
    out.order = front_to_back(out.projected);
    out.last.assign(n, 0);
    std::vector<PixelBlend> pixels(n);
    const int first = std::max(region.y0, 0), end = std::min(region.y1, out.height);
    const auto bands =
        static_cast<std::size_t>(std::max(end - first + kBandRows - 1, 0) / kBandRows);
    std::atomic<std::size_t> done{0};
    std::atomic<bool> wanted{true};
    parallel_for(bands, 1, [&](std::size_t i) {
        if (!wanted) return;
        const int y = first + static_cast<int>(i) * kBandRows;
        render_band(options, {std::max(region.x0, 0), y, region.x1, std::min(y + kBandRows, end)},
                    pixels, out);
        if (progress && !progress("the reference", ++done, bands)) wanted = false;
    });
    out.color.resize(3 * n);
    for (auto* plane : {&out.alpha, &out.depth, &out.median_depth, &out.transmittance})
        plane->resize(n);
    out.contributors.resize(n);
    out.fragile.resize(n);
    out.fragile_median.resize(n);
    const PixelRays rays(camera, options);
    for (std::size_t i = 0; i < n; ++i) write(pixels[i], color_behind(rays.of(i), options), i, out);
    return out;
}

namespace {

void blend_backward(const Projected& p, int x, int y, const Options& options, PixelBackward& state,
                    ProjectedGradient& out) {
    const Evaluation e = evaluate(p, x, y, options);
    if (!e.blends) return;
    const PixelBackward::Step step = state.pass(p, e);
    out.color += step.weight * state.v_color;
    out.depth += step.weight * state.v_depth;
    if (e.clamped) return;
    out.opacity += step.v_alpha * e.gaussian;
    const double v_sigma = -step.v_alpha * e.alpha;
    out.conic.xx += 0.5 * v_sigma * e.dx * e.dx;
    out.conic.xy += v_sigma * e.dx * e.dy;
    out.conic.yy += 0.5 * v_sigma * e.dy * e.dy;
    out.mean.x -= v_sigma * (p.conic.xx * e.dx + p.conic.xy * e.dy);
    out.mean.y -= v_sigma * (p.conic.xy * e.dx + p.conic.yy * e.dy);
}

}  // namespace

SceneGradient render_backward(const Parameters& scene, const Camera& camera, const Options& options,
                              const Picture& picture, const PictureGradient& v) {
    SceneGradient out{Parameters(scene.count, scene.sh_degree),
                      std::vector<ProjectedGradient>(scene.count)};
    const DrawnCamera drawn(camera);
    const PixelRays rays(camera, options);
    std::vector<PixelBackward> states(picture.pixels());
    for (std::size_t i = 0; i < states.size(); ++i) {
        PixelBackward& state = states[i];
        if (!v.color.empty())
            state.v_color = {v.color[3 * i], v.color[3 * i + 1], v.color[3 * i + 2]};
        if (!v.alpha.empty()) state.v_alpha = v.alpha[i];
        if (!v.depth.empty()) state.v_depth = v.depth[i];
        state.transmittance = picture.transmittance[i];
        const CameraRay ray = rays.of(i);
        state.behind = state.transmittance * dot(color_behind(ray, options), state.v_color);
        color_behind_backward(ray, options, state.transmittance * state.v_color, out.sky);
    }
    for (std::size_t rank = picture.order.size(); rank-- > 0;) {
        const std::size_t gaussian = picture.order[rank];
        const Projected& p = picture.projected[gaussian];
        for (int y = p.y0; y < p.y1; ++y)
            for (int x = p.x0; x < p.x1; ++x) {
                const std::size_t pixel = pixel_at(picture, x, y);
                if (rank < picture.last[pixel])
                    blend_backward(p, x, y, options, states[pixel], out.projected[gaussian]);
            }
        project_backward(scene, gaussian, drawn, options, out.projected[gaussian], out.parameters);
    }
    return out;
}

}  // namespace gs::reference
