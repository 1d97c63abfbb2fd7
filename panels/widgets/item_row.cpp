#include "panels/widgets/item_row.h"

#include "panels/widgets/widgets.h"

namespace gs {

ItemRow ItemRow::rest(float room) {
    ItemRow row(room);
    row.menu_ = true;
    return row;
}

bool ItemRow::place(float width, const char* name) {
    const float begin = at_;
    at_ += width * em() + 0.4F * em();
    full_ = full_ || begin + width * em() > room_;
    if (full_ != menu_) return false;
    if (menu_) {
        ImGui::AlignTextToFramePadding();
        if (*name) dim_text(name), ImGui::SameLine();
        ImGui::SetCursorPosX(6 * em());
    } else {
        ImGui::SetCursorPos({corner_.x + begin, corner_.y});
    }
    return true;
}

}  // namespace gs
