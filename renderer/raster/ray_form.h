// A Gaussian as the rays of one tile meet it: of all ways of blending along rays, a lidar's
// (rays/trace.cpp, which says why it is done so; on a device trainer/cuda/beams.cu) and a picture's
// (cpu/tensor_tile.cpp). Trivial, as shared memory wants it.
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"

namespace gs {

struct RayForm {
    float whitening[9];  ///< M by rows (math/along_ray.h)
    float arm[3];        ///< M (o + L d - mean), o and d: the tile's middle ray
    float step[3];       ///< M d
    float along;         ///< L
    float log2_opacity;
    float apart[3];  ///< o + L d - mean, world
    GS_HD Vec3f offset() const { return {apart[0], apart[1], apart[2]}; }
};
GS_HD inline RayForm ray_form(const float (&whitening)[9], Vec3f mean, float log2_opacity,
                              Vec3d origin, Vec3d direction) {
    const Vec3d arm = origin - Vec3d{mean.x, mean.y, mean.z};
    const double along = math::max(-dot(arm, direction), 0.0);
    const Vec3d at = arm + along * direction;
    RayForm out{};
    for (int k = 0; k < 9; ++k) out.whitening[k] = whitening[k];
    for (int k = 0; k < 3; ++k) {
        const Vec3d row{whitening[3 * k], whitening[3 * k + 1], whitening[3 * k + 2]};
        out.arm[k] = static_cast<float>(dot(row, at));
        out.step[k] = static_cast<float>(dot(row, direction));
    }
    out.along = static_cast<float>(along);
    out.log2_opacity = log2_opacity;
    out.apart[0] = static_cast<float>(at.x);
    out.apart[1] = static_cast<float>(at.y);
    out.apart[2] = static_cast<float>(at.z);
    return out;
}

}  // namespace gs
