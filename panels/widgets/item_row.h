// ItemRow: one row of widgets with fixed places at any window width. Items that do not fit move to
// a menu. The same function draws both: once with ItemRow(room), once, inside the menu's popup,
// with ItemRow::rest(room). Used by the viewport's toolbar.
#pragma once

#include <imgui.h>

namespace gs {

class ItemRow {
  public:
    /// From the cursor on, `room` pixels wide.
    explicit ItemRow(float room) : room_(room), corner_(ImGui::GetCursorPos()) {}
    /// The items that did not fit the row, one below the other.
    static ItemRow rest(float room);

    /// The place of the next item, `width` em; false: it is not drawn here. The items after one
    /// that does not fit do not fit either: their order stays. `name` is before it in the menu;
    /// empty: the item has its own.
    bool place(float width, const char* name);

  private:
    float room_;
    ImVec2 corner_;
    float at_ = 0;
    bool full_ = false, menu_ = false;
};

}  // namespace gs
