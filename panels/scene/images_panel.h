// Images: every photo with PSNR, SSIM, loss and their history; sortable, with a CSV copy; click a
// photo to go to its camera. A tab of the workspace.
#pragma once

#include <string>
#include <vector>

#include "panels/scene/photo_rows.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct ImagesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    std::string filter;
    bool test_only = false;
};

/// The table as CSV, unmeasured values empty.
std::string images_csv(const std::vector<CameraRow>& rows);

}  // namespace gs
