#include "app/bundle/view_file.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "app/bundle/json_fields.h"
#include "base/json_text.h"
#include "base/json_write.h"

namespace gs {
namespace {

using ViewJson = nlohmann::ordered_json;

/// Calls the first for each choice by name, and the second for each switch and number with its
/// bounds. Settings of this machine or this moment (budgets, steering, the second scene) are not
/// included.
template <class View, class OnName, class OnValue>
void for_each_field(View& v, OnName&& name, OnValue&& value) {
    name("mode", kViewModeNames, v.mode);
    name("style", kDrawStyleNames, v.style);
    name("colormap", kColormapNames, v.colormap);
    name("range", kRangeModeNames, v.range);
    name("compare", kCompareNames, v.compare);
    name("frusta_color", kFrustaColorNames, v.frusta_color);
    constexpr double kAny = 1e30;
    value("range_lo", v.range_lo, -kAny, kAny);
    value("range_hi", v.range_hi, -kAny, kAny);
    value("percentile", v.percentile, 50.0, 100.0);
    value("split", v.split, 0.0, 1.0);
    value("near_plane", v.near_plane, 0.0, kAny);
    value("frusta_size", v.frusta_size, 0.01, 100.0);
    value("scale_modifier", v.scale_modifier, 0.001, 100.0);
    value("point_size", v.point_size, 1.0, 32.0);
    value("sh_degree", v.sh_degree, 0, 3);
    value("sky", v.sky, false, true);
    value("fast", v.fast, false, true);
    value("exact", v.exact, false, true);
    value("logarithmic", v.logarithmic, false, true);
    value("show_photo", v.show_photo, false, true);
    value("signed_error", v.signed_error, false, true);
    value("tile_grid", v.tile_grid, false, true);
    value("frusta", v.frusta, false, true);
    value("frusta_photos", v.frusta_photos, false, true);
    value("grid", v.grid, false, true);
    value("overlays", v.overlays, false, true);
}

bool take_three(const nlohmann::json& from, Vec3f& into) {
    if (!from.is_array() || from.size() != 3) return false;
    float v[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
        if (!from[i].is_number()) return false;
        v[i] = from[i].get<float>();
        if (!std::isfinite(v[i])) return false;
    }
    into = {v[0], v[1], v[2]};
    return true;
}
ViewJson three(Vec3f v) { return {v.x, v.y, v.z}; }

}  // namespace

std::string view_json(const ViewSettings& view) {
    ViewJson out;
    for_each_field(
        view,
        [&](const char* key, const auto& names, auto choice) {
            out[key] = names[static_cast<std::size_t>(choice)];
        },
        [&](const char* key, auto value, auto, auto) { out[key] = value; });
    out["background"] = three(view.background);
    if (view.clip) out["clip"] = {three(view.clip->lo), three(view.clip->hi)};
    return json_text(out, 2) + "\n";
}

void take_view_json(std::string_view text, ViewSettings& view) {
    const auto json = json_or_discarded(text);
    if (!json.is_object()) return;
    for_each_field(
        view,
        [&](const char* key, const auto& names, auto& choice) {
            take_name(json, key, names, choice);
        },
        [&](const char* key, auto& value, auto least, auto most) {
            using Value = std::remove_reference_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, bool>) {
                take(json, key, value);
            } else {
                double given = static_cast<double>(value);
                take(json, key, given);
                if (std::isfinite(given))
                    value = static_cast<Value>(
                        std::clamp(given, static_cast<double>(least), static_cast<double>(most)));
            }
        });
    if (const auto it = json.find("background"); it != json.end()) {
        Vec3f given = view.background;
        if (take_three(*it, given))
            view.background = {std::clamp(given.x, 0.0F, 1.0F), std::clamp(given.y, 0.0F, 1.0F),
                               std::clamp(given.z, 0.0F, 1.0F)};
    }
    const auto clip = json.find("clip");
    if (clip == json.end() || !clip->is_array() || clip->size() != 2) return;
    ClipBox box;
    if (take_three((*clip)[0], box.lo) && take_three((*clip)[1], box.hi)) view.clip = box;
}

}  // namespace gs
