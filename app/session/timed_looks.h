// Measures the blending time of each tile more than once: a waiting thread makes a tile look
// expensive. For the inspector's tiles and for costs.
#pragma once

#include <algorithm>

#include "renderer/raster/rasterizer.h"

namespace gs {

inline constexpr int kTimedLooks = 3;

/// `now` becomes the least of both, where there is one yet, and `least` as well.
inline void keep_least(Buffer<float>& least, Buffer<float>& now) {
    if (least.size() == now.size())
        for (std::size_t i = 0; i < now.size(); ++i) now[i] = std::min(now[i], least[i]);
    least = now;
}

/// Calls draw(), which fills `result`, kTimedLooks times; the time of each tile, forward and
/// backward, is the least it took. Once where the backend measures none.
template <class Draw>
void draw_with_least_times(RenderResult& result, Draw&& draw) {
    Buffer<float> forward, backward;
    for (int look = 0; look < kTimedLooks; ++look) {
        draw();
        if (result.costs.tile_ns.empty()) return;
        keep_least(forward, result.costs.tile_ns);
        keep_least(backward, result.backward_costs.tile_ns);
    }
}

}  // namespace gs
