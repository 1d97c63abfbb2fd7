// Procedural surfaces of the sample scene: colour and gloss from the place on a shape. Pure
// functions of their arguments, so the picture is the same on every machine and thread. Called by
// render.cpp.
#pragma once

#include "app/sample/geometry.h"

namespace gs::sample {

struct Surface {
    Vec3f albedo{0.5f, 0.5f, 0.5f};  ///< linear light
    float gloss = 0;                 ///< strength of the highlight
    float glow = 0;                  ///< light of its own, times albedo
};

/// `world`: the place in the world; `hit.local`: the place on the shape.
Surface surface_of(const Shape& shape, const Hit& hit, Vec3f world);

}  // namespace gs::sample
