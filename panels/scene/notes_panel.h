// Notes: a list of the texts pinned to the scene and its traces; click one to go there. New notes
// are written here as well. A tab of the workspace.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "panels/state/command.h"
#include "panels/state/notes_state.h"
#include "panels/state/snapshot.h"

namespace gs {

struct NotesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
    /// Asks for the text of a note on this pixel of the picture.
    void begin(std::pair<int, int> pixel) { pixel_ = pixel, wants_focus_ = true; }

  private:
    void draw_new(const Snapshot& snapshot, Commands& commands);
    void draw_note(const Note& note, std::size_t number, Commands& commands);

    std::string typed_, edited_;
    std::optional<std::pair<int, int>> pixel_;  // none: the picture's middle
    std::size_t editing_ = 0;                   // the number of the note whose text is changed
    bool wants_focus_ = false;
};

}  // namespace gs
