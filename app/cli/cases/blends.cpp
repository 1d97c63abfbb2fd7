// Compares every way of blending a frame forward and backward with the reference: all forms of a
// kernel must draw the same.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// Where rounding cannot flip a decision.
struct PictureApart {
    ComparisonRow color{"colour", kColorLimit}, alpha{"alpha", kColorLimit},
        depth{"depth", kDepthLimit}, median{"median depth", kDepthLimit}, counts{"counts"};
    void add(const RenderResult& drawn, const RenderOptions& o, const reference::Picture& truth) {
        const double far = std::max(1e-12, *std::ranges::max_element(truth.depth));
        const std::size_t n = truth.pixels();
        for (std::size_t i = 0; i < n; ++i) {
            if (truth.fragile[i] != 0) continue;
            for (std::size_t c = 0; c < 3; ++c)
                color.add(truth.color[3 * i + c], drawn.color.values[c * n + i]);
            alpha.add(truth.alpha[i], drawn.alpha.values[i]);
            if (o.depth) depth.add(truth.depth[i] / far, drawn.depth.values[i] / far);
            if (o.median_depth && truth.fragile_median[i] == 0)
                median.add(truth.median_depth[i] / far, drawn.median_depth.values[i] / far);
            if (o.counters) counts.add(truth.contributors[i], drawn.contributors[i]);
        }
    }
};

std::vector<RenderOptions> ways_forward() {
    std::vector<RenderOptions> out;
    for (int depths = 0; depths < 3; ++depths)
        for (const bool counters : {false, true})
            for (const bool gradients : {false, true}) {
                RenderOptions o{.depth = depths > 0,
                                .median_depth = depths > 1,
                                .gradients = gradients,
                                .counters = counters};
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
    PictureApart apart;
    bool costs = true;
    const auto ways = ways_forward();
    for (const RenderOptions& o : ways) {
        RenderResult drawn;
        rasterizer->forward(*source, scene.camera, o, *state, drawn);
        apart.add(drawn, o, truth);
        if (o.costs) costs = costs && costs_add_up(drawn);
    }
    CheckRow row = compared(
        label_of(backend), {}, {apart.color, apart.alpha, apart.depth, apart.median, apart.counts},
        fmt::format("{} ways, costs {}: ", ways.size(), costs ? "add up" : "do not add up"));
    row.passed = row.passed && costs;
    return row;
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
    const RenderOptions o{
        .depth = way.depth, .absolute = way.absolute, .counters = way.costs, .costs = way.costs};
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
    ComparisonRow gradient{"gradient", kGradientLimit},
        pulls{"pulls without signs, of the CPU's,", kGradientLimit};
    for (const WayBackward& way : kWaysBackward) {
        const PixelGradients& upstream = (way.depth ? deep : plain).pixels;
        const GradientStore got = gradients_of(*rasterizer, scene, way, upstream);
        const auto& truth = truths[way.depth ? 1 : 0];
        gradient.add(0, compare({"", 0, Measure::l2}, truth.values, got.gradients.values).figure());
        if (way.absolute)
            pulls.add(0, compare({"", 0, Measure::of_largest},
                                 gradients_of(*cpu, scene, way, upstream).mean2d, got.mean2d)
                             .figure());
    }
    return compared(label_of(backend), {}, {gradient, pulls},
                    fmt::format("{} ways: ", std::size(kWaysBackward)));
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
