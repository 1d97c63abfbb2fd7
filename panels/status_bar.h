// The bar below everything: backend, device, memory, frames per second, the viewer's share, records
// lost. Drawn by the workspace.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

class StatusBar {
  public:
    float height() const;
    void draw(const Snapshot& snapshot, Commands& commands);
};

/// The selection and the inspected pixel, "673 of 20,130 selected, pixel: 29 Gaussians"; or empty.
std::string answers_in_words(const Snapshot& snapshot);

}  // namespace gs
