// PointSearch: one place in the world in every photo that sees it, a photo a call. A photo sees it
// when it is in front of the camera, inside the picture, and nothing of the model stops half of
// the light clearly before it (its median depth there). Called by the studio.
#pragma once

#include <memory>
#include <optional>

#include "renderer/problems/photo_drawer.h"

namespace gs {

/// The world point in the middle of pixel (x, y) at the median depth there; nothing where half of
/// the light gets through.
std::optional<Vec3d> point_of_pixel(PhotoDrawer& drawer, const Camera& camera, int x, int y);

class PointSearch {
  public:
    /// `rasterizer` outlives it.
    PointSearch(PhotoDrawer drawer, std::shared_ptr<const Capture> capture, Vec3d point);
    /// The next photo; what does not have the place in its picture costs nothing. False: that was
    /// the last.
    bool next();
    std::size_t done() const { return found_.looked_at; }
    std::size_t total() const { return capture_->views.size(); }
    /// Complete once next() has given false; in order at any time.
    const PointInPhotos& found() const { return found_; }

    /// Where the median depth is less than this share of the place's, the place is hidden: surfaces
    /// are as thick as their Gaussians.
    static constexpr double kHidden = 0.95;

  private:
    bool look(const View& view, std::size_t index);

    PhotoDrawer drawer_;
    std::shared_ptr<const Capture> capture_;
    PointInPhotos found_;
};

}  // namespace gs
