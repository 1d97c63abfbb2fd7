// eval --worst: a model's largest errors in its photos (renderer/problems), as tables and JSON.
#pragma once

#include <memory>
#include <vector>

#include "app/cli/report.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"

namespace gs::cli {

/// Examines `views` and prints `most` of each list. Returns "worst" of docs/cli.md; null when
/// interrupted.
Json tell_worst(std::shared_ptr<const GaussianModel> model, std::shared_ptr<const Capture> capture,
                std::vector<std::size_t> views, Rasterizer& rasterizer,
                const RenderOptions& options, std::size_t most);

}  // namespace gs::cli
