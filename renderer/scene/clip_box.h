// ClipBox: the part of the world that a viewer wants drawn. Pictures for people only: nothing is
// trained or measured through one.
#pragma once

#include "base/vec.h"

namespace gs {

/// Gaussians whose means lie outside draw nothing. World units, lo <= hi on every axis.
struct ClipBox {
    Vec3f lo{}, hi{};
    bool holds(Vec3d p) const {
        return p.x >= static_cast<double>(lo.x) && p.x <= static_cast<double>(hi.x) &&
               p.y >= static_cast<double>(lo.y) && p.y <= static_cast<double>(hi.y) &&
               p.z >= static_cast<double>(lo.z) && p.z <= static_cast<double>(hi.z);
    }
};

}  // namespace gs
