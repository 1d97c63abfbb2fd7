// What lens models and shutters are called in files, commands and sentences. Upper-case names of
// models are COLMAP's (name_of() in io/captures/undistort.h).
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "renderer/scene/camera.h"

namespace gs {

/// By CameraModel's number.
inline constexpr std::array<const char*, 10> kCameraModelNames{
    "pinhole",      "simple-radial", "radial",     "opencv", "fisheye",
    "orthographic", "full-opencv",   "thin-prism", "ftheta", "equirectangular"};
/// By Shutter's number.
inline constexpr std::array<const char*, 5> kShutterNames{
    "global", "top-to-bottom", "left-to-right", "bottom-to-top", "right-to-left"};

inline const char* text_of(CameraModel model) {
    return kCameraModelNames[static_cast<std::size_t>(model)];
}
inline const char* text_of(Shutter shutter) {
    return kShutterNames[static_cast<std::size_t>(shutter)];
}
inline std::optional<CameraModel> camera_model_named(std::string_view name) {
    for (std::size_t i = 0; i < kCameraModelNames.size(); ++i)
        if (name == kCameraModelNames[i]) return static_cast<CameraModel>(i);
    return {};
}
inline std::optional<Shutter> shutter_named(std::string_view name) {
    for (std::size_t i = 0; i < kShutterNames.size(); ++i)
        if (name == kShutterNames[i]) return static_cast<Shutter>(i);
    return {};
}

}  // namespace gs
