// Memory: bytes by category, as bars and a table, of the whole process, and over time; separately
// for GPU and host. If another trace is shown, its memory counters. A tab of the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/plot.h"

namespace gs {

struct MemoryPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    PlotRange over_time;
};

/// Sum of the categories of host memory, bytes.
std::uint64_t host_memory_known(const Snapshot& snapshot);

}  // namespace gs
