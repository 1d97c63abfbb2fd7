// Doctor: problems of the open scene with their consequences and advice, worst first, with examples
// to click, and fixes that can be undone. Below, memory now and at the planned cap against the
// available memory. A tab of the workspace.
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
    void draw_changes(const DoctorReport& report) const;
    void draw_finding(const Snapshot& snapshot, const Finding& finding, Commands& commands) const;
    void draw_memory(const Snapshot& snapshot, Commands& commands) const;
};

/// The command for a click on a finding's example: "view.gaussian 17", "view.capture NAME"; nothing
/// for other words.
std::optional<std::pair<std::string, std::string>> command_of_example(const Snapshot& snapshot,
                                                                      const std::string& example);

}  // namespace gs
