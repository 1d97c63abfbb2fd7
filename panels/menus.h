// The menus, made from the command table: groups of items, which are switched on, and which are
// disabled because they have nothing to act on. Drawn by the top bar.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "panels/palette.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct PanelItem {
    const char* name;
    bool shown;
};

/// CommandInfo::menu in its parts: "View/Show 2" stands in the menu View, there in the list Show,
/// in the second group. Lines separate groups.
struct MenuPlace {
    std::string_view menu, list;  ///< list: empty for most
    int group = 0;
};
MenuPlace menu_place(std::string_view text);

/// Whether a command that chooses or switches something is chosen now; nothing: it does neither.
std::optional<bool> switched_on(std::string_view command, const Snapshot& snapshot);
/// False: it would only answer why it can do nothing.
bool applies(std::string_view command, const Snapshot& snapshot);

void draw_menus(const Snapshot& snapshot, Commands& commands, Palette& palette,
                std::span<const PanelItem> panels);

}  // namespace gs
