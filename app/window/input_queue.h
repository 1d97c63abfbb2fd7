// InputQueue: keys, text and mouse in the order they happened, passed on one step a frame. ImGui
// and the commands look once a frame: without this, at three frames a second two clicks become one,
// and what is typed after a click goes where the keyboard was before it. The window adds what
// happens, StudioUi feeds each frame from it, tests and scripts add events by name.
#pragma once

#include <imgui.h>

#include <array>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "panels/widgets/keys.h"

namespace gs {

/// One key going down (or repeating), written as key maps write keys: "Ctrl+P", "Space", "F1".
struct KeyPress {
    std::string chord;
    /// The same on a US keyboard, for keys whose mark the user's layout has elsewhere or not at
    /// all: the 6 of a French keyboard gives "-". Empty: letters, which follow the layout alone.
    std::string by_place;
    bool repeat = false;
    std::string place{};  ///< of the key alone, on a US keyboard
};
/// Runs what the key stands for. False: nothing, the key is ImGui's.
using TakeKey = std::function<bool(const KeyPress&)>;

struct KeyMods {
    bool ctrl = false, shift = false, alt = false, super = false;
};
/// "Ctrl+Shift+Z"; empty without a name.
std::string chord_of(std::string_view name, const KeyMods& mods);
/// The modifiers of a chord; what is left of it is the key's name.
KeyMods take_mods(std::string_view& chord);

struct InputEvent {
    enum class Kind { move, button, wheel, key, text };
    Kind kind = Kind::move;
    double time = 0;         ///< seconds; judges double clicks
    ImVec2 at{};             ///< of the mouse, or the wheel's way
    int button = 0;          ///< of the mouse
    unsigned character = 0;  ///< of a text
    bool down = true, repeat = false;
    std::string key{},
        place{};     ///< name by the layout and on a US keyboard; modifiers: "Ctrl", ...
    KeyMods mods{};  ///< held with a key or the wheel
};

class InputQueue {
  public:
    void add(InputEvent event);
    void move(double x, double y);
    void leave();
    void button(int button, bool down, double time = 0);
    /// A key as a key map writes it, down and up, with its text; `place`: if its mark is elsewhere
    /// on a US keyboard.
    void press(std::string_view chord, std::string_view place = {});
    /// The keys of a text, UTF-8.
    void type(std::string_view text);
    /// The next step of them, after the window's new frame, which looks for itself.
    void feed(ImGuiIO& io, const TakeKey& take);
    /// Nothing waits for another frame.
    bool empty() const { return events_.empty(); }

  private:
    enum class Step { none, moved, wheeled, typed, over };
    bool waits(const InputEvent& event) const;
    Step pass(const InputEvent& event, Step before, ImGuiIO& io, const TakeKey& take);
    Step pass_button(const InputEvent& event, ImGuiIO& io);
    Step pass_key(const InputEvent& event, Step before, ImGuiIO& io, const TakeKey& take);

    std::deque<InputEvent> events_;
    ImVec2 position_{-FLT_MAX, -FLT_MAX};
    std::array<bool, 5> down_{};
    std::array<double, 5> pressed_{-1, -1, -1, -1, -1};  // when last
    HeldPlaces places_;
    float turned_ = 0;                             // of the wheel with Ctrl
    bool repeat_dropped_ = false;                  // the last event; its text goes as well
    int since_command_ = 100, since_focus_ = 100;  // frames
};

}  // namespace gs
