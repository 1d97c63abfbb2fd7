// Projects world points and lines into a camera's picture through any lens, for everything drawn
// over the viewport. Pure geometry on pixel coordinates of the picture.
#pragma once

#include <array>
#include <optional>

#include "renderer/scene/camera.h"

namespace gs {

struct Pixel {
    double x = 0, y = 0;
};

/// The place of `point` (world) in `camera`'s picture; nothing when it is nearer than `near_depth`,
/// behind the camera, or outside the lens's view. For a lens that looks sideways, the depth is
/// the distance.
std::optional<Pixel> project_point(const Camera& camera, Vec3d point, double near_depth);
/// The visible part of a world segment, cut at the near plane; nothing when it lies behind. Through
/// a lens that bends lines: straight between its ends, nothing unless both are seen on one side of
/// the picture's seam.
std::optional<std::array<Pixel, 2>> project_segment(const Camera& camera, Vec3d a, Vec3d b,
                                                    double near_depth);
/// Into how many pieces a line is cut so that it looks as bent as the lens draws it.
int pieces_of_line(const Camera& camera);
/// draw(std::array<Pixel, 2>) for each piece that is seen.
template <class Draw>
void project_line(const Camera& camera, Vec3d a, Vec3d b, double near_depth, Draw&& draw) {
    const int pieces = pieces_of_line(camera);
    for (int k = 0; k < pieces; ++k) {
        const Vec3d from = a + (static_cast<double>(k) / pieces) * (b - a),
                    to = a + (static_cast<double>(k + 1) / pieces) * (b - a);
        if (const auto line = project_segment(camera, from, to, near_depth)) draw(*line);
    }
}

/// The unit direction (camera axes) that falls on a place of the picture, px; nothing where no ray
/// does.
std::optional<Vec3d> ray_direction(const Camera& camera, double x, double y);

}  // namespace gs
