// Held letter keys over a panel, the same for old and new Dear ImGui (named keys came with 1.87).
#pragma once

#include <imgui.h>

namespace gs {

/// True while the letter ('A'..'Z') is held, no text field takes it and Ctrl and Alt are up.
inline bool letter_held(char letter) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.WantTextInput || io.KeyCtrl || io.KeyAlt || io.KeySuper) return false;
    // Before 1.87 keys have the numbers of the window library, where letters are their ASCII codes.
    const int key =
        IMGUI_VERSION_NUM >= 18700 ? static_cast<int>(ImGuiKey_A) + (letter - 'A') : static_cast<int>(letter);
    return ImGui::IsKeyDown(static_cast<ImGuiKey>(key));
}

}  // namespace gs
