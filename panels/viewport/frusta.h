// Capture cameras as wire pyramids over the viewport's picture, shaped by their lenses: a bent rim
// where lines bend, a globe for a lens that sees all directions. Pure geometry on pixel coordinates
// of the picture; the viewport draws the lines.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "panels/state/snapshot.h"
#include "panels/viewport/projection.h"
#include "renderer/scene/camera.h"

namespace gs {

/// The apex and the four corners (top left, top right, bottom right, bottom left) of a pinhole's
/// pyramid of depth `size`.
std::array<Vec3d, 5> frustum_corners(const Camera& camera, double size);
/// The lines of a camera, in its own axes and for depth 1.
using CameraLines = std::vector<std::array<Vec3d, 2>>;
/// For a pinhole its pyramid; for other lenses four edges and the picture's rim, pulled in to the
/// last place with a ray; for an equirectangular lens three great circles.
CameraLines lines_of_lens(const Camera& camera);

/// A part of a photo, and where its corners (as of frustum_corners()) appear.
struct PhotoCell {
    double left = 0, top = 0, right = 1, bottom = 1;  ///< of the photo, 0 to 1
    std::array<Pixel, 4> corners{};
};
struct FrustumLines {
    std::size_t row = 0;  ///< index into the rows
    double depth = 0;     ///< of the apex, in the viewing camera
    std::vector<std::array<Pixel, 2>> lines;
    /// The visible photo: one cell if it and the picture are straight, else enough to make it
    /// look bent; none for a photo of all directions.
    std::vector<PhotoCell> photo;
    Pixel label;  ///< top left of the drawing
};

/// The pyramids visible to `viewer`, farthest first, without those around the viewer.
/// `photos`: with the cells of their photos.
std::vector<FrustumLines> visible_frusta(const Camera& viewer, std::span<const CameraRow> rows,
                                         double size, bool photos = false);
/// The pyramid nearest to `at` within `reach` pixels of one of its lines; the nearer one in depth
/// when several.
std::optional<std::size_t> frustum_at(std::span<const FrustumLines> frusta, Pixel at, double reach);

/// The range of the photos' quality (or use) that the cameras' colours show.
struct FrustaRange {
    FrustaRange(std::span<const CameraRow> rows, FrustaColor of);
    double value_of(const CameraRow& row) const;  ///< NaN: unknown
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
