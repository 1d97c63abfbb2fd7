// Which pixels of a picture its lens has a direction for: a fisheye's circle ends before the
// corners, and a distortion that folds back means nothing beyond the fold. Called while photos
// load.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"

namespace gs {

/// How much of the picture has a direction, 0 to 1, by a coarse grid that includes the rim.
double share_with_rays(const Camera& camera);

/// What decides where rays are: the same for photos through one lens.
std::vector<double> lens_key(const Camera& camera);

/// What a picture lacks because its lens folds back inside it.
struct LensFold {
    double share = 0;      ///< of pixels without a ray; 0: it does not fold inside the picture
    double radius_px = 0;  ///< the nearest of them, from the principal point
    bool sign_helps =
        false;  ///< with the opposite sign of its first coefficient nothing is lacking
};
/// Not of a picture that ends where its lens does, as a fisheye's circle.
LensFold fold_of(const Camera& camera);

/// Masks by lens: a capture's photos mostly share one. Safe to call from several threads.
class LensMasks {
  public:
    /// 1 channel of the camera's size, 0 where no ray falls on a pixel's centre, else 255; null:
    /// every pixel has one.
    std::shared_ptr<const Image8> of(const Camera& camera);

  private:
    std::mutex mutex_;
    std::map<std::vector<double>, std::shared_ptr<const Image8>> masks_;
};

}  // namespace gs
