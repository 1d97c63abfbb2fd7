// ToolUse: the left mouse button over the picture while a tool is active: shapes that select on the
// screen (shown while they are drawn), two-point tools, and the gizmos. The viewport calls it once
// per frame and does not steer with the left button then.
#pragma once

#include <vector>

#include "panels/viewport/gizmos.h"

namespace gs {

class ToolUse {
  public:
    /// One frame over `picture`, which shows snapshot.frame. `over`: the mouse is over it and
    /// nothing else. Draws the shape.
    void use(ImDrawList& list, const Snapshot& snapshot, PictureRect picture, bool over,
             Commands& commands);
    /// True during a drag.
    bool busy() const { return !path_.empty() || held_; }

  private:
    bool ready(const Snapshot& snapshot) const;
    void asked(const Snapshot& snapshot);
    static float brush_radius(const Snapshot& snapshot);
    void give(const Snapshot& snapshot, PictureRect picture, float scale, bool live,
              Commands& commands) const;
    void draw_shape(ImDrawList& list, const Snapshot& snapshot) const;

    Gizmo gizmo_;
    bool held_ = false;           // the gizmo's handle
    Tool tool_ = Tool::navigate;  // that path_ was begun with
    std::vector<ImVec2> path_;    // on the screen; empty: nothing is drawn
    std::size_t given_ = 0;       // points of it when a command was given last
    ImVec2 given_at_{};
    const void* answered_ = nullptr;  // the selection that was shown when a command was given
    double asked_at_ = -1;            // ImGui's time
};

}  // namespace gs
