// FileDialog: chooses the path for a command. To open: a browser. To write: a browser of folders, a
// name, and the formats. It stays in front until it is answered or dismissed, and starts in the
// folder last used for the same purpose. Drawn by the workspace.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/file_browser.h"

namespace gs {

class FileDialog {
  public:
    /// Commands whose paths are chosen here rather than in the palette.
    static bool serves(std::string_view command);
    void ask(const std::string& command, const Snapshot& snapshot);
    void draw(const Snapshot& snapshot, Commands& commands);
    bool busy() const { return visible_ && browser_.busy(); }
    /// The next frame should come soon.
    bool waits() const { return visible_ && browser_.waits(); }
    bool visible() const { return visible_ || opening_; }

    /// The last folder of each purpose ("pictures", "traces"); kept between runs.
    std::map<std::string, std::string> folders;

  private:
    std::string first_folder(const Snapshot& snapshot) const;
    void name_file(const Snapshot& snapshot);
    void draw_opening(const Snapshot& snapshot, Commands& commands);
    void draw_writing(const Snapshot& snapshot, Commands& commands);
    bool draw_name(const Snapshot& snapshot, bool ready);
    void draw_formats(const FileTypes& types);
    void draw_picture_choices();
    void draw_box(const Snapshot& snapshot);
    /// The choices beside the path.
    std::vector<std::string> more_arguments() const;
    void answer(const std::string& path, Commands& commands);

    FileBrowser browser_;
    std::string command_, title_, name_, purpose_;
    std::string ending_;  ///< what the name gets where it has none; empty: it says the format
    bool visible_ = false, opening_ = false, writes_ = false, overlays_ = true;
    bool unnamed_ = false;  ///< until its folder is read
    bool ticked_ = false;   ///< the command's own box: with photos, clip only
    std::size_t size_ = 0;  ///< of pictures, an index
};

}  // namespace gs
