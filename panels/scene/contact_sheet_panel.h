// Contact sheet: small pictures of every photo, its render and the error, worst first; click one to
// go to the photo's camera. A tab of the workspace. While it is shown the engine makes the pictures
// (app/session/parts/contact_sheet.h).
#pragma once

#include <string>

#include "panels/scene/photo_rows.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct ContactSheetPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    std::string filter;
    bool test_only = false;
    std::vector<std::size_t> seen;  ///< views whose pictures were drawn since the app cleared it

  private:
    void draw_choices(const Snapshot& snapshot, Commands& commands);
    void draw_cells(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
