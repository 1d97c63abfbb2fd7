#include "panels/widgets/keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gs {
namespace {

constexpr ImGuiConfigFlags kMoving = ImGuiConfigFlags_NavEnableKeyboard;

template <std::size_t n>
bool one_of(std::string_view key, const std::array<std::string_view, n>& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Keys that a text field uses with Ctrl held, besides letters.
constexpr std::array<std::string_view, 8> kEditing{"Home", "End",  "Left",   "Right",
                                                   "Up",   "Down", "Delete", "Backspace"};
/// Keys that move the focus, and keys that act on the focused item.
constexpr std::array<std::string_view, 12> kWalking{"Tab",  "Left",   "Right",    "Up",
                                                    "Down", "Space",  "Enter",    "Home",
                                                    "End",  "PageUp", "PageDown", "Escape"};

struct KeptKey {
    std::string_view key;  // a literal
    int frame = -2;
};
KeptKey& kept_key() {
    static KeptKey kept;  // one keyboard, one panel with the focus
    return kept;
}

}  // namespace

bool popup_above() { return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId); }

/// Whether a popup lay above in the last frame: ImGui closes it before this frame is drawn.
static bool was_covered(const char* id) {
    return std::exchange(*ImGui::GetStateStorage()->GetBoolRef(ImGui::GetID(id)), popup_above());
}

bool escape_leaves() { return !was_covered("##escape") && named_key_pressed(ImGuiKey_Escape); }

bool enter_presses() {
    const bool covered = was_covered("##enter");
    const bool elsewhere = ImGui::GetIO().NavVisible && !ImGui::IsItemFocused();
    return !covered && !elsewhere && !ImGui::IsWindowAppearing() && keys_are_free() &&
           named_key_pressed(ImGuiKey_Enter, false);
}

void keep_arrows() {
    if (!ImGui::GetIO().NavVisible) ImGui::GetIO().ConfigFlags &= ~kMoving;
}

void keep_key(std::string_view key) { kept_key() = {key, ImGui::GetFrameCount()}; }

void share_arrows() {
#if IMGUI_VERSION_NUM < 18700
    if (ImGui::GetKeyIndex(ImGuiKey_Space) < 0) return;  // no window, no keyboard
#endif
    ImGui::GetIO().ConfigFlags |= kMoving;
}

bool keyboard_takes(std::string_view chord, bool dialog) {
    const std::size_t plus = chord.rfind('+');
    const std::string_view key = plus == std::string_view::npos ? chord : chord.substr(plus + 1);
    const bool plain = chord.find("Ctrl+") == std::string_view::npos &&
                       chord.find("Alt+") == std::string_view::npos;
    const bool function_key = key.size() > 1 && key[0] == 'F' && key[1] >= '0' && key[1] <= '9';
    const bool letter = key.size() == 1 && key[0] >= 'A' && key[0] <= 'Z';
    if (dialog || (chord == kept_key().key && ImGui::GetFrameCount() - kept_key().frame <= 1))
        return true;
    if (function_key) return false;
    if (ImGui::GetIO().WantTextInput) return plain || letter || one_of(key, kEditing);
    if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel))
        return plain;
    if (key == "Escape" && ImGui::IsAnyItemActive()) return true;
    return ImGui::GetIO().NavVisible && plain && one_of(key, kWalking);
}

}  // namespace gs
