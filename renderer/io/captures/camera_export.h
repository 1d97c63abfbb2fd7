// Cameras of a capture as other programs read them: what a run has corrected goes back into
// photogrammetry, or into another trainer. Called by `gausscope poses`; both
// layouts open here as captures, beside the photos' folder.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/capture.h"

namespace gs {

enum class CameraFormat { transforms, colmap, colmap_text, inria };
inline constexpr std::array<const char*, 4> kCameraFormatNames{"transforms", "colmap",
                                                               "colmap-text", "inria"};

/// A view's photo as a run's poses.json names it.
std::string photo_path(const Capture& capture, const View& view);

/// Into `folder`, which is made: transforms.json and points3d.ply, or cameras, images and points3D
/// as .bin or .txt; photos are named
/// as lying in images/ beside. `inria`: cameras.json and input.ply as INRIA's 3DGS code leaves them
/// in its model folder. `local`: cameras by view, of the photos as they were read
/// (resampled, shrunk), less the capture's origin, which the files have added again. Points go
/// along, but for random ones; they have no tracks. Returns what the format cannot hold. Errors: a
/// lens that it does not have (usage), unwritable.
Result<std::vector<std::string>> write_cameras(const fs::path& folder, CameraFormat format,
                                               const Capture& capture,
                                               const std::vector<Camera>& local);

}  // namespace gs
