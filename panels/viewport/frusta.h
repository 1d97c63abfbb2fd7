// Capture cameras as wire pyramids over the viewport's picture: projection, clipping at the near
// plane, picking. Pure geometry on pixel coordinates of the picture; the viewport draws the lines.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "panels/state/snapshot.h"
#include "renderer/scene/camera.h"

namespace gs {

struct Pixel {
    double x = 0, y = 0;
};

/// Where `point` (world) appears in `camera`'s picture; nothing when it lies nearer than
/// `near_depth` or behind.
std::optional<Pixel> project_point(const Camera& camera, Vec3d point, double near_depth);
/// The visible part of a world segment, cut at the near plane; nothing when it lies behind.
std::optional<std::array<Pixel, 2>> project_segment(const Camera& camera, Vec3d a, Vec3d b,
                                                    double near_depth);

/// The apex and the four corners (top left, top right, bottom right, bottom left) of a camera's
/// pyramid of depth `size`.
std::array<Vec3d, 5> frustum_corners(const Camera& camera, double size);

struct FrustumLines {
    std::size_t row = 0;  ///< index into the rows
    double depth = 0;     ///< of the apex, in the viewing camera
    std::vector<std::array<Pixel, 2>> lines;
    /// The photo's corners, as frustum_corners(); nothing when one of them is not in front.
    std::optional<std::array<Pixel, 4>> photo{};
    Pixel label;  ///< top left of what is drawn
};

/// What of all pyramids is seen by `viewer`, farthest first; those that the viewer nearly stands in
/// are left out.
std::vector<FrustumLines> visible_frusta(const Camera& viewer, std::span<const CameraRow> rows,
                                         double size);
/// The pyramid nearest to `at` within `reach` pixels of one of its lines; the nearer one in depth
/// when several.
std::optional<std::size_t> frustum_at(std::span<const FrustumLines> frusta, Pixel at, double reach);

/// What of its photo's quality (or use) a camera's colour tells, over all that are known.
struct FrustaRange {
    FrustaRange(std::span<const CameraRow> rows, FrustaColor of);
    double value_of(const CameraRow& row) const;  ///< NaN: not known
    bool any() const { return lo <= hi; }
    FrustaColor of;
    double lo, hi;
};

inline constexpr std::size_t kMostFrustaPhotos = 200;  ///< drawn with their photos: the nearest
/// CameraRow::view of the `most` cameras nearest to `viewer`, in any order.
std::vector<std::size_t> nearest_cameras(const Camera& viewer, std::span<const CameraRow> rows,
                                         std::size_t most);

/// A pyramid depth that suits a scene: a part of the extent, less when cameras are many.
double frustum_size(const SceneInfo& scene, std::size_t cameras);

}  // namespace gs
