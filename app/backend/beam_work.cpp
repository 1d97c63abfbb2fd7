#include "app/backend/beam_work.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "renderer/math/along_ray.h"
#include "renderer/rays/lists.h"

namespace gs {
namespace {

bool is_met(const RayGaussian& g, const CameraRay& ray, float alpha_min) {
    Mat3d whitening;
    for (int k = 0; k < 9; ++k) whitening.m[k / 3][k % 3] = g.whitening[k];
    const auto at =
        math::nearest(whitening, ray.origin - Vec3d{g.mean.x, g.mean.y, g.mean.z}, ray.direction);
    return at.hit >= 0 && std::exp2(g.log2_opacity) * std::exp(-at.distance2 / 2) >= alpha_min;
}
}  // namespace

BeamWork beam_work(const GaussianModel& model, const BeamPlan& plan, const RasterRules& rules) {
    const RayTiles tiles(plan.rays, plan.sensor_from_world);
    const RayImage image = trace_rays(model, {}, tiles, {plan.place, {}}, rules);
    BeamWork out{.rays = static_cast<double>(tiles.rays()),
                 .tiles = static_cast<double>(tiles.tiles().size()),
                 .listed = static_cast<double>(image.visible),
                 .pairs = static_cast<double>(image.pairs)};
    std::vector<double> met(tiles.tiles().size());
    std::vector<std::uint32_t> last(met.size());
    parallel_for(met.size(), 1, [&](std::size_t i) {
        const std::span of_tile =
            std::span(tiles.ray_of()).subspan(tiles.tiles()[i].first, tiles.tiles()[i].count);
        for (const std::uint32_t ray : of_tile) last[i] = std::max(last[i], image.last[ray]);
        for (std::uint32_t place = 0; place < last[i]; ++place) {
            const auto meets =
                [&, &g = image.lists->at(image.lists->of_tile[image.lists->begin[i] + place])](
                    auto ray) { return is_met(g, plan.rays[ray], rules.alpha_min); };
            for (std::size_t from = 0; from < of_tile.size(); from += 32)
                met[i] += std::ranges::any_of(
                    of_tile.subspan(from, std::min<std::size_t>(32, of_tile.size() - from)), meets);
        }
    });
    for (std::size_t i = 0; i < met.size(); ++i) {
        out.walked += last[i];
        out.longest = std::max<double>(out.longest, last[i]);
        out.met += met[i];
    }
    return out;
}

}  // namespace gs
