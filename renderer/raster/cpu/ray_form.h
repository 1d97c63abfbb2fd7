// A Gaussian as the rays of one tile meet it: what both ways of blending along rays, a lidar's
// (rays/trace.cpp, which says why it is done so) and a picture's (tensor_tile.cpp), hand to
// ray_lanes.h.
#pragma once

#include <algorithm>

#include "base/vec.h"

namespace gs::cpu {

struct RayForm {
    float whitening[9];  ///< M by rows (math/along_ray.h)
    float arm[3];        ///< M (o + L d - mean), o and d: the tile's middle ray
    float step[3];       ///< M d
    float along;         ///< L
    float log2_opacity;
    Vec3f offset;  ///< o + L d - mean, world
};
inline RayForm ray_form(const float (&whitening)[9], Vec3f mean, float log2_opacity, Vec3d origin,
                        Vec3d direction) {
    const Vec3d arm = origin - Vec3d{mean.x, mean.y, mean.z};
    const double along = std::max(-dot(arm, direction), 0.0);
    const Vec3d at = arm + along * direction;
    RayForm out{};
    std::copy_n(whitening, 9, out.whitening);
    for (int k = 0; k < 3; ++k) {
        const Vec3d row{whitening[3 * k], whitening[3 * k + 1], whitening[3 * k + 2]};
        out.arm[k] = static_cast<float>(dot(row, at));
        out.step[k] = static_cast<float>(dot(row, direction));
    }
    out.along = static_cast<float>(along);
    out.log2_opacity = log2_opacity;
    out.offset = {static_cast<float>(at.x), static_cast<float>(at.y), static_cast<float>(at.z)};
    return out;
}

}  // namespace gs::cpu
