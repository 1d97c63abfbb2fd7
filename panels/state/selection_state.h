// SelectionState: the selected, hidden and locked Gaussians of the open scene, for the Selection
// panel and the viewport's gizmos. Published by the editor (app/session/parts/editor.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/vec.h"

namespace gs {

struct SelectionState {
    std::uint64_t selected = 0, hidden = 0, locked = 0;
    bool bounded = false;  ///< lo and hi are filled: something is selected that has a place
    Vec3f lo{}, hi{};      ///< bounds of the selected centres, world
    bool unsaved = false;  ///< edited since the splats were opened or exported
    std::string why_not;   ///< why nothing can be edited; empty: it can
    bool working = false;  ///< searching for neighbours

    Vec3f centre() const { return 0.5F * (lo + hi); }
};

}  // namespace gs
