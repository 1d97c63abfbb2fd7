// Functions for several tables of this folder: parameters and checks that commands share.
#pragma once

#include <limits>

#include "app/commands/commands.h"
#include "base/try.h"

namespace gs {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Errors (usage): no scene is open.
inline Result<void> need_scene(const StudioState& state) {
    if (state.scene) return {};
    return fail(ErrorKind::usage, "", "nothing is open");
}
inline Result<ClipBox> clip_box(const StudioState& state) {
    if (state.view.clip) return *state.view.clip;
    return fail(ErrorKind::usage, "", "there is no clip box",
                "make one with view.clip X0 Y0 Z0 X1 Y1 Z1 or view.clip.fit");
}
/// Opens a scene in place of the open one, or a trace.
Result<void> open_path(StudioState& state, OpenRequest request);
/// KEY [up|down]: what photos are sorted by, and which way.
template <class Sorted>
Result<void> set_order(StudioState& state, PhotoKey key, bool descending) {
    Sorted& sorted = row::settings_of<Sorted>(state);
    sorted.key = key;
    sorted.descending = descending;
    return {};
}

}  // namespace gs
