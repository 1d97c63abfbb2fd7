// The dialog before a capture is opened by hand: the contents of the capture, choices, a forecast
// of resources, and the equivalent command line. The workspace draws it over everything.
#pragma once

#include <map>
#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/file_dialog.h"

namespace gs {

struct ImportDialog {
    /// `file_dialog` is drawn over it, while it is open.
    void draw(const Snapshot& snapshot, Commands& commands, FileDialog& file_dialog);

  private:
    void draw_list(const ImportState::Choice& choice, Commands& commands);
    void draw_field(const ImportState::Choice& choice, Commands& commands);
    void draw_choice(const ImportState::Choice& choice, Commands& commands);
    void draw_choices(const ImportState& import, Commands& commands);

    std::map<std::string, std::string> typed_;  // values that are being typed
    bool typing_ = false;                       // a field has the keyboard
};

}  // namespace gs
