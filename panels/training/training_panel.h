// Training: start, pause, step, run to, stop; save and export in rows that stay where they are;
// then its parts, one at a time: every hyper-parameter, editable while it runs, the snapshots, how
// the Gaussians grow, the run's result. A tab of the workspace.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/widgets.h"

namespace gs {

struct TrainingPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    int run_to = 0;
    std::string filter;
    std::string edited;  ///< setting whose slider is held
    double edited_value = 0;
    PlotRange growth_range;
    std::string raise;  ///< part that comes to the front with the next frame: "Growth"

  private:
    void draw_state(const Snapshot& snapshot);
    void draw_buttons(const Snapshot& snapshot, Commands& commands);
    void draw_files(const Snapshot& snapshot, Commands& commands);
    void draw_finish(const Snapshot& snapshot);
    void draw_snapshots(const Snapshot& snapshot, Commands& commands);
    void draw_growth(const Snapshot& snapshot);  // training_growth.cpp
    void draw_settings(const Snapshot& snapshot, Commands& commands);
    void draw_setting(const SettingRow& row, bool changeable, Commands& commands);
};

}  // namespace gs
