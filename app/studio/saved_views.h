// Saved views: named cameras in a text file of a run's folder or of the user's. One per line, "NAME
// = EYE AT UP FOV [LENS]" (world units, degrees; orthographic, fisheye:DEGREES, equirectangular) or
// "NAME = photo INDEX": easy to read, copy and share. Called by the studio and its view.* commands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "panels/viewport/navigation.h"
#include "trainer/run/time_lapse.h"

namespace gs {

struct SavedView {
    std::string name;
    int photo = -1;  ///< a capture camera; -1: the state below
    NavigationState place{};
};

/// Name of the last camera of a session.
inline constexpr const char* kLastView = "(last)";

/// The arguments of view.camera for this place: ten numbers, and the lens unless pinhole.
std::string camera_text(const NavigationState& state);
/// Moves `state` to look from EYE at AT. `up`, `fov_degrees`: null keeps them. False: EYE is AT.
bool place(NavigationState& state, Vec3d eye, Vec3d at, const Vec3d* up, const double* fov_degrees);

/// Saved views as cameras of a time lapse, all but the last one. `photos`: the capture's cameras,
/// for views of photos.
std::vector<LapseCamera> saved_lapse_cameras(std::span<const SavedView> saved,
                                             std::span<const Camera> photos);

/// The views of the scene opened from `path`: in `run_folder`, or without one in `config`.
fs::path views_file(const std::string& run_folder, const std::string& path, const fs::path& config);
/// Skips invalid lines; no file means no views.
std::vector<SavedView> read_views(const fs::path& file);
Result<void> write_views(const fs::path& file, const std::vector<SavedView>& views);

}  // namespace gs
