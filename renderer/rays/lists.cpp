#include "renderer/rays/lists.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/parallel.h"
#include "renderer/math/scalar.h"
#include "renderer/rays/places.h"
#include "renderer/scene/trajectory.h"

namespace gs {
namespace {

/// False where it draws nothing, whatever the ray.
bool prepare(const GaussianModel& model, std::size_t i, const RayPlaces& places, float alpha_min,
             RayGaussian& out, RayOutline& outline) {
    const float opacity = math::sigmoid(model.at(kOpacityLogits, i));
    if (!(opacity > alpha_min)) return false;
    const Vec3f scale{std::exp(model.at(kLogScales, i)), std::exp(model.at(kLogScales + 1, i)),
                      std::exp(model.at(kLogScales + 2, i))};
    const Quatf quat{model.at(kQuats, i), model.at(kQuats + 1, i), model.at(kQuats + 2, i),
                     model.at(kQuats + 3, i)};
    const Mat3f m = math::whitening(scale, quat);
    std::copy_n(&m.m[0][0], 9, out.whitening);
    out.mean = model.mean(i);
    out.log2_opacity = std::log2(opacity);
    out.row = static_cast<std::uint32_t>(i);
    const bool drawn = places.outline(scale, quat, m, opacity, alpha_min, outline);
    out.reach = outline.reach;
    return drawn;
}
float largest_scale(const GaussianModel& model, std::size_t i) {
    return std::exp(std::max(
        {model.at(kLogScales, i), model.at(kLogScales + 1, i), model.at(kLogScales + 2, i)}));
}

/// NaN: not drawn.
float depth_of(const GaussianModel& model, std::size_t i, const RayOrder& order) {
    const Vec3f m = model.mean(i);
    const Vec3d arm = Vec3d{m.x, m.y, m.z} - order.place;
    const double depth = order.axis ? dot(*order.axis, arm) : std::sqrt(dot(arm, arm));
    if (order.axis && !(depth > order.near_plane)) return std::nanf("");
    return static_cast<float>(depth);
}

struct RayPair {
    std::uint32_t tile, gaussian;
};

}  // namespace

RayPlaces::RayPlaces(const RayTiles& rays)
    : place(inverse_of(rays.frame()).translation),
      spread(rays.spread()),
      bins(rays.bins().data()),
      tiles(rays.tiles().data()),
      bin_count(static_cast<std::uint32_t>(rays.bins().size())) {
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            rotation.m[i][k] = static_cast<float>(rays.frame().rotation.m[i][k]);
    float covered = 0;
    for (const RayBin& bin : rays.bins()) covered += bin.high - bin.low;
    gaps = covered < 2;
    float low = 1e30f, high = -1e30f;
    for (const RayTile& tile : rays.tiles()) {
        low = std::min(low, tile.low);
        high = std::max(high, tile.high);
    }
    for (const auto& [slope, side, to] :
         {std::tuple{low, -1.0f, &outward[0]}, std::tuple{high, 1.0f, &outward[1]}}) {
        const float length = side / std::sqrt(1 + slope * slope);
        *to = {-slope * length, length};
    }
}

void copy_geometry(ParameterSource& source, GaussianModel& out) {
    if (out.count != source.count()) out = GaussianModel(source.count(), 0);
    parallel_for(out.blocks(), 64, [&](std::size_t block) {
        alignas(64) float scratch[kGeometryPlanes * kBlock];
        const BlockView view = source.geometry(block, scratch);
        for (int p = 0; p < kGeometryPlanes; ++p)
            std::copy_n(view.planes + static_cast<std::size_t>(p) * view.stride, kBlock,
                        out.plane(p) + block * kBlock);
    });
}

RayLists list_gaussians(const GaussianModel& model, const RayTiles& tiles, const RayOrder& order,
                        const RasterRules& rules) {
    const std::size_t n = model.count, chunks = (n + kListChunk - 1) / kListChunk,
                      tile_count = tiles.tiles().size();
    const RayPlaces places(tiles);
    RayLists out;
    out.chunks.resize(chunks);
    std::vector<std::vector<RayPair>> pairs(chunks);
    parallel_for(chunks, 1, [&](std::size_t chunk) {
        std::vector<RayGaussian>& prepared = out.chunks[chunk];
        for (std::size_t i = chunk * kListChunk; i < std::min(n, (chunk + 1) * kListChunk); ++i) {
            RayGaussian g;
            RayOutline outline{};
            g.depth = depth_of(model, i, order);
            if (!std::isfinite(g.depth) || places.beyond(model.mean(i), largest_scale(model, i)) ||
                !prepare(model, i, places, rules.alpha_min, g, outline))
                continue;
            const std::size_t before = pairs[chunk].size();
            const auto index = static_cast<std::uint32_t>(chunk * kListChunk + prepared.size());
            places.place_in(g.mean, outline, [&](std::uint32_t t) {
                pairs[chunk].push_back({t, index});
            });
            if (pairs[chunk].size() > before) prepared.push_back(g);
        }
    });
    std::vector<std::uint32_t> fill(tile_count + 1);
    for (std::size_t c = 0; c < chunks; ++c) {
        out.visible += out.chunks[c].size();
        for (const RayPair pair : pairs[c]) ++fill[pair.tile + 1];
    }
    for (std::size_t t = 0; t < tile_count; ++t) fill[t + 1] += fill[t];
    out.begin = fill;
    out.of_tile.resize_discard(fill[tile_count]);
    for (const auto& of_chunk : pairs)
        for (const RayPair pair : of_chunk) out.of_tile.data()[fill[pair.tile]++] = pair.gaussian;
    return out;
}

}  // namespace gs
