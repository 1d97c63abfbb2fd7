// How well a trained drive meets what its lidar measured in the columns that were held out. Called
// at the end of a run; `eval --lidar` scores every sweep and says more.
#pragma once

#include <optional>
#include <string>

#include "base/json_write.h"
#include "renderer/rays/sweep_score.h"

namespace gs {

/// Of at most `most` sweeps, evenly spread over the drive that the capture at `path` was read from,
/// together. None: it has no lidar, or no sweep of it can be read. On the CPU, wherever the model
/// comes from.
std::optional<SweepScore> score_drive(const GaussianModel& model, const std::string& path,
                                      std::size_t most = 8);
nlohmann::ordered_json score_json(const SweepScore& score);

}  // namespace gs
