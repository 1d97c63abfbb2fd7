// Origins: what is subtracted from positions that are far from zero (geographic coordinates), so
// that single precision still holds their shape. A position in the file is origin + position here.
// Chosen by readers of captures and splats, kept in Capture and GaussianModel, added again by
// writers. docs/captures.md has the rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/vec.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/trajectory.h"

namespace gs {

/// Positions get an origin where their middle is this many times as far from zero as they are
/// spread. Single precision then still resolves 1/4096 of the spread; below, nothing changes.
inline constexpr double kFarFromZero = 4096;

/// The median on each axis. Needs a place.
Vec3d median_place(const std::vector<Vec3d>& places);

/// The origin of a scene: the median of `cameras` (of `points` where there is none), rounded to a
/// power of ten below the spread; zero where they are not far from zero. Spread: the larger of the
/// median distances of cameras and of points from that median. Values that are not finite do not
/// count.
Vec3d origin_for(std::span<const Vec3d> cameras, std::span<const Vec3d> points);

constexpr bool is_zero(Vec3d v) { return v.x == 0 && v.y == 0 && v.z == 0; }
constexpr bool same_place(Vec3d a, Vec3d b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
/// Of a position in the file, less the origin.
inline Vec3f local_position(Vec3d world, Vec3d origin) {
    const Vec3d d = world - origin;
    return {static_cast<float>(d.x), static_cast<float>(d.y), static_cast<float>(d.z)};
}
inline Vec3d world_position(Vec3f local, Vec3d origin) {
    return origin + Vec3d{local.x, local.y, local.z};
}

/// The same camera, pose or way in a world whose zero is at `zero` of this one.
Camera seen_from_zero(Camera camera, Vec3d zero);
Trajectory seen_from_zero(const Trajectory& trajectory, Vec3d zero);

/// Exchanges the origin: positions in the file stay what they are.
void set_origin(GaussianModel& model, Vec3d origin);
/// The same for a splat file beside a scene. Formats without a place for an origin hold positions
/// less it: where either has none, positions here stay what they are.
inline void meet_origin(GaussianModel& model, Vec3d origin) {
    if (is_zero(model.origin) || is_zero(origin))
        model.origin = origin;
    else
        set_origin(model, origin);
}

/// "(500000, 4500000, 100)", with all digits that are needed.
std::string text_of_origin(Vec3d origin);

}  // namespace gs
