// The files of assets/ inside the program: layouts, themes, stage maps, presets, the sample scene,
// fonts, the icon. A user's file of the same name below assets/ in the configuration folder comes
// before the built-in one, so everything that is text can be changed without a build. Embedded by
// tools/cmake/assets.cmake; asked by whoever needs one, at start or on a command, never in a loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace gs {

/// The user's settings: $XDG_CONFIG_HOME/gausscope or ~/.config/gausscope.
fs::path config_folder();
/// Files that can be rebuilt: $XDG_CACHE_HOME/gausscope or ~/.cache/gausscope.
fs::path cache_folder();

/// The bytes of assets/PATH ("layouts/studio.layout") as they were built in. They stay valid as
/// long as the program runs. A path that was not built in is a bug.
std::string_view embedded_asset(std::string_view path);

struct Asset {
    std::string origin;  ///< the user's file, or "built-in layouts/studio.layout"; for messages
    std::string text;
};
/// The user's own where there is a readable one of at most a megabyte, the built-in one otherwise.
Asset asset(std::string_view path);

/// Paths of everything below `folder` ("stage_maps"), by name: of what was built in, and with the
/// user's own files among them.
std::vector<std::string> embedded_assets(std::string_view folder);
std::vector<std::string> assets_in(std::string_view folder);

}  // namespace gs
