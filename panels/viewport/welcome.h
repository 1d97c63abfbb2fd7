// The welcome page of an empty studio: open, drop, sample, recent, and a few keys. Replaces the
// viewport until something is loaded. Drawn by the viewport.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct WelcomePanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    std::string path;
};

}  // namespace gs
