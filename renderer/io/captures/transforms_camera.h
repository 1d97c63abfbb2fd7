// The camera of one frame of a transforms.json: lens, size, pose, rolling shutter. Called by
// transforms.cpp and, writing, by bundles. Keys: instant-ngp's and nerfstudio's; those of COLMAP's
// and OpenCV's larger models; rolling_shutter with viewmat_start, viewmat_end or pose_start_tq,
// pose_end_tq.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "renderer/io/captures/capture_source.h"

namespace gs {

/// Fills out.camera, angle_x, angle_y, centred, shutter_without_poses. Values of `frame` win over
/// those of the whole `file`. Returns why the frame cannot be used; empty: it can.
std::string read_frame_camera(const nlohmann::json& frame, const nlohmann::json& file, Frame& out);
/// Adds what of a camera's lens and shutter read_frame_camera() takes; a pinhole of one pose has
/// nothing to add. `frame` has its size, focal lengths and transform_matrix.
void write_frame_lens(nlohmann::ordered_json& frame, const Camera& camera);

}  // namespace gs
