// ClipBox: the part of the world that a viewer wants drawn. Pictures for people only: nothing is
// trained or measured through one.
#pragma once

#include "base/vec.h"

namespace gs {

/// Gaussians whose means lie outside draw nothing. World units, lo <= hi on every axis.
struct ClipBox {
    Vec3f lo{}, hi{};
};

}  // namespace gs
