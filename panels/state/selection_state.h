// SelectionState: the selected, hidden and locked Gaussians of the open scene, and the history of
// edits, for the Selection panel and the viewport's gizmos. Published by the editor
// (app/session/editor.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/vec.h"

namespace gs {

struct SelectionState {
    std::uint64_t gaussians = 0, selected = 0, hidden = 0, locked = 0;
    bool bounded = false;  ///< lo and hi are filled: something is selected that has a place
    Vec3f lo{}, hi{};      ///< bounds of the selected centres, world
    std::vector<std::string> history;  ///< what was done, oldest first
    std::size_t done = 0;              ///< history[0 .. done) is applied, the rest is undone
    std::uint64_t history_bytes = 0, history_most = 0;  ///< its memory, and the limit
    std::uint64_t dropped = 0;                          ///< oldest entries discarded to save memory
    bool unsaved = false;  ///< edited since the splats were opened or exported
    std::string why_not;   ///< why nothing can be edited; empty: it can
    bool working = false;  ///< searching for neighbours

    Vec3f centre() const { return 0.5F * (lo + hi); }
    std::string undo() const { return done > 0 ? history[done - 1] : std::string(); }
    std::string redo() const { return done < history.size() ? history[done] : std::string(); }
};

}  // namespace gs
