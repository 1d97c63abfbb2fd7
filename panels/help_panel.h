// Help: every command with key and explanation, made from the command table, and the mouse actions.
// A tab of the workspace.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct HelpPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    std::string filter;
};

}  // namespace gs
