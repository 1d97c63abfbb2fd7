// Files: what was opened lately, and a browser of folders that opens captures, splat files and checkpoints, or a second
// scene to compare with the first. A tab of the workspace.
#pragma once

#include "panels/command.h"
#include "panels/file_browser.h"
#include "panels/snapshot.h"

namespace gs {

struct FilesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    FileBrowser browser;

  private:
    void draw_recent(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
