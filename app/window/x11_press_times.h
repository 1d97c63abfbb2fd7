// PressTimes: when mouse buttons went down by the X server's clock. GLFW reports events without
// their times, and in a slow frame of several at once: two clicks a second apart would be a double
// click. The window on a display (glfw_window.cpp) looks before GLFW takes the events.
#pragma once

#include <deque>

namespace gs {

class PressTimes {
  public:
    PressTimes();  ///< after a window was opened
    /// Notes the presses that wait in X's queue.
    void look();
    /// Of the next press, in seconds of the steady clock; now where nothing better is known.
    double take();

  private:
    void* display_ = nullptr;  ///< none under Wayland
    std::deque<double> seen_;
};

}  // namespace gs
