// Describes a scene for the Scene and Cameras panels: counts, bounds, the up direction, histograms
// of attributes. Called by the engine when a scene is opened and now and then while it trains.
#pragma once

#include "app/session/loading.h"
#include "panels/state/snapshot.h"

namespace gs {

/// Name, counts, notes, extent, centre and up; no histograms.
SceneInfo describe_scene(const LoadedScene& scene);
/// Bounds (1st to 99th percentile, so that a few floaters do not stretch them), histograms and
/// counts of `model`.
void describe_model(const GaussianModel& model, SceneInfo& info);
/// Bins between the 0.5th and 99.5th percentile of the finite samples; logarithmic ones are binned
/// by their logarithm, and leave out what has none.
Histogram histogram_of(std::string name, std::string unit, std::vector<float> samples,
                       bool logarithmic);
std::vector<CameraRow> camera_rows(const Capture& capture);

}  // namespace gs
