// `convert RUN DIR --layout inria` and `train --layout inria`: a run as a model folder of INRIA's
// 3DGS code, for its viewers and the scripts of papers.
#pragma once

#include <string>

#include "app/cli/report.h"
#include "base/expected.h"

namespace gs::cli {

/// Writes DIR/point_cloud/iteration_N/point_cloud.ply, cameras.json, input.ply and cfg_args, and
/// prints it; the JSON that `convert` prints. Errors: usage, without a run or where something is in
/// the folder; as load_capture().
Result<Json> convert_to_inria(const std::string& run, const std::string& folder);
/// The same into any folder, also the run's own.
Result<Json> lay_out_as_inria(const std::string& run, const std::string& folder);

}  // namespace gs::cli
