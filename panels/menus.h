// The menus, made from the command table: groups of items, which are switched on, and which are
// disabled because they have nothing to act on. Drawn by the top bar.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "panels/palette.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct PanelItem {
    const char* name;
    bool shown;
};

/// CommandInfo::menu in its parts: "View/Show 2" is in the menu View, in its submenu Show, in the
/// second group. Lines separate groups.
struct MenuPlace {
    std::string_view menu, list;  ///< list: empty for most
    int group = 0;
};
MenuPlace menu_place(std::string_view text);

/// Whether a choice or switch command is on; nothing: the command is neither.
std::optional<bool> switched_on(std::string_view command, const Snapshot& snapshot);
/// False: the command would only fail now.
bool applies(std::string_view command, const Snapshot& snapshot);

void draw_menus(const Snapshot& snapshot, Commands& commands, Palette& palette,
                std::span<const PanelItem> panels);

}  // namespace gs
