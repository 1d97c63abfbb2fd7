// Roofline: each stage as a point below the ceilings of the machine (memory and arithmetic, both
// axes logarithmic), and the same as a table: time, floor, ratio and which limit binds. Part of the
// Stages panel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panels/state/snapshot.h"

namespace gs {

/// A stage's place in the plot. A stage that does no arithmetic, or touches no memory, has no
/// finite intensity: it is at the plot's edge, as far below the ceiling there as its time is
/// above what that limit allows.
struct RooflinePoint {
    enum class Edge { none, left, right };
    std::size_t index = 0;  ///< into StageCosts::stages
    double intensity = 0;   ///< operations per byte
    double attained = 0;    ///< operations per second
    Edge edge = Edge::none;
};
/// Ranges of the axes; both ends of each are positive.
struct RooflineRange {
    double x_lo = 0.1, x_hi = 100, y_lo = 1e9, y_hi = 1e12;
};
/// The stages that have a place (measured, with something counted, below a known ceiling), and axes
/// that hold them all.
std::vector<RooflinePoint> roofline_points(const StageCosts& costs, RooflineRange& range);
/// The most operations per second at this intensity; infinite where no ceiling is known.
double roof_at(const StageCosts& costs, double intensity);

/// One line per stage; unknown values are empty fields.
std::string costs_csv(const StageCosts& costs);

class Roofline {
  public:
    void draw(const StageCosts& costs);
    /// The stage under the mouse, in plot or table, in the last frame.
    std::optional<Stage> hovered() const { return hovered_; }

  private:
    void draw_head(const StageCosts& costs) const;
    void draw_plot(const StageCosts& costs, float height);
    void draw_table(const StageCosts& costs);
    std::optional<Stage> hovered_, hovering_;  // of the last frame; being found in this one
};

}  // namespace gs
