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

/// Counter by counter; the longest tile of all. Not of none.
RenderCounters mean_counters(std::span<const RenderCounters> frames);
/// The mean of several frames; the tiles are those of the frame nearest to it. Not of none.
PredictedWork mean_work(std::span<const PredictedWork> frames);

nlohmann::ordered_json json_of_work(const PredictedWork& work);
/// `origin` is for messages. Errors: malformed; counts that are no numbers of 0 or more.
Result<PredictedWork> work_of_json(const std::string& text, const std::string& origin);

}  // namespace gs
