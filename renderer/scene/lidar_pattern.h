// Which way the beams of a lidar go: rows of lasers at fixed elevations, columns of one moment
// each, and an azimuth that every row is off by. Spinning sensors and solid-state ones alike. Axes:
// x ahead, y left, z up. Source: NVIDIA NCore's row-offset structured model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/vec.h"

namespace gs {

/// Radians; azimuth from x towards y, -pi up to pi.
struct BeamAngles {
    double azimuth = 0, elevation = 0;
};
BeamAngles angles_of(Vec3d direction);
/// Of length 1.
Vec3d direction_of(BeamAngles angles);
/// To -pi up to, not including, pi.
double wrapped_angle(double radians);

struct LidarElement {
    std::uint32_t row = 0, column = 0;
    bool operator==(const LidarElement&) const = default;
};

class LidarPattern {
  public:
    /// Radians. `row_offsets`: one for each row, added to the column's azimuth. Errors (malformed):
    /// no row or column, numbers that are not finite, elevations beyond +-90 degrees, as many
    /// offsets as not rows.
    static Result<LidarPattern> create(std::vector<double> row_elevations,
                                       std::vector<double> column_azimuths,
                                       std::vector<double> row_offsets);

    std::size_t rows() const { return elevations_.size(); }
    std::size_t columns() const { return azimuths_.size(); }
    BeamAngles angles(LidarElement e) const;
    Vec3d direction(LidarElement e) const { return direction_of(angles(e)); }
    /// Share of the sweep at which a column is measured, 0 first to 1 last.
    double time(std::uint32_t column) const;
    /// The beam that goes nearest: the row of the nearest elevation, in it the column of the
    /// nearest azimuth, around the seam too. None for angles that are not finite.
    std::optional<LidarElement> nearest(BeamAngles angles) const;

  private:
    std::vector<double> elevations_, azimuths_, offsets_;
    std::vector<std::pair<double, std::uint32_t>> by_elevation_, by_azimuth_;  ///< ascending
};

}  // namespace gs
