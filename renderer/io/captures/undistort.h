// Lens models, and resampling of photos taken through them to a pinhole, because renderers take
// pinholes only. Called while photos load. Formulas: OpenCV calib3d (pinhole with k1 k2 p1 p2;
// fisheye with k1..k4), which COLMAP's models share.
#pragma once

#include <string>

#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

/// Pixel where the direction (x/z, y/z) lands; pixel centres at +0.5, so (cx, cy) is the optical
/// axis.
Vec2<double> project_through_lens(const Camera& camera, double x_over_z, double y_over_z);
/// Largest sqrt(x^2 + y^2) / z up to which the lens formula keeps growing outwards; beyond it the
/// polynomial folds back and means nothing. Infinity when it never does.
double lens_limit(const Camera& camera);
/// False for pinholes and for lenses whose coefficients are all zero.
bool is_distorted(const Camera& camera);
const char* name_of(CameraModel model);

/// The pinhole to resample to: same pose, same focal lengths, the largest picture around the
/// optical axis that the photo covers completely (at most 113 degrees across). Where no sensible
/// one exists: the photo's own size, with uncovered pixels.
Camera undistorted_camera(const Camera& lens);

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
