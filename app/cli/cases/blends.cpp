// Compares every way of blending a frame forward and backward with the reference: all forms of a
// kernel must draw the same.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "app/cli/cases/apart.h"
#include "app/cli/cases/cases.h"
#include "app/cli/cases/scenes.h"
#include "app/verify/frame_check.h"
#include "app/verify/gradient_store.h"
#include "renderer/reference/rasterize.h"

namespace gs::cli {
namespace {

constexpr double kDepthLimit = 1e-4;  ///< over the largest depth

struct BlendScene {
    const char* name;
    CaseScene (*make)();
};
constexpr BlendScene kScenes[] = {
    {"12 tiles", [] { return case_scene(300, 2, 49, 35, 31); }},
    {"split tiles, pixels end late", [] { return crowded_scene(1300, 24, 16, 0.012f, 32); }},
    {"split tiles, pixels end at once", [] { return crowded_scene(1100, 16, 16, 0.95f, 33); }},
};

/// How far a picture lies from the truth, where rounding cannot flip a decision.
struct Apart {
    double color = 0, alpha = 0, depth = 0, median = 0;
    std::size_t counts = 0;
    bool ok() const {
        return color <= kColorLimit && alpha <= kColorLimit && depth <= kDepthLimit &&
               median <= kDepthLimit && counts == 0;
    }
};
void measure(const RenderResult& drawn, const RenderOptions& o, const reference::Picture& truth,
             Apart& out) {
    const double far = std::max(1e-12, *std::max_element(truth.depth.begin(), truth.depth.end()));
    for (std::size_t i = 0; i < truth.pixels(); ++i) {
        if (truth.fragile[i] != 0) continue;
        for (std::size_t c = 0; c < 3; ++c)
            widen(out.color,
                  std::abs(drawn.color.values[c * truth.pixels() + i] - truth.color[3 * i + c]));
        widen(out.alpha, std::abs(drawn.alpha.values[i] - truth.alpha[i]));
        if (o.depth) widen(out.depth, std::abs(drawn.depth.values[i] - truth.depth[i]) / far);
        if (o.median_depth && truth.fragile_median[i] == 0)
            widen(out.median, std::abs(drawn.median_depth.values[i] - truth.median_depth[i]) / far);
        if (o.counters && drawn.contributors[i] != truth.contributors[i]) ++out.counts;
    }
}

std::vector<RenderOptions> ways_forward() {
    std::vector<RenderOptions> out;
    for (int depths = 0; depths < 3; ++depths)
        for (const bool counters : {false, true})
            for (const bool gradients : {false, true}) {
                RenderOptions o;
                o.depth = depths > 0;
                o.median_depth = depths > 1;
                o.counters = counters;
                o.gradients = gradients;
                out.push_back(o);
                o.costs = counters && depths == 0;
                if (o.costs) out.push_back(o);
            }
    return out;
}

/// Tiles' and Gaussians' shares add up to what was counted in all. Rows are counted, in tiles of
/// several items, as if nothing lay before an item: never less.
bool costs_add_up(const RenderResult& r) {
    const auto sum = [](const Buffer<std::uint32_t>& of) {
        return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
    };
    const std::uint64_t evaluated = r.counters.evaluated_pairs;
    return sum(r.costs.tile_evaluated) == evaluated && sum(r.costs.evaluated) >= evaluated &&
           sum(r.costs.blended) >= r.counters.blended_pairs &&
           sum(r.costs.tile_blended) >= r.counters.blended_pairs;
}

CheckRow check_forward(const Backend& backend, const BlendScene& s) {
    const CaseScene scene = s.make();
    const reference::Picture truth =
        reference::render(reference::Parameters(scene.model), scene.camera, {});
    const auto rasterizer = rasterizer_of(backend);
    const auto source = rasterizer->source_of(scene.model);
    const auto state = rasterizer->make_state();
    Apart apart;
    bool costs = true;
    const auto ways = ways_forward();
    for (const RenderOptions& o : ways) {
        RenderResult drawn;
        rasterizer->forward(*source, scene.camera, o, *state, drawn);
        measure(drawn, o, truth, apart);
        if (o.costs) costs = costs && costs_add_up(drawn);
    }
    return {
        label_of(backend),
        {},
        fmt::format("{} ways: colour {:.1e}, alpha {:.1e} (limit {:.0e}), depth {:.1e}, median "
                    "{:.1e} (limit {:.0e}), {} counts differ, costs {}",
                    ways.size(), apart.color, apart.alpha, kColorLimit, apart.depth, apart.median,
                    kDepthLimit, apart.counts, costs ? "add up" : "do not add up"),
        apart.ok() && costs};
}

/// A smooth gradient of the picture for both, zero where rounding may flip a decision.
struct Upstream {
    PixelGradients pixels;
    reference::PictureGradient truth;
};
Upstream upstream_of(const reference::Picture& picture, bool depth) {
    Upstream out;
    const std::size_t n = picture.pixels();
    out.pixels.color.resize(picture.width, picture.height, 3);
    out.truth.color.assign(3 * n, 0);
    const auto value = [&](std::size_t pixel, std::size_t channel) {
        return picture.fragile[pixel] != 0
                   ? 0.0f
                   : static_cast<float>(1e-2 * std::sin(0.013 * static_cast<double>(pixel) +
                                                        static_cast<double>(channel)));
    };
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            out.truth.color[3 * i + c] = out.pixels.color.values[c * n + i] = value(i, c);
    if (!depth) return out;
    out.pixels.alpha.resize(picture.width, picture.height, 1);
    out.pixels.depth.resize(picture.width, picture.height, 1);
    out.truth.alpha.assign(n, 0);
    out.truth.depth.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        out.truth.alpha[i] = out.pixels.alpha.values[i] = value(i, 3);
        out.truth.depth[i] = out.pixels.depth.values[i] = 0.1f * value(i, 4);
    }
    return out;
}

double relative(const reference::Parameters& got, const reference::Parameters& truth) {
    double squares = 0, norm = 0;
    for (std::size_t i = 0; i < truth.values.size(); ++i) {
        squares += (got.values[i] - truth.values[i]) * (got.values[i] - truth.values[i]);
        norm += truth.values[i] * truth.values[i];
    }
    const double out = std::sqrt(squares / std::max(norm, 1e-300));
    return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;
}

struct WayBackward {
    bool depth, costs, absolute;
};
constexpr WayBackward kWaysBackward[] = {
    {false, false, false}, {true, false, false}, {false, true, false},
    {false, false, true},  {true, false, true},
};

GradientStore gradients_of(Rasterizer& rasterizer, const CaseScene& scene, const WayBackward& way,
                           const PixelGradients& upstream) {
    const auto source = rasterizer.source_of(scene.model);
    const auto state = rasterizer.make_state();
    RenderOptions o;
    o.depth = way.depth;
    o.counters = o.costs = way.costs;
    o.absolute = way.absolute;
    RenderResult drawn;
    rasterizer.forward(*source, scene.camera, o, *state, drawn);
    GradientStore store(scene.model);
    rasterizer.backward(*source, scene.camera, o, *state, drawn, upstream, store);
    return store;
}

CheckRow check_backward(const Backend& backend, const BlendScene& s) {
    const CaseScene scene = s.make();
    const reference::Parameters parameters(scene.model);
    const reference::Picture picture = reference::render(parameters, scene.camera, {});
    const Upstream plain = upstream_of(picture, false), deep = upstream_of(picture, true);
    const auto truth_of = [&](const Upstream& v) {
        return reference::render_backward(parameters, scene.camera, {}, picture, v.truth)
            .parameters;
    };
    const reference::Parameters truths[] = {truth_of(plain), truth_of(deep)};
    const auto rasterizer = rasterizer_of(backend);
    const auto cpu = make_cpu_rasterizer();
    double worst = 0, pulls = 0;
    for (const WayBackward& way : kWaysBackward) {
        const PixelGradients& upstream = (way.depth ? deep : plain).pixels;
        const GradientStore got = gradients_of(*rasterizer, scene, way, upstream);
        widen(worst, relative(got.gradients, truths[way.depth ? 1 : 0]));
        if (way.absolute)
            widen(pulls,
                  relative_apart(got.mean2d, gradients_of(*cpu, scene, way, upstream).mean2d));
    }
    return {label_of(backend),
            {},
            fmt::format("{} ways: gradient {:.1e}, pulls without signs {:.1e} of the CPU's (limit "
                        "{:.0e})",
                        std::size(kWaysBackward), worst, pulls, kGradientLimit),
            worst <= kGradientLimit && pulls <= kGradientLimit};
}

}  // namespace

void add_blend_cases(CaseList& list, const Backend& backend) {
    for (const BlendScene& s : kScenes) {
        add_case(list, fmt::format("blend: every way forward, {}", s.name),
                 [b = &backend, &s] { return check_forward(*b, s); });
        add_case(list, fmt::format("blend: every way backward, {}", s.name),
                 [b = &backend, &s] { return check_backward(*b, s); });
    }
}

}  // namespace gs::cli
