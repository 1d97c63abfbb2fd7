// FileDialog: chooses the path that a command takes. For opening: a browser. For writing: a browser
// of folders, a name, and the formats there are. In front of everything, until it is answered or
// clicked away. Drawn by the workspace.
#pragma once

#include <string>
#include <string_view>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/file_browser.h"

namespace gs {

class FileDialog {
  public:
    /// Commands whose paths are asked for here rather than in the palette.
    static bool serves(std::string_view command);
    void ask(const std::string& command, const Snapshot& snapshot);
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return visible_ && browser_.busy(); }

  private:
    void draw_opening(const Snapshot& snapshot, Commands& commands);
    void draw_writing(const Snapshot& snapshot, Commands& commands);
    void draw_formats(const FileTypes& types);
    void answer(const std::string& path, Commands& commands);

    FileBrowser browser_;
    std::string command_, title_, name_;
    bool visible_ = false, opening_ = false, writes_ = false;
};

}  // namespace gs
