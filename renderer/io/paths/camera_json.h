// A camera whole, as JSON: what files of ours keep of one (steps of a training, time lapses). A
// pinhole's is as it always was: what other lenses and shutters add is left out where there is
// none.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "renderer/scene/camera.h"

namespace gs {

/// model, width, height, fx, fy, cx, cy, rotation (9, by rows), translation; distortion, shutter,
/// first and last {rotation, translation} where they count.
nlohmann::ordered_json camera_json(const Camera& camera);
/// nullopt: something is missing, no number or makes no camera. Without "model" it is a pinhole.
std::optional<Camera> camera_from_json(const nlohmann::json& json);

}  // namespace gs
