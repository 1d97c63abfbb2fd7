// MeasureState: measurements in a scene: points picked in the picture, in pairs as the ends of
// distances, the length of a world unit, and the up direction. Saved with the scene
// (app/studio/measures.h); shown over the picture and in the Measure panel.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/vec.h"

namespace gs {

struct MeasureState {
    std::vector<Vec3d> points;   ///< world; 2 i and 2 i + 1 are the ends of distance i, a last one
                                 ///< alone waits for the other
    double metres_per_unit = 0;  ///< of the world; 0: not known
    std::optional<Vec3d> up{};   ///< unit vector, world; nothing: from the cameras

    std::size_t distances() const { return points.size() / 2; }
    /// The length of distance `i`, world units.
    double length(std::size_t i) const {
        const Vec3d way = points[2 * i + 1] - points[2 * i];
        return std::sqrt(dot(way, way));
    }
    bool empty() const { return points.empty() && metres_per_unit == 0 && !up; }
};

/// "1.2 m", "35 cm", "4.1 km"; "0.8 units" if the scene's scale is unknown.
inline std::string length_words(double units, double metres_per_unit) {
    if (metres_per_unit <= 0) return format_number(units, 4) + " units";
    const double metres = units * metres_per_unit;
    if (metres >= 1000) return format_number(metres / 1000, 4) + " km";
    if (metres >= 1) return format_number(metres, 4) + " m";
    return metres >= 0.01 ? format_number(metres * 100, 4) + " cm"
                          : format_number(metres * 1000, 4) + " mm";
}

}  // namespace gs
