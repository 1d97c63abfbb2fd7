// FilmState: the camera path that the studio edits and films along, for the Film panel and the
// viewport. Owned by FilmEditor (app/studio/film.h). Part of Snapshot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "renderer/scene/camera_path.h"

namespace gs {

struct FilmState {
    Film film;
    std::string codec = "h264";  ///< as film.codec takes it
    int quality = 75;            ///< 1..100
    double seconds = 0;          ///< from the first key to the end
    double length = 0;           ///< of the way, world units
    std::vector<double> passes;  ///< when the camera is at each key, seconds from the beginning
    std::vector<Vec3d> line;     ///< places along the way; empty: fewer than two keys
    std::optional<std::size_t> selected;  ///< a key
    double at = 0;                        ///< the shown time, seconds from the start
    bool playing = false;
    bool shown = true;  ///< the path is drawn in the viewport
};

}  // namespace gs
