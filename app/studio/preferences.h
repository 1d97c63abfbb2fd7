// Preferences: the studio's memory between runs, in $XDG_CONFIG_HOME/gausscope (or
// ~/.config/gausscope): recent paths, view settings, the panels' layout, the window's size,
// recently used folders. Losing or damaging these files is never an error.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/assets.h"
#include "panels/state/snapshot.h"

namespace gs {

inline constexpr const char* kDefaultKeys = "gausscope";

struct Preferences {
    std::vector<std::string> recent;  ///< newest first, at most 12
    ViewSettings view;
    int width = 1600, height = 1000;
    double interface_scale = 1;                  ///< times what the display says
    std::string keys = kDefaultKeys;             ///< of assets/keys
    std::string layout;                          ///< the workspace's own text
    std::map<std::string, std::string> folders;  ///< FileDialog::folders
};

Preferences read_preferences(const fs::path& folder);
void write_preferences(const fs::path& folder, const Preferences& preferences);
/// Moves `path` (made absolute) to the front of the list.
void remember_path(std::vector<std::string>& recent, const std::string& path);

}  // namespace gs
