#include "renderer/maps/scalar_map.h"

#include <limits>

#include "renderer/maps/plane.h"

namespace gs {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class Count>
ImageF counts(int width, int height, const Count* count) {
    return plane_of(width, height, [=](std::size_t i) { return static_cast<float>(count[i]); });
}

/// No value anywhere where it was not measured.
template <class T>
ScalarMap of_tiles(const RenderResult& result, const Buffer<T>& values, const char* unit) {
    const bool measured = !values.empty();
    return {
        plane_of(result.tiles_x, result.tiles_y,
                 [&](std::size_t i) { return measured ? static_cast<float>(values[i]) : kNaN; }),
        kTileSize, unit};
}

/// Of the pairs that a tile evaluated, the share that changed no pixel.
ScalarMap wasted_share(const RenderResult& result) {
    const BlendCosts& costs = result.costs;
    return {plane_of(result.tiles_x, result.tiles_y,
                     [&](std::size_t i) {
                         if (costs.empty() || costs.tile_evaluated[i] == 0) return kNaN;
                         return 1.0f - static_cast<float>(costs.tile_blended[i]) /
                                           static_cast<float>(costs.tile_evaluated[i]);
                     }),
            kTileSize, "share of pairs wasted"};
}

}  // namespace

ScalarMap scalar_map(const RenderResult& result, ViewMode mode) {
    const int w = result.width, h = result.height;
    switch (mode) {
        case ViewMode::depth: {
            const float *alpha = result.alpha.plane(0), *depth = result.depth.plane(0);
            return {
                plane_of(w, h,
                         [=](std::size_t i) { return alpha[i] > 0 ? depth[i] / alpha[i] : kNaN; }),
                1, "world units"};
        }
        case ViewMode::median: {
            const float* median = result.median_depth.plane(0);
            return {plane_of(w, h, [=](std::size_t i) { return median[i] > 0 ? median[i] : kNaN; }),
                    1, "world units"};
        }
        case ViewMode::alpha:
            return {result.alpha, 1, "alpha"};
        case ViewMode::contributors:
            return {counts(w, h, result.contributors.data()), 1, "Gaussians"};
        case ViewMode::isects:
            return {counts(result.tiles_x, result.tiles_y, result.isects_per_tile.data()),
                    kTileSize, "Gaussians per tile"};
        case ViewMode::pairs:
            return {counts(result.tiles_x, result.tiles_y, result.pairs_per_tile.data()), kTileSize,
                    "pairs per tile"};
        case ViewMode::time:
            return of_tiles(result, result.costs.tile_ns, "ns per tile");
        case ViewMode::backward_time:
            return of_tiles(result, result.backward_costs.tile_ns, "ns per tile, backward");
        case ViewMode::backward_pairs:
            return of_tiles(result, result.backward_costs.tile_evaluated,
                            "pairs per tile, backward");
        case ViewMode::wasted:
            return wasted_share(result);
        case ViewMode::color:
        case ViewMode::error:
        case ViewMode::photo:
        case ViewMode::normals:
            break;
    }
    return {};
}

void want_maps(ViewMode mode, RenderOptions& options) {
    options.costs |= mode >= ViewMode::time;
    options.counters |= options.costs || mode == ViewMode::contributors || mode == ViewMode::pairs;
    options.gradients |= is_of_backward(mode);
    options.median_depth |= mode == ViewMode::median || mode == ViewMode::normals;
    options.depth |= mode == ViewMode::depth || options.median_depth;
}

}  // namespace gs
