// Drive: a lidar's sweeps: one chosen by time, its range images (measured, rendered, and their
// difference), the map of the drive, and a table of all sweeps. It shows DriveState, which the
// drive.* commands change. A tab of the workspace.
#pragma once

#include "panels/scene/drive_map.h"
#include "panels/state/command.h"
#include "panels/state/drive_state.h"
#include "panels/state/snapshot.h"

namespace gs {

struct DrivePanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    DriveMap map;
    bool with_table = false;      ///< show the table instead of the map if only one fits
    std::size_t last_chosen = 0;  ///< row the table was scrolled to

  private:
    void draw_wide(const DriveState& drive, const Snapshot& snapshot, ImVec2 room,
                   Commands& commands);
    void draw_middling(const DriveState& drive, const Snapshot& snapshot, ImVec2 room,
                       Commands& commands);
    void draw_narrow(const DriveState& drive, const Snapshot& snapshot, Commands& commands);
    void draw_table(const DriveState& drive, float width, float height, Commands& commands);
};

}  // namespace gs
