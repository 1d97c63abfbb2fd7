#include "app/cli/verify.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/cli/gradient_store.h"
#include "renderer/math/sh.h"
#include "renderer/reference/rasterize.h"

namespace gs::cli {
namespace {

reference::Options reference_options(const RenderOptions& o) {
    const RasterRules rules = rules_of(o.compatibility);
    reference::Options out;
    out.background = {o.background.x, o.background.y, o.background.z};
    out.sh_degree = o.sh_degree;
    out.scale_modifier = o.scale_modifier;
    out.antialiased = o.antialiased;
    out.blur = o.blur;
    out.near_plane = o.near_plane > 0 ? o.near_plane : rules.near_plane;
    out.alpha_max = rules.alpha_max;
    out.alpha_min = rules.alpha_min;
    out.transmittance_min = rules.transmittance_min;
    out.stop_at_equal = rules.stop_at_equal;
    out.square_sigma = rules.square_extent ? rules.extent_sigma : 0;
    return out;
}

void compare_pictures(const RenderResult& drawn, const reference::Picture& truth,
                      Verification& out) {
    out.pixels = truth.pixels();
    double depth_scale = 1e-12;
    for (std::size_t i = 0; i < out.pixels; ++i) {
        if (truth.fragile[i]) {
            ++out.fragile;
            continue;
        }
        for (std::size_t c = 0; c < 3; ++c)
            out.color = std::max(out.color, std::abs(drawn.color.values[c * out.pixels + i] -
                                                     truth.color[3 * i + c]));
        out.alpha = std::max(out.alpha, std::abs(drawn.alpha.values[i] - truth.alpha[i]));
        out.depth = std::max(out.depth, std::abs(drawn.depth.values[i] - truth.depth[i]));
        depth_scale = std::max(depth_scale, truth.depth[i]);
        out.contributors += drawn.contributors[i] != truth.contributors[i] ? 1 : 0;
    }
    out.depth /= depth_scale;
}

// A smooth upstream gradient, zero at fragile pixels.
void make_upstream(const reference::Picture& truth, PixelGradients& float_side,
                   reference::PictureGradient& double_side) {
    const std::size_t n = truth.pixels();
    float_side.color.resize(truth.width, truth.height, 3);
    double_side.color.assign(3 * n, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < 3; ++c) {
            const double x = static_cast<double>(i) * 0.013 + static_cast<double>(c);
            const float v = truth.fragile[i] ? 0.0f : static_cast<float>(std::sin(x) * 1e-2);
            float_side.color.values[c * n + i] = v;
            double_side.color[3 * i + c] = v;
        }
}

// A colour within rounding of its clamp at zero: float and double may rightly disagree on whether
// it has a gradient.
bool color_at_clamp(const reference::Parameters& scene, const Camera& camera, int degree,
                    std::size_t i) {
    double basis[16];
    const Vec3d ray = Vec3d{scene.at(kMeans, i), scene.at(kMeans + 1, i), scene.at(kMeans + 2, i)} -
                      camera.position();
    math::sh_basis(degree, math::normalize(ray), basis);
    for (int c = 0; c < 3; ++c) {
        double color = 0.5;
        for (int k = 0; k < sh_bases(degree); ++k) color += basis[k] * scene.sh(k, c, i);
        if (std::abs(color) < 1e-5) return true;
    }
    return false;
}

double relative_l2(const reference::Parameters& a, const reference::Parameters& b,
                   const std::vector<char>& fragile) {
    double difference = 0, norm = 0;
    for (int p = 0; p < a.planes(); ++p)
        for (std::size_t i = 0; i < a.count; ++i) {
            if (fragile[i] != 0) continue;
            const double d = a.at(p, i) - b.at(p, i);
            difference += d * d;
            norm += b.at(p, i) * b.at(p, i);
        }
    return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace

Verification verify_frame(const GaussianModel& model, const Camera& camera,
                          const RenderOptions& given, Rasterizer& rasterizer, bool gradients) {
    RenderOptions options = given;
    options.counters = true;
    ModelSource source(model);
    const auto state = rasterizer.make_state();
    RenderResult drawn;
    rasterizer.forward(source, camera, options, *state, drawn);
    const reference::Parameters scene(model);
    const reference::Options oracle = reference_options(options);
    const reference::Picture truth = reference::render(scene, camera, oracle);
    Verification out;
    compare_pictures(drawn, truth, out);
    if (!gradients) return out;
    PixelGradients upstream;
    reference::PictureGradient true_upstream;
    make_upstream(truth, upstream, true_upstream);
    GradientStore store(model);
    rasterizer.backward(source, camera, options, *state, drawn, upstream, store);
    std::vector<char> fragile(model.count);
    for (std::size_t i = 0; i < model.count; ++i)
        fragile[i] =
            color_at_clamp(scene, camera, std::min(options.sh_degree, model.sh_degree), i) ? 1 : 0;
    out.gradient = relative_l2(
        store.gradients,
        reference::render_backward(scene, camera, oracle, truth, true_upstream).parameters,
        fragile);
    return out;
}

GaussianModel thinned(const GaussianModel& model, std::size_t limit) {
    const std::size_t stride = (model.count + limit - 1) / std::max<std::size_t>(limit, 1);
    if (stride <= 1) return model.resized(model.capacity, model.sh_degree);
    GaussianModel out((model.count + stride - 1) / stride, model.sh_degree);
    out.antialiased = model.antialiased;
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < out.count; ++i) out.at(p, i) = model.at(p, i * stride);
    return out;
}

}  // namespace gs::cli
