#include "renderer/reference/blend.h"

#include <cmath>

namespace gs::reference {
namespace {

// Margins of the reference files' own `fragile` marks.
constexpr double kAlphaMargin = 1e-4, kTransmittanceMargin = 1e-3, kDepthMargin = 4e-7;
constexpr double kHalf = 0.5;  // of the light: where the median depth lies

bool ends(double next, const Options& options) {
    return options.stop_at_equal ? next <= options.transmittance_min
                                 : next < options.transmittance_min;
}

}  // namespace

Evaluation evaluate(const Projected& p, int x, int y, const Options& options) {
    Evaluation e;
    e.dx = x + 0.5 - p.mean.x;
    // Where the picture repeats, the copy nearest to the middle of the pixel's tile of 16.
    if (p.wrap_width > 0)
        e.dx -= p.wrap_width * std::round((16 * (x / 16) + 8 - p.mean.x) / p.wrap_width);
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

Fate PixelBlend::add(const Projected& p, const Evaluation& e, const Options& options) {
    if (done) return Fate::after;
    if (std::abs(e.alpha - options.alpha_min) <= kAlphaMargin * options.alpha_min) fragile = true;
    if (!e.blends) return Fate::faint;
    const double before = transmittance, next = before * (1 - e.alpha);
    if (std::abs(next - options.transmittance_min) <=
        kTransmittanceMargin * options.transmittance_min)
        fragile = true;
    if (ends(next, options)) {
        done = true;
        return Fate::ends;
    }
    if (contributors > 0 && std::abs(p.depth - last_depth) < kDepthMargin * p.depth) fragile = true;
    last_depth = p.depth;
    const double weight = before * e.alpha;
    color.x += weight * p.color.x;
    color.y += weight * p.color.y;
    color.z += weight * p.color.z;
    alpha += weight;
    depth += weight * p.depth;
    if (before >= kHalf && next < kHalf) median_depth = p.depth;
    if (std::abs(next - kHalf) <= kTransmittanceMargin * kHalf) fragile_median = true;
    transmittance = next;
    ++contributors;
    return Fate::blended;
}

PixelBackward::Step PixelBackward::pass(const Projected& p, const Evaluation& e) {
    const double before = transmittance / (1 - e.alpha), weight = before * e.alpha;
    const double own = dot(p.color, v_color) + v_alpha + p.depth * v_depth;
    const Step out{weight, before * own - behind / (1 - e.alpha)};
    behind += weight * own;
    transmittance = before;
    return out;
}

}  // namespace gs::reference
