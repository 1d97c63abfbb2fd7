// Resampling of photos taken through a lens (math/lens.h) to a pinhole. Called while photos load.
#pragma once

#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

/// False for pinholes and for lenses whose coefficients are all zero.
bool is_distorted(const Camera& camera);
const char* name_of(CameraModel model);

/// The pinhole to resample to: same pose, same focal lengths, the largest picture around the
/// optical axis that the photo covers completely (at most 113 degrees across). Where no sensible
/// one exists: the photo's own size, with uncovered pixels.
Camera undistorted_camera(const Camera& photo);

struct Undistorted {
    Image8 photo;
    Image8 mask;  ///< 0 where the photo does not cover the pixel, or where any mask pixel it is
                  ///< made of is 0; else 255
};
/// Bilinear. `photo` and `mask` (one channel, or empty) are as `lens`, the result is as `pinhole`.
/// Pixels that are not covered are black; the resulting mask is empty when none was given and
/// everything is covered.
Undistorted undistort(const Image8& photo, const Image8& mask, const Camera& lens,
                      const Camera& pinhole);

}  // namespace gs
