// Files: recent files and a browser of folders that opens captures, splat files and checkpoints, or
// a second scene to compare. A tab of the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/file_browser.h"

namespace gs {

struct FilesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return browser.busy(); }

    FileBrowser browser;

  private:
    void draw_recent(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
