#include "app/backend/frame_work.h"

#include <cmath>

namespace gs {

FrameWork frame_work(const RenderCounters& c, int width, int height, int sh_degree, bool cuda,
                     bool training, bool all_counted) {
    FrameWork work{.cuda = cuda,
                   .gaussians = static_cast<double>(c.gaussians),
                   .candidates = static_cast<double>(c.candidates),
                   .visible = static_cast<double>(c.visible),
                   .isects = static_cast<double>(c.isects)};
    if (all_counted || c.evaluated_pairs > 0) {
        work.evaluated = static_cast<double>(c.evaluated_pairs);
        work.blended = static_cast<double>(c.blended_pairs);
    }
    if (all_counted || c.warps.near > 0) {
        work.batches = static_cast<double>(c.warps.batches);
        work.group_tests = static_cast<double>(c.warps.group_tests);
        work.near = static_cast<double>(c.warps.near);
        work.open = static_cast<double>(c.warps.open);
        work.live_isects = static_cast<double>(c.warps.live_isects);
        work.live_sub_tiles = static_cast<double>(c.warps.live_sub_tiles);
    }
    work.pixels = static_cast<double>(width) * height;
    work.tiles = std::ceil(width / static_cast<double>(kTileSize)) *
                 std::ceil(height / static_cast<double>(kTileSize));
    work.sh_degree = sh_degree;
    work.training = training;
    return work;
}

PredictedWork predicted_work(const RenderResult& drawn, int sh_degree, bool cuda) {
    PredictedWork work;
    work.frame = frame_work(drawn.counters, drawn.width, drawn.height, sh_degree, cuda,
                            /*training=*/false, /*all_counted=*/true);
    work.tiles.reserve(drawn.isects_per_tile.size());
    for (std::size_t tile = 0; tile < drawn.isects_per_tile.size(); ++tile)
        work.tiles.push_back(
            {drawn.isects_per_tile[tile], static_cast<float>(drawn.pairs_per_tile[tile])});
    return work;
}

}  // namespace gs
