// nerfstudio's camera_path.json, as its viewer writes it and `ns-render camera-path` draws it:
// world_from_camera in OpenGL axes (x right, y up, z back), vertical fields of view in degrees.
// Source: nerfstudio/viewer/render_panel.py and cameras/camera_paths.py. Called by path_io.cpp.
#pragma once

#include <array>
#include <nlohmann/json.hpp>

#include "renderer/io/paths/path_io.h"

namespace gs {

inline constexpr int kMostFilmSide = 16384;

bool is_nerfstudio_path(const nlohmann::json& json);
/// `file` is for messages.
Result<PathFile> read_nerfstudio(const nlohmann::json& json, const std::string& file);

/// Width and height by these names, and fps, where they are there; both formats have them.
Result<void> read_film_size(const nlohmann::json& json, std::array<const char*, 2> sides,
                            const std::string& file, Film& film);

}  // namespace gs
