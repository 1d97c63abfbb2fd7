// ViewerLens: what a scene is looked at through where no photo says it. Chosen by camera.lens and
// `render --lens`, kept in saved views and films. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "renderer/scene/camera.h"

namespace gs {

struct ViewerLens {
    /// pinhole, orthographic, opencv_fisheye (equidistant: pixels go with the angle from the axis)
    /// or equirectangular (all directions across the picture's width).
    CameraModel model = CameraModel::pinhole;
    double fov = kUsualFisheye;  ///< of a fisheye: radians across the picture's height

    static constexpr double kUsualFisheye = 3.14159265358979323846;
    static constexpr double kLeastFisheye = 10, kMostFisheye = 360;  ///< degrees
    bool orthographic() const { return model == CameraModel::orthographic; }
    /// Not a pinhole and not parallel rays.
    bool wide() const {
        return model == CameraModel::opencv_fisheye || model == CameraModel::equirectangular;
    }
    bool operator==(const ViewerLens&) const = default;
};

inline constexpr std::array<CameraModel, 4> kViewerLenses{
    CameraModel::pinhole, CameraModel::orthographic, CameraModel::opencv_fisheye,
    CameraModel::equirectangular};

/// The same picture size and pose seen through a wide lens; other lenses leave the camera as it is.
Camera through(const ViewerLens& lens, Camera camera);
/// "fisheye:180", "equirectangular", "orthographic", "pinhole"; the number, degrees, may be left
/// out. nullopt: it is none, or the number is not from kLeastFisheye to kMostFisheye.
std::optional<ViewerLens> viewer_lens_named(std::string_view text);
std::string text_of(const ViewerLens& lens);

}  // namespace gs
