// MouseQueue: passes the mouse events between two frames to ImGui one by one. ImGui before 1.87
// reads the mouse once a frame: at three frames a second two clicks become one, and a click after a
// motion becomes a drag. Here a frame sees either motion or one change of a button, in their order.
// (Later versions of ImGui do this themselves.)
#pragma once

#include <imgui.h>

#include <array>
#include <cfloat>
#include <cstddef>
#include <deque>

namespace gs {

class MouseQueue {
  public:
    void move(double x, double y) {
        events_.push_back({-1, false, {static_cast<float>(x), static_cast<float>(y)}});
    }
    void leave() { events_.push_back({-1, false, {-FLT_MAX, -FLT_MAX}}); }
    void button(int button, bool down) {
        if (button >= 0 && button < static_cast<int>(down_.size()))
            events_.push_back({button, down, {}});
    }
    /// The next of them; after the backend's new frame, which looks for itself.
    void feed(ImGuiIO& io) {
        bool moved = false;
        while (!events_.empty()) {
            const Event event = events_.front();
            const bool is_button = event.button >= 0;
            if (is_button && moved) break;
            events_.pop_front();
            if (is_button) {
                down_[static_cast<std::size_t>(event.button)] = event.down;
                break;
            }
            position_ = event.position;
            moved = true;
        }
        io.MousePos = position_;
        for (std::size_t i = 0; i < down_.size(); ++i) io.MouseDown[i] = down_[i];
    }
    /// Nothing waits for another frame.
    bool empty() const { return events_.empty(); }

  private:
    struct Event {
        int button;  // -1: a motion
        bool down;
        ImVec2 position;
    };
    std::deque<Event> events_;
    ImVec2 position_{-FLT_MAX, -FLT_MAX};
    std::array<bool, 5> down_{};
};

}  // namespace gs
