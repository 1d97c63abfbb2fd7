// The bar below everything: backend, device, memory, frames per second, the viewer's share, records
// lost. Drawn by the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

class StatusBar {
  public:
    float height() const;
    void draw(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
