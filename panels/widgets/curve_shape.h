// Prepares curves for the Plots panel: smoothing, the band of values around the smoothed curve, and
// seconds instead of steps.
#pragma once

#include <span>
#include <vector>

#include "panels/state/snapshot.h"

namespace gs {

/// The exponential moving average with `weight` (0: as it is, towards 1: ever smoother), without
/// the bias of its beginning. Points that are not finite stay, and are left out of the average.
std::vector<CurvePoint> smoothed(std::span<const CurvePoint> points, double weight);

struct CurveBand {
    std::vector<CurvePoint> low, high;
};
/// The least and largest value around each point, as wide as smoothed() looks back.
CurveBand band_of(std::span<const CurvePoint> points, double weight);

/// The same points with the seconds that the run had taken by then, from its time per iteration.
std::vector<CurvePoint> over_time(std::span<const CurvePoint> points,
                                  std::span<const CurvePoint> step_ms);
/// The time of one step.
double seconds_at(double step, std::span<const CurvePoint> step_ms);

}  // namespace gs
