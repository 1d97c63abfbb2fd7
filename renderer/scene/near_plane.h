// Where pictures begin. The published near planes are lengths in world units (0.01 in gsplat, 0.2
// in the 3DGS authors' code); a world that is much smaller than a unit would lie before them
// entirely.
#pragma once

#include "renderer/scene/gaussian_model.h"

namespace gs {

/// World units, for a scene of this extent: a hundredth of it when that is below one unit; 0: the
/// rasterizer's own is right.
inline float near_plane_for(double extent) {
    return extent > 0 && extent < 1 ? static_cast<float>(0.01 * extent) : 0.0f;
}
/// The same by the distance that half of the means keep from the middle.
float near_plane_of(const GaussianModel& model);

}  // namespace gs
