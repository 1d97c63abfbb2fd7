// Initial points for captures that come without any. Called by load_capture.
#pragma once

#include <cstdint>
#include <vector>

#include "renderer/scene/capture.h"

namespace gs {

struct Box {
    Vec3d lo, hi;
};
/// A box around what the cameras look at: centred where their axes come closest together, reaching
/// to the farthest camera whose pose is not lost (scene/lost_views.h).
Box box_from_cameras(const std::vector<View>& views);
/// `count` grey points, uniform in the box; the same for the same seed everywhere.
std::vector<SparsePoint> random_points(const Box& box, std::size_t count, std::uint64_t seed);

}  // namespace gs
