#include "renderer/reference/rasterize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gs::reference {
namespace {

// Margins of the reference files' own `fragile` marks.
constexpr double kAlphaMargin = 1e-4, kTransmittanceMargin = 1e-3, kDepthMargin = 4e-7;
constexpr double kHalf = 0.5;  // of the light: where the median depth lies

struct Evaluation {
    double dx, dy, gaussian, alpha;
    bool blends;  // above the cut
    bool clamped;
};

Evaluation evaluate(const Projected& p, int x, int y, const Options& options) {
    Evaluation e;
    e.dx = x + 0.5 - p.mean.x;
    e.dy = y + 0.5 - p.mean.y;
    const double sigma =
        0.5 * (p.conic.xx * e.dx * e.dx + p.conic.yy * e.dy * e.dy) + p.conic.xy * e.dx * e.dy;
    e.gaussian = std::exp(-sigma);
    const double alpha = p.opacity * e.gaussian;
    e.clamped = alpha > options.alpha_max;
    e.alpha = e.clamped ? options.alpha_max : alpha;
    e.blends = sigma >= 0 && e.alpha >= options.alpha_min;
    return e;
}

bool ends(double next, const Options& options) {
    return options.stop_at_equal ? next <= options.transmittance_min
                                 : next < options.transmittance_min;
}

std::vector<std::size_t> front_to_back(const std::vector<Projected>& projected) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < projected.size(); ++i)
        if (projected[i].visible) order.push_back(i);
    // In float, ties by index, as every program in the field sorts.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return static_cast<float>(projected[a].depth) < static_cast<float>(projected[b].depth);
    });
    return order;
}

struct PixelState {
    bool done = false;
    double last_depth = 0;
};

void blend(const Projected& p, std::size_t rank, int x, int y, const Options& options,
           PixelState& state, Picture& out) {
    const auto pixel = static_cast<std::size_t>(y) * static_cast<std::size_t>(out.width) +
                       static_cast<std::size_t>(x);
    const Evaluation e = evaluate(p, x, y, options);
    if (std::abs(e.alpha - options.alpha_min) <= kAlphaMargin * options.alpha_min)
        out.fragile[pixel] = 1;
    if (!e.blends) return;
    const double before = out.transmittance[pixel], next = before * (1 - e.alpha);
    if (std::abs(next - options.transmittance_min) <=
        kTransmittanceMargin * options.transmittance_min)
        out.fragile[pixel] = 1;
    if (ends(next, options)) {
        state.done = true;
        return;
    }
    if (out.contributors[pixel] > 0 &&
        std::abs(p.depth - state.last_depth) < kDepthMargin * p.depth)
        out.fragile[pixel] = 1;
    state.last_depth = p.depth;
    const double weight = before * e.alpha;
    out.color[3 * pixel] += weight * p.color.x;
    out.color[3 * pixel + 1] += weight * p.color.y;
    out.color[3 * pixel + 2] += weight * p.color.z;
    out.alpha[pixel] += weight;
    out.depth[pixel] += weight * p.depth;
    if (before >= kHalf && next < kHalf) out.median_depth[pixel] = p.depth;
    if (std::abs(next - kHalf) <= kTransmittanceMargin * kHalf) out.fragile_median[pixel] = 1;
    out.transmittance[pixel] = next;
    ++out.contributors[pixel];
    out.last[pixel] = rank + 1;
}

}  // namespace

Picture render(const Parameters& scene, const Camera& camera, const Options& options) {
    Picture out;
    out.width = camera.width;
    out.height = camera.height;
    const std::size_t n = out.pixels();
    out.color.assign(3 * n, 0.0);
    out.alpha.assign(n, 0.0);
    out.depth.assign(n, 0.0);
    out.median_depth.assign(n, 0.0);
    out.contributors.assign(n, 0);
    out.fragile.assign(n, 0);
    out.fragile_median.assign(n, 0);
    out.transmittance.assign(n, 1.0);
    out.last.assign(n, 0);
    for (std::size_t i = 0; i < scene.count; ++i)
        out.projected.push_back(project(scene, i, camera, options));
    out.order = front_to_back(out.projected);
    std::vector<PixelState> states(n);
    for (std::size_t rank = 0; rank < out.order.size(); ++rank) {
        const Projected& p = out.projected[out.order[rank]];
        for (int y = p.y0; y < p.y1; ++y)
            for (int x = p.x0; x < p.x1; ++x) {
                PixelState& state =
                    states[static_cast<std::size_t>(y) * static_cast<std::size_t>(out.width) +
                           static_cast<std::size_t>(x)];
                if (!state.done) blend(p, rank, x, y, options, state, out);
            }
    }
    for (std::size_t pixel = 0; pixel < n; ++pixel) {
        out.color[3 * pixel] += out.transmittance[pixel] * options.background.x;
        out.color[3 * pixel + 1] += out.transmittance[pixel] * options.background.y;
        out.color[3 * pixel + 2] += out.transmittance[pixel] * options.background.z;
    }
    return out;
}

namespace {

// One pixel walked back to front. behind = what every Gaussian further back contributes to the
// loss.
struct BackwardPixel {
    double transmittance = 1;  // behind the Gaussian under way
    double behind = 0;
    Vec3d v_color;
    double v_alpha = 0, v_depth = 0;
};

void blend_backward(const Projected& p, int x, int y, const Options& options, BackwardPixel& state,
                    ProjectedGradient& out) {
    const Evaluation e = evaluate(p, x, y, options);
    if (!e.blends) return;
    const double before = state.transmittance / (1 - e.alpha), weight = before * e.alpha;
    const double own = dot(p.color, state.v_color) + state.v_alpha + p.depth * state.v_depth;
    out.color += weight * state.v_color;
    out.depth += weight * state.v_depth;
    const double v_alpha = before * own - state.behind / (1 - e.alpha);
    state.behind += weight * own;
    state.transmittance = before;
    if (e.clamped) return;
    out.opacity += v_alpha * e.gaussian;
    const double v_sigma = -v_alpha * e.alpha;
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
    std::vector<BackwardPixel> states(picture.pixels());
    for (std::size_t i = 0; i < states.size(); ++i) {
        BackwardPixel& state = states[i];
        if (!v.color.empty())
            state.v_color = {v.color[3 * i], v.color[3 * i + 1], v.color[3 * i + 2]};
        if (!v.alpha.empty()) state.v_alpha = v.alpha[i];
        if (!v.depth.empty()) state.v_depth = v.depth[i];
        state.transmittance = picture.transmittance[i];
        state.behind = picture.transmittance[i] * dot(options.background, state.v_color);
    }
    for (std::size_t rank = picture.order.size(); rank-- > 0;) {
        const std::size_t gaussian = picture.order[rank];
        const Projected& p = picture.projected[gaussian];
        for (int y = p.y0; y < p.y1; ++y)
            for (int x = p.x0; x < p.x1; ++x) {
                const auto pixel =
                    static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
                    static_cast<std::size_t>(x);
                if (rank < picture.last[pixel])
                    blend_backward(p, x, y, options, states[pixel], out.projected[gaussian]);
            }
        project_backward(scene, gaussian, camera, options, out.projected[gaussian], out.parameters);
    }
    return out;
}

}  // namespace gs::reference
