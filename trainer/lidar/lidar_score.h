// How well a trained model meets what a lidar measured in the columns that were held out. Called
// at the end of a run; `eval --lidar` scores every sweep and says more.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/json_write.h"
#include "renderer/rays/sweep_score.h"

namespace gs {

/// Of at most `most` sweeps of each recording (Capture::lidars), evenly spread, together. None: no
/// sweep of them can be read. On the CPU, wherever the model comes from.
std::optional<SweepScore> score_lidars(const GaussianModel& model,
                                       std::span<const std::string> paths, std::size_t most = 8);
nlohmann::ordered_json score_json(const SweepScore& score);

}  // namespace gs
