// Merges the counts of several frames, and converts them to and from JSON so that a prediction can
// be made elsewhere. Counts of one frame: frame_work.h. Used by bench and `predict`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "base/expected.h"
#include "profiler/predict/gpu_model.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Mean of each counter; the longest tile of all. Needs at least one.
RenderCounters mean_counters(std::span<const RenderCounters> frames);
/// The mean of several frames, with the tiles of the frame nearest to it. Needs at least one.
PredictedWork mean_work(std::span<const PredictedWork> frames);

nlohmann::ordered_json json_of_work(const PredictedWork& work);
/// `origin` is for messages. Errors: malformed; counts that are no numbers of 0 or more.
Result<PredictedWork> work_of_json(const std::string& text, const std::string& origin);

}  // namespace gs
