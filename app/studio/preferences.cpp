#include "app/studio/preferences.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/bundle/json_fields.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/log.h"

namespace gs {
namespace {

using nlohmann::json;
constexpr std::size_t kMostRecent = 12;

}  // namespace

Preferences read_preferences(const fs::path& folder) {
    Preferences out;
    if (auto layout = read_text_file(folder / "layout.txt", 1 << 20))
        out.layout = std::move(*layout);
    const auto text = read_text_file(folder / "studio.json", 1 << 20);
    const json object = text ? json_or_discarded(*text) : json();
    if (!object.is_object()) return out;
    if (const auto recent = object.find("recent"); recent != object.end() && recent->is_array())
        for (const json& path : *recent)
            if (path.is_string() && out.recent.size() < kMostRecent)
                out.recent.push_back(path.get<std::string>());
    if (const auto folders = object.find("folders");
        folders != object.end() && folders->is_object())
        for (const auto& [purpose, last] : folders->items())
            if (last.is_string() && out.folders.size() < kMostRecent)
                out.folders[purpose] = last.get<std::string>();
    take(object, "width", out.width);
    take(object, "height", out.height);
    out.width = std::clamp(out.width, 320, 16384);
    out.height = std::clamp(out.height, 240, 16384);
    take(object, "interface_scale", out.interface_scale);
    take(object, "keys", out.keys);
    out.interface_scale = std::clamp(out.interface_scale, 0.5, 3.0);
    take_name(object, "colormap", kColormapNames, out.view.colormap);
    take_name(object, "navigation", kNavigationNames, out.view.navigation);
    take(object, "frusta", out.view.frusta);
    take(object, "frusta_photos", out.view.frusta_photos);
    take_name(object, "frusta_color", kFrustaColorNames, out.view.frusta_color);
    take(object, "overlays", out.view.overlays);
    take(object, "grid", out.view.grid);
    take(object, "fast", out.view.fast);
    take(object, "viewer_budget", out.view.viewer_budget);
    take(object, "fly_speed", out.view.fly_speed);
    take(object, "point_size", out.view.point_size);
    out.view.point_size = std::clamp(out.view.point_size, 1.0, 32.0);
    out.view.viewer_budget = std::clamp(out.view.viewer_budget, 0.0, 0.95);
    return out;
}

void write_preferences(const fs::path& folder, const Preferences& preferences) {
    const ViewSettings& view = preferences.view;
    const json object{
        {"recent", preferences.recent},
        {"folders", preferences.folders},
        {"width", preferences.width},
        {"height", preferences.height},
        {"interface_scale", preferences.interface_scale},
        {"keys", preferences.keys},
        {"colormap", kColormapNames[static_cast<std::size_t>(view.colormap)]},
        {"navigation", kNavigationNames[static_cast<std::size_t>(view.navigation)]},
        {"frusta", view.frusta},
        {"frusta_photos", view.frusta_photos},
        {"frusta_color", kFrustaColorNames[static_cast<std::size_t>(view.frusta_color)]},
        {"overlays", view.overlays},
        {"grid", view.grid},
        {"fast", view.fast},
        {"viewer_budget", view.viewer_budget},
        {"fly_speed", view.fly_speed},
        {"point_size", view.point_size}};
    const std::string text = json_text(object, 2) + "\n";
    auto written = make_folder(folder);
    if (written) written = write_text_file(folder / "studio.json", text);
    if (written) written = write_text_file(folder / "layout.txt", preferences.layout);
    if (!written) log_debug("{}", written.error().text());
}

void remember_path(std::vector<std::string>& recent, const std::string& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    const std::string text = error ? path : absolute.lexically_normal().string();
    std::erase(recent, text);
    recent.insert(recent.begin(), text);
    if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

}  // namespace gs
