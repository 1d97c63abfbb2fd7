// The bar above everything: menus, scene name, transport buttons, progress, key figures, and the
// palette's button. Items that do not fit are hidden, least important first. Drawn by the
// workspace.
#pragma once

#include <span>

#include "panels/menus.h"
#include "panels/palette.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

class TopBar {
  public:
    float height() const;
    void draw(const Snapshot& snapshot, Commands& commands, Palette& palette,
              std::span<const PanelItem> panels);

  private:
    void transport(const Snapshot& snapshot, Commands& commands, Palette& palette);
    void figures(const Snapshot& snapshot, float end);
};

}  // namespace gs
