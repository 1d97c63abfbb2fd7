// Questions that select Gaussians: which rows are on a shape on the screen, in a part of the
// world, or have a value, a colour. Each looks at centres and own parameters alone, answers one
// byte a row, in parallel, the same for every number of threads. Rows whose parameters are no
// numbers are never hit. Asked by the editor.
#pragma once

#include <array>
#include <optional>

#include "renderer/edit/flags.h"
#include "renderer/edit/screen_mask.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/clip_box.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/image.h"

namespace gs {

/// What of the world a picture shows, and so can be selected in it.
struct Sight {
    Camera camera;
    double near_plane = 0;            ///< world units; centres before it are not hit
    std::optional<ClipBox> clip{};    ///< centres outside are not hit
    const ImageF* surface = nullptr;  ///< where not null: median depth, 1 plane of the camera's
                                      ///< size or a part of it; what lies more than its own
                                      ///< largest deviation behind it is not hit
};
/// Centres that fall on a pixel of `mask`, which has the camera's size.
Hits rows_on_screen(const GaussianModel& model, const Sight& sight, const ScreenMask& mask);
/// Centres within `radius` of `centre`, world units.
Hits rows_in_sphere(const GaussianModel& model, Vec3f centre, float radius);
/// Centres inside the box, its faces included.
Hits rows_in_box(const GaussianModel& model, const ClipBox& box);

/// What a Gaussian has of its own. opacity: 0..1. size: the largest standard deviation, world
/// units. anisotropy: largest / smallest deviation. energy: root of the sum of squares of the
/// harmonics beyond degree 0. depth: camera z, world units. x, y, z: of the centre.
enum class OwnValue { opacity, size, anisotropy, energy, depth, x, y, z };
inline constexpr std::array<const char*, 8> kOwnValueNames{
    "opacity", "size", "anisotropy", "energy", "depth", "x", "y", "z"};
/// Of row `i`; `camera` is looked at for depth only.
float own_value(const GaussianModel& model, std::size_t i, OwnValue value, const Camera& camera);
/// lo <= value <= hi.
Hits rows_by_value(const GaussianModel& model, OwnValue value, double lo, double hi,
                   const Camera& camera);
/// Whose base colour (degree 0, 0..1 each) lies within `tolerance` of `color` in every channel.
Hits rows_by_color(const GaussianModel& model, Vec3f color, float tolerance);

/// Bounds of the finite centres of rows with bit kSelected; false when there is none.
bool bounds_of_selection(const GaussianModel& model, std::span<const std::uint8_t> flags, Vec3f& lo,
                         Vec3f& hi);

}  // namespace gs
