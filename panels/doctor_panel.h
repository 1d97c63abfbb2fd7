// Doctor: what is wrong with the open scene, what follows from it, what can be done: gravest first,
// with examples that are looked at by a click, and mending that can be taken back. Below, memory
// now and at the planned cap against what there is. A tab of the workspace.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct DoctorPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void draw_head(const Snapshot& snapshot, Commands& commands) const;
    void draw_finding(const Snapshot& snapshot, const Finding& finding, Commands& commands) const;
    void draw_memory(const Snapshot& snapshot, Commands& commands) const;
};

/// What a click on an example of a finding does: "view.gaussian 17", "view.capture NAME"; nothing
/// for other words.
std::optional<std::pair<std::string, std::string>> command_of_example(const Snapshot& snapshot,
                                                                      const std::string& example);

}  // namespace gs
