// Pixel: explains a clicked pixel: the Gaussians of its tile front to back with their
// contributions, the photo and its loss, the tile's cost, and the most expensive tiles. A tab of
// the workspace.
#pragma once

#include <cstdint>
#include <optional>

#include "panels/state/command.h"
#include "panels/state/inspection.h"
#include "panels/state/snapshot.h"

namespace gs {

struct PixelPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    bool with_left_out = false;            ///< also list the tile's Gaussians without effect
    std::optional<std::uint64_t> pointed;  ///< the Gaussian under the mouse, in this frame

  private:
    void draw_entries(const PixelInspection& inspection, const Snapshot& snapshot,
                      Commands& commands);
};

}  // namespace gs
