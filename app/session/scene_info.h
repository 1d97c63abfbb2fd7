// What the Scene and Cameras panels show about a scene: counts, bounds, which way is up, histograms
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
std::vector<CameraRow> camera_rows(const Capture& capture);
std::shared_ptr<const std::vector<SettingRow>> setting_rows(const TrainingSettings& settings);

}  // namespace gs
