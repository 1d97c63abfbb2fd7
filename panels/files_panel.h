// Files: what was opened lately and a small browser of folders; a click opens a capture, splat file or checkpoint, a
// right click also offers to compare with it. Folders are read when they are entered or refreshed, never every frame. A
// tab of the workspace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panels/command.h"
#include "panels/snapshot.h"

namespace gs {

struct FilesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
    /// Enters a folder (read now). An unreadable one leaves an error text in `problem`.
    void enter(const std::string& path);

    enum class Kind { folder, capture, splats, other };
    struct Entry {
        std::string name;
        Kind kind = Kind::other;
        std::uint64_t bytes = 0;
    };
    std::string folder, typed, problem;
    std::vector<Entry> entries;
    std::size_t left_out = 0;  ///< entries beyond the most that are listed

  private:
    void draw_recent(const Snapshot& snapshot, Commands& commands);
    void draw_entries(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
