// The running work of a name: its progress for the panel that started it.
#pragma once

#include <string_view>

#include "panels/state/snapshot.h"

namespace gs {

/// Null: there is none.
inline const Activity* find_activity(const Snapshot& snapshot, std::string_view name) {
    for (const Activity& activity : snapshot.activities)
        if (activity.name == name) return &activity;
    return nullptr;
}

}  // namespace gs
