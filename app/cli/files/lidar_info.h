// Prints lidar recordings for `gausscope info`: a recording by itself, or next to a capture's
// photos.
#pragma once

#include "app/cli/report.h"
#include "renderer/io/lidar/lidar_log.h"

namespace gs::cli {

/// Reads the sweeps, of long logs 100 evenly spread: format, sweeps, seconds, path in metres, and
/// of what was read returns, distances, and what is wrong.
Json lidar_json(const LidarLog& log);
/// The same as text, a few lines that begin with "lidar".
void say_lidar(const Json& lidar);

}  // namespace gs::cli
