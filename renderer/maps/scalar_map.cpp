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
                    kTileSize, "isects per tile"};
        case ViewMode::pairs:
            return {counts(result.tiles_x, result.tiles_y, result.pairs_per_tile.data()), kTileSize,
                    "pairs per tile"};
        case ViewMode::color:
        case ViewMode::error:
        case ViewMode::photo:
        case ViewMode::normals:
            break;
    }
    return {};
}

void want_maps(ViewMode mode, RenderOptions& options) {
    options.counters |= mode == ViewMode::contributors || mode == ViewMode::pairs;
    options.median_depth |= mode == ViewMode::median || mode == ViewMode::normals;
    options.depth |= mode == ViewMode::depth || options.median_depth;
}

}  // namespace gs
