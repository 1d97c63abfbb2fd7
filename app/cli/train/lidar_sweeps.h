// `render --lidar` and `eval --lidar`: renders a scene as lidar sweeps, to pictures and numbers.
#pragma once

#include "app/cli/options.h"
#include "app/cli/report.h"
#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

/// Draws every sweep of the recording `lidar` into the folder `output`: NAME_range.png, drawn above
/// measured above what they differ by; or (`npy`) NAME_range.npy, by rows and columns of the sensor
/// drawn (median), drawn (expected), alpha, measured. Prints what was done; an exit code.
Result<int> render_lidar(const std::string& scene, const std::string& lidar,
                         const std::string& output, bool npy, const CommonArguments& common);
/// Scores every sweep of the capture's lidars, prints a table each. `all`: all beams, not only the
/// held-out columns. An object; of several recordings a list of them. Errors: not_found, there is
/// none.
Result<Json> evaluate_sweeps(const GaussianModel& model, const Capture& capture, bool all);

}  // namespace gs::cli
