#include "renderer/scene/viewer_lens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numbers>

#include "renderer/scene/camera_names.h"

namespace gs {
namespace {

constexpr double kLensDegree = std::numbers::pi / 180;

}  // namespace

Camera through(const ViewerLens& lens, Camera camera) {
    if (!lens.wide()) return camera;
    camera.model = lens.model;
    camera.distortion = {};
    camera.fx = camera.fy = lens.model == CameraModel::equirectangular
                                ? camera.width / (2 * std::numbers::pi)
                                : camera.height / lens.fov;
    camera.cx = 0.5 * camera.width;
    camera.cy = 0.5 * camera.height;
    return camera;
}

std::optional<ViewerLens> viewer_lens_named(std::string_view text) {
    const std::string name(text.substr(0, text.find(':')));
    const auto model = camera_model_named(name);
    if (!model || std::ranges::find(kViewerLenses, *model) == kViewerLenses.end()) return {};
    ViewerLens out{*model};
    if (name.size() == text.size()) return out;
    const std::string number(text.substr(name.size() + 1));
    char* end = nullptr;
    const double degrees = std::strtod(number.c_str(), &end);
    const bool good = !number.empty() && *end == 0 && degrees >= ViewerLens::kLeastFisheye &&
                      degrees <= ViewerLens::kMostFisheye;
    if (!good || *model != CameraModel::opencv_fisheye) return {};
    out.fov = degrees * kLensDegree;
    return out;
}

std::string text_of(const ViewerLens& lens) {
    if (lens.model != CameraModel::opencv_fisheye) return text_of(lens.model);
    return fmt::format("{}:{:.9g}", text_of(lens.model), lens.fov / kLensDegree);
}

}  // namespace gs
