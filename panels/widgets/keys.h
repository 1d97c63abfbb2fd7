// Letter keys and a few others over a panel, the same for old and new Dear ImGui (named keys came
// with 1.87), and who owns them: a field, a popup, a panel or the commands.
#pragma once

#include <imgui.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace gs {

/// False while a text field takes keys, or Ctrl or Alt make others of them.
inline bool keys_are_free() {
    const ImGuiIO& io = ImGui::GetIO();
    return !(io.WantTextInput || io.KeyCtrl || io.KeyAlt || io.KeySuper);
}
inline ImGuiKey letter_key(char letter) {
    // Before 1.87 keys have the numbers of the window library, where letters are their ASCII codes.
    return static_cast<ImGuiKey>(IMGUI_VERSION_NUM >= 18700
                                     ? static_cast<int>(ImGuiKey_A) + (letter - 'A')
                                     : static_cast<int>(letter));
}
/// Keys by their places, named by the letters of a US keyboard, for hands that fly. Held ones; the
/// window's input (app/window/input_queue.h) sets ImGuiIO::UserData to it.
struct HeldPlaces {
    std::array<bool, 26> down{};
};
inline constexpr std::string_view kFlyingPlaces = "WASDQE";
/// True while the key at the place of the letter ('A'..'Z') is held.
inline bool place_held(char letter) {
    const auto* held = static_cast<const HeldPlaces*>(ImGui::GetIO().UserData);
    return keys_are_free() && held && held->down[static_cast<std::size_t>(letter - 'A')];
}
/// True in the frame in which the letter went down.
inline bool letter_pressed(char letter) {
    return keys_are_free() && ImGui::IsKeyPressed(letter_key(letter), false);
}
/// A key that ImGui names went down or repeats while it is held, for any owner.
inline bool named_key_pressed(ImGuiKey key, bool repeats = true) {
#if IMGUI_VERSION_NUM < 18700
    const int number = ImGui::GetKeyIndex(key);
    return number >= 0 && ImGui::IsKeyPressed(number, repeats);
#else
    return ImGui::IsKeyPressed(key, repeats);
#endif
}
/// The same, where keys_are_free.
inline bool key_pressed(ImGuiKey key) { return keys_are_free() && named_key_pressed(key); }

/// A popup is above the one (or the panel) being drawn.
bool popup_above();
/// Inside a popup, at its end: Escape goes to it, and not to a combo that lay over it when the key
/// went down. The popup closes itself then, whatever in it had the keyboard.
bool escape_leaves();
/// Inside a popup, after its button that Enter presses: whether Enter went down, and no field, list
/// above or other button that has the focus takes it.
bool enter_presses();
/// A panel that walks with the arrow keys itself calls this with every frame in which it has them:
/// ImGui's own moving of the focus rests in the next one.
void keep_arrows();
/// A panel that uses a key itself calls this with every frame in which it does: the key is no
/// command until the next frame is drawn.
void keep_key(std::string_view key);
/// Before the panels of a frame: arrow keys move the focus unless one of them keeps them.
void share_arrows();
/// A text field, a popup or the item that the keyboard stands on has a use of its own for the key
/// ("Ctrl+Z"): it is no command then. A `dialog` that is open leaves commands nothing.
bool keyboard_takes(std::string_view chord, bool dialog = false);

}  // namespace gs
