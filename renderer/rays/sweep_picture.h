// A sweep as range images, by rows and columns of its sensor: drawn from a model, measured, and
// what they differ by. For `render --lidar` and the Drive panel.
#pragma once

#include "renderer/maps/sweep_colors.h"
#include "renderer/rays/rays.h"
#include "renderer/scene/image.h"
#include "renderer/scene/lidar_sweep.h"

namespace gs {

/// Metres and, of alpha, 0 to 1; 0: no range, or no beam. The drawn ranges are where half of the
/// light is gone, and the mean by weights.
enum SweepPlane { kSweepMedian, kSweepExpected, kSweepAlpha, kSweepMeasured, kSweepPlanes };

/// [rows x columns] of kSweepPlanes; where two beams share a place the nearer return counts.
/// `drawn` null: no model, its planes are 0.
ImageF sweep_planes(const LidarSweep& sweep, const RayImage* drawn);

/// Drawn, measured and the error, one above the other with a black line between, each row as many
/// pixels high as makes its part an eighth as high as wide. RGB, black where there is nothing;
/// errors are of ranges in every channel, and a model has no intensities to draw. A picture has
/// part p of 3 from p * (rows + 1) on, of 3 * rows + 2.
Image8 sweep_picture(const LidarSweep& sweep, const RayImage* drawn, const SweepColors& colors);

}  // namespace gs
