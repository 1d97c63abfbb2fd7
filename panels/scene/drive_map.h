// A map of a lidar drive: the path, the sweeps, the cameras, and the current sweep's points. Part
// of the Drive panel; click to choose the nearest sweep.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/drive_state.h"
#include "panels/state/snapshot.h"

namespace gs {

/// Metres to the right and ahead.
struct MapPlace {
    double right = 0, ahead = 0;
};
MapPlace on_map(const DriveState& drive, Vec3d world);
/// The sweep whose place is nearest; none where no sweep is.
std::optional<std::size_t> nearest_sweep_on_map(const DriveState& drive, MapPlace at);

class DriveMap {
  public:
    void draw(const DriveState& drive, const Snapshot& snapshot, ImVec2 size, Commands& commands);

    double zoom = 1;  ///< by the wheel; a double click ends it

  private:
    struct Spot {
        MapPlace at;
        ImU32 color;
    };
    void shape(const DriveState& drive);

    std::vector<Spot> spots_;
    std::uint64_t serial_ = 0;
    std::string path_;
    double reach_ = 30;  // m from the middle to the edge, without zoom
    MapPlace middle_;
};

}  // namespace gs
