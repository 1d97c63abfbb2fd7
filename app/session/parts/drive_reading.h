// The slow work on lidar recordings for the Drive panel: opening one, reading a sweep and drawing
// it from a model, scoring all of them. Run by the engine's DrivePart as jobs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/progress.h"
#include "panels/state/drive_state.h"
#include "renderer/io/lidar/lidar_log.h"
#include "renderer/rays/sweep_score.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

struct DriveLog {
    std::shared_ptr<const LidarLog> log;
    DriveState state;
};
/// Lists the sweeps and where the sensor was; `capture` (may be null): photos beside them. The map
/// has its ahead where the first photo looks, or along the sensor's x. Errors: of open_lidar_log();
/// malformed, no sweep is in it.
Result<DriveLog> open_drive(const std::string& path, const Capture* capture);

/// A sweep with the data known so far.
struct LookedAt {
    std::shared_ptr<const LidarSweep> sweep;  ///< null: nothing was read
    std::shared_ptr<const RayImage> drawn;    ///< null: not drawn from a model
    std::shared_ptr<const RayTiles> tiles;    ///< of its beams; null until it was drawn
    SweepScore score{};                       ///< of `drawn`, over all beams
    std::shared_ptr<ShownSweep> shown;        ///< without its serial
};
struct LookRequest {
    std::shared_ptr<const LidarLog> log;
    std::size_t index = 0;
    SweepChannel channel = SweepChannel::range;
    LookedAt known{};                              ///< of the same sweep: data to reuse
    std::shared_ptr<const GaussianModel> model{};  ///< null: is not drawn (again)
    std::uint64_t step = 0;                        ///< training step of the model
};
/// Errors: of LidarLog::read.
Result<LookedAt> look_at_sweep(const LookRequest& request);

/// The table's numbers of every sweep: rows as given, filled in. `model` null: only what was
/// measured is counted. Errors: cancelled.
Result<std::vector<DriveRow>> score_drive(const LidarLog& log, std::vector<DriveRow> rows,
                                          const GaussianModel* model, std::uint64_t step,
                                          const Progress& progress);
/// Puts a score into its row.
void put_score(const SweepScore& score, std::uint64_t step, DriveRow& row);

}  // namespace gs
