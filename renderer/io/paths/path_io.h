// Camera paths as files: our own JSON and nerfstudio's camera_path.json, detected from the content.
// Read and written by `render --path` and the studio's film commands. docs/film.md has the format.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/camera_path.h"

namespace gs {

/// What a file of a path holds.
struct PathFile {
    Film film;
    /// Poses of every picture, where the file has them (nerfstudio's): what its own program draws.
    std::vector<PathPose> frames;
    std::vector<std::string> notes;  ///< what it has that is not used
};

/// Errors: not_found, unreadable; malformed, with the key or frame that is no camera; unsupported:
/// nerfstudio's panoramas and fisheyes. `origin`: of the scene; files have places with it added.
Result<PathFile> read_path_file(const fs::path& file, Vec3d origin = {});
/// Our own: everything that a Film is.
Result<void> write_path_file(const fs::path& file, const Film& film, Vec3d origin = {});
/// nerfstudio's: its keys, and every picture's camera, because its interpolation is another one.
Result<void> write_nerfstudio_path(const fs::path& file, const Film& film, Vec3d origin = {});
/// The film with all its places moved.
Film moved_film(Film film, Vec3d by);

}  // namespace gs
