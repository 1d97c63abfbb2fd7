// ViewportRequests: what the studio asks the engine to draw: the viewport's picture when the camera
// or a setting changed, and the small pictures of photos that panels need. Called once per frame.
#pragma once

#include <chrono>

#include "app/studio/studio_state.h"

namespace gs {

class ViewportRequests {
  public:
    /// `visible`: false: nothing is drawn until it is. `scripted`: every picture is exact.
    void follow(StudioState& state, bool visible, bool scripted);
    void ask_sheet(Session& session, const SheetRequest& wanted);
    /// The next follow() asks again: the engine waits for a request that knows a new scene.
    void forget() { sent_any_ = false; }
    /// The camera moved a moment ago.
    bool moving() const { return sent_.moving; }

  private:
    using Clock = std::chrono::steady_clock;
    ViewRequest sent_;
    SheetRequest sheet_wanted_;
    bool sent_any_ = false;
    Clock::time_point last_move_{};
};

}  // namespace gs
