// The ground grid (an upright one for side views with parallel rays): its plane, its spacing, and
// its lines in the pixels of a picture. Pure geometry; the viewport's overlays draw it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "panels/viewport/frusta.h"

namespace gs {

struct GroundGrid {
    Vec3d up{};          ///< unit normal, world; the world's up but for the upright one
    Vec3d along[2]{};    ///< unit vectors across it; axes of the world where up is one
    double height = 0;   ///< along up
    double spacing = 1;  ///< world units, 1, 2 or 5 times a power of ten
    double center[2]{};  ///< coordinates along `along` that lines surround
};

/// The grid below the scene (its core's lowest side) for what `frame` shows.
GroundGrid grid_of(const Snapshot& snapshot, const ViewFrame& frame);
/// 1, 2 or 5 times a power of ten, at least `least` > 0.
double round_spacing(double least);
/// "grid 0.5".
std::string words_of_grid(const GroundGrid& grid);

struct GridLine {
    enum class Kind { fine, tenth, axis };  ///< axis: through the world's origin
    std::array<Pixel, 2> ends;
    Kind kind = Kind::fine;
    double strength = 0;  ///< 0..1, less towards the grid's rim
};
/// Pieces of lines before the camera.
std::vector<GridLine> lines_of(const GroundGrid& grid, const Camera& camera);

}  // namespace gs
