// The camera of one frame of a transforms.json: lens, size, pose, rolling shutter. Called by
// transforms.cpp and, writing, by bundles and runs. Keys: instant-ngp's and nerfstudio's; those of
// COLMAP's and OpenCV's larger models; rolling_shutter with viewmat_start, viewmat_end or
// pose_start_tq, pose_end_tq.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "renderer/io/captures/capture_source.h"

namespace gs {

/// Fills out.camera, angle_x, angle_y, centred, shutter_without_poses. Values of `frame` win over
/// those of the whole `file`. Returns why the frame cannot be used; empty: it can.
std::string read_frame_camera(const nlohmann::json& frame, const nlohmann::json& file, Frame& out);
/// A frame as read_frame_camera() takes it: size, focal lengths, lens, transform_matrix, shutter.
nlohmann::ordered_json frame_json(const std::string& file_path, const Camera& camera);

}  // namespace gs
