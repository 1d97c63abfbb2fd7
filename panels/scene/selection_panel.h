// Selection: the selected, hidden and locked Gaussians, actions on them, and the history of edits
// with steps to click. A tab of the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

class SelectionPanel {
  public:
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void draw_counts(const Snapshot& snapshot, Commands& commands) const;
    void draw_select(const Snapshot& snapshot, Commands& commands);
    void draw_edit(const Snapshot& snapshot, Commands& commands);
    void draw_change(Commands& commands);
    void draw_history(const Snapshot& snapshot, Commands& commands) const;

    // Typed values, until their buttons are pressed.
    float reach_ = 3;
    int value_ = 0;  // of kSelectionValues
    float lo_ = 0, hi_ = 0.1F;
    float shift_[3] = {0, 0, 0};
    int axis_ = 1;
    float degrees_ = 90, factor_ = 2;
    float color_[3] = {1, 1, 1};
    bool set_color_ = false;
};

}  // namespace gs
