// Which way a lidar's beam goes. Axes: x ahead, y left, z up.
#pragma once

#include <cmath>

#include "base/vec.h"

namespace gs {

/// Radians; azimuth from x towards y, -pi to pi.
struct BeamAngles {
    double azimuth = 0, elevation = 0;
};
inline BeamAngles angles_of(Vec3d d) {
    return {std::atan2(d.y, d.x), std::atan2(d.z, std::hypot(d.x, d.y))};
}
/// Of length 1.
inline Vec3d direction_of(BeamAngles a) {
    const double flat = std::cos(a.elevation);
    return {std::cos(a.azimuth) * flat, std::sin(a.azimuth) * flat, std::sin(a.elevation)};
}

}  // namespace gs
