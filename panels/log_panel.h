// Log: every line the program logged, filtered by level and text, newest at the end. A tab of the
// workspace.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct LogPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
    /// Takes the lines written since the last call; true when there were any.
    bool refresh();

    int least_level = 1;  ///< LogLevel: info
    std::string filter;
    bool follow = true;
    std::deque<LogLine> lines;

  private:
    std::vector<const LogLine*> matching() const;
    std::uint64_t taken_ = 0;
};

}  // namespace gs
