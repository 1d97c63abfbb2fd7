// A run's correction of a photo's pose: for the cameras' table and for the arrows at their frusta.
// Made by the engine (app/session/photo_looks.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

#include "renderer/scene/camera.h"

namespace gs {

struct PoseChange {
    std::size_t view = 0;
    double degrees = 0;  ///< turned by
    Vec3d move{};        ///< world units
    Vec3d looked{};      ///< input view direction: unit vector, world

    double length() const { return std::sqrt(dot(move, move)); }
};

/// Unit vector, world.
inline Vec3d ahead(const Camera& camera) {
    const auto& row = camera.rotation.m[2];
    return {row[0], row[1], row[2]};
}

/// From the capture's pose to the run's.
inline PoseChange pose_change(std::size_t view, const Camera& given, const Camera& now) {
    const Mat3d turn = transpose(now.rotation) * given.rotation;
    const auto& m = turn.m;
    const Vec3d twice_sine{m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]};
    const double angle =
        std::atan2(std::sqrt(dot(twice_sine, twice_sine)), m[0][0] + m[1][1] + m[2][2] - 1);
    return {view, angle * 180 / std::numbers::pi, now.position() - given.position(), ahead(given)};
}

/// Null: the run keeps this view's input pose. `changes`: in the order of views.
inline const PoseChange* change_of(std::span<const PoseChange> changes, std::size_t view) {
    const auto at = std::ranges::lower_bound(changes, view, {}, &PoseChange::view);
    return at != changes.end() && at->view == view ? &*at : nullptr;
}

}  // namespace gs
