// A row for a recent file: its name and date, of a run its steps, score and a thumbnail. For the
// Files panel and the welcome page.
#pragma once

#include <string>

#include "panels/state/snapshot.h"

namespace gs {

/// True when it was clicked. `name`: the text for `path`; if too long, its end is kept.
/// The item is the row, for tooltips and menus.
bool recent_row(const Snapshot& snapshot, const std::string& path, const std::string& name,
                bool accent);

}  // namespace gs
