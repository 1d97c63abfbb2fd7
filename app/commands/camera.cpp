// Commands for the viewport's camera: navigation, capture cameras, saved views.
#include <imgui.h>

#include <cmath>

#include "app/commands/settings.h"
#include "app/session/parts/place_finder.h"
#include "app/studio/studio.h"
#include "base/format.h"
#include "base/shortened.h"

namespace gs {
namespace command::camera {

using namespace args;
using S = StudioState&;

Result<void> snap_to(S state, std::size_t index) {
    state.view.capture_view = static_cast<int>(index);
    state.picked_camera = index;
    state.navigation = snap(state.navigation, (*state.cameras)[index].camera);
    return {};
}
Result<void> need_cameras(const StudioState& state) {
    if (state.cameras && !state.cameras->empty()) return {};
    return fail(ErrorKind::usage, "", "there are no capture cameras");
}
Result<void> capture(S state, const std::string& name) {
    GS_TRY_VOID(need_cameras(state));
    const std::vector<CameraRow>& rows = *state.cameras;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].name == name || rows[i].name.substr(0, rows[i].name.find_last_of('.')) == name)
            return snap_to(state, i);
    GS_TRY(const auto index, integer_argument(name, 0, static_cast<std::int64_t>(rows.size()) - 1,
                                              "the camera (a name or number)"));
    return snap_to(state, static_cast<std::size_t>(index));
}
Result<void> neighbour(S state, int step) {
    GS_TRY_VOID(need_cameras(state));
    const int count = static_cast<int>(state.cameras->size());
    const int now = state.view.capture_view;
    return snap_to(state, static_cast<std::size_t>(now < 0 ? (step > 0 ? 0 : count - 1)
                                                           : (now + step + count) % count));
}
void free_camera(S state) {
    state.view.capture_view = -1;
    state.navigation.snapped = false;
}
Result<void> all_in_view(S state) {
    GS_TRY_VOID(need_scene(state));
    state.view.capture_view = -1;
    state.navigation = frame_all(state.navigation, *state.scene);
    return {};
}
void level_horizon(S state) {
    state.view.capture_view = -1;
    state.navigation = level(state.navigation);
}
/// Arguments: position, target, then (optionally) up, the field of view, or both.
Result<void> place_camera(S state, Arguments a) {
    double v[10] = {};
    const auto lens = viewer_lens_named(a.back());
    if (lens) a.pop_back();
    if (a.size() < 6 || a.size() == 8 || a.size() > 10)
        return fail(ErrorKind::usage, "",
                    "a camera is EYE_X EYE_Y EYE_Z AT_X AT_Y AT_Z [UP_X UP_Y UP_Z] [FOV_DEGREES] "
                    "[pinhole|orthographic|fisheye:DEGREES|equirectangular]");
    for (std::size_t i = 0; i < a.size(); ++i) {
        GS_TRY(v[i], number_argument(a[i], -1e9, 1e9, "a coordinate"));
    }
    const Vec3d up{v[6], v[7], v[8]};
    const double fov = v[a.size() - 1];
    const bool has_fov = a.size() == 7 || a.size() == 10;
    if (!place(state.navigation, {v[0], v[1], v[2]}, {v[3], v[4], v[5]},
               a.size() >= 9 ? &up : nullptr, has_fov ? &fov : nullptr))
        return fail(ErrorKind::usage, "", "a camera cannot look at its own position");
    state.navigation.through = lens.value_or(ViewerLens());
    state.view.capture_view = -1;
    return {};
}

/// Looks at the current target from outside along an axis.
void along_axis(S state, Vec3d way) {
    NavigationState& to = state.navigation;
    // Looking along the world's up needs another up direction.
    const Vec3d kept = to.up;
    const bool vertical = std::abs(dot(way, to.up)) > 0.99;
    const Vec3d up = !vertical ? to.up : way.z != 0 ? Vec3d{0, 1, 0} : Vec3d{0, 0, 1};
    (void)place(to, to.target + to.distance * way, to.target, &up, nullptr);
    to.up = kept;
    state.view.capture_view = -1;
}

tl::unexpected<Error> no_view(const std::string& name) {
    return fail(ErrorKind::usage, "", fmt::format("there is no view \"{}\"", name),
                "view.save NAME saves the current view");
}
Result<void> save_view(S state, const std::string& name) {
    GS_TRY_VOID(need_scene(state));
    if (name.find_first_of("=\n") != std::string::npos || name.empty())
        return fail(ErrorKind::usage, "", "a view's name must not be empty or contain \"=\"");
    if (name.size() > kLongestName)
        return fail(ErrorKind::usage, "",
                    fmt::format("a view's name has at most {} bytes; this one has {}", kLongestName,
                                name.size()));
    std::erase_if(state.saved_views, [&](const SavedView& v) { return v.name == name; });
    state.saved_views.push_back({name, state.view.capture_view, state.navigation});
    GS_TRY_VOID(write_views(state.views_file, state.saved_views));
    state.add_notice(false, fmt::format("view \"{}\" saved", name), {state.views_file.string()});
    return {};
}
Result<void> forget_view(S state, const std::string& name) {
    if (std::erase_if(state.saved_views, [&](const SavedView& v) { return v.name == name; }) == 0)
        return no_view(name);
    return write_views(state.views_file, state.saved_views);
}
Result<void> go_to_view(S state, const std::string& name) {
    for (const SavedView& view : state.saved_views)
        if (view.name == name) return look_from(state, view);
    return no_view(name);
}
Result<void> copy_camera(S state) {
    return ask(state, [text = "view.camera " + camera_text(state.navigation)](Studio&) {
        ImGui::SetClipboardText(text.c_str());
        return Result<void>();
    });
}
Result<void> paste_camera(Studio& studio) {
    const char* text = ImGui::GetClipboardText();
    const std::vector<std::string> words = split_words(text ? text : "");
    if (words.empty() || words[0] != "view.camera")
        return fail(ErrorKind::usage, "", "the clipboard has no camera",
                    "view.copy copies one, as a view.camera command");
    return studio.give("view.camera", {words.begin() + 1, words.end()});
}

// clang-format off
const CommandRow kRows[] = {
    {"view.navigation.orbit",     "Steer by: orbit",         "View/Steer by 1",
     "Drag to turn around the point looked at; the horizon stays level.",
     &ViewSettings::navigation, always(Navigation::orbit)},
    {"view.navigation.trackball", "Steer by: trackball",     "View/Steer by 1",
     "Drag to turn freely, like a trackball.", &ViewSettings::navigation, always(Navigation::trackball)},
    {"view.navigation.fly",       "Steer by: fly",           "View/Steer by 1",
     "Drag to look around from the camera's position; fly with W A S D Q E.",
     &ViewSettings::navigation, always(Navigation::fly)},
    {"view.navigation",           "Navigation",              "",
     "orbit, trackball or fly (W A S D Q E).", &ViewSettings::navigation, choice("MODE", kNavigationNames)},
    {"view.fly-speed",            "Flying speed",            "",
     "Scene extents per second.", &ViewSettings::fly_speed, number("EXTENTS", 1e-4, 1e4)},
    {"view.capture",              "Go to a capture camera",  "",
     "Snaps the viewport to a photo's camera.", capture, word("INDEX|NAME")},
    {"view.next",                 "Next capture camera",     "View 3",
     "Snaps to the next photo's camera.", neighbour, always(1)},
    {"view.previous",             "Previous capture camera", "View 3",
     "Snaps to the previous photo's camera.", neighbour, always(-1)},
    {"view.free",                 "Free camera",             "View 3",
     "Leaves the capture camera without moving.", free_camera},
    {"view.frame-all",            "Frame everything",        "View 3",
     "Move the camera back until the whole scene is in view.", all_in_view},
    {"view.level",                "Level the horizon",       "View/Camera 3",
     "Turn the camera upright without moving it.", level_horizon},
    {"view.focus",                "Focus",                   "",
     "Look at the point at this pixel of the picture and orbit around it.",
     &PlaceFinder::focus, shown_view(), pixel_x(), pixel_y()},
    {"view.camera",               "Place the camera",        "",
     "Three numbers each: position, point looked at, up; then, or without up, the vertical field "
     "of view in degrees; then the lens unless pinhole: orthographic, fisheye:DEGREES, equirectangular.",
     place_camera, rest("EYE_X EYE_Y EYE_Z AT_X AT_Y AT_Z [UP_X UP_Y UP_Z FOV LENS]", 6, 11)},
    {"view.along.x",              "Look along: x",           "View/Look from 3",
     "Look at the current target from outside along the world's x axis.", along_axis, always(Vec3d{1, 0, 0})},
    {"view.along.y",              "Look along: y",           "View/Look from 3",
     "The same along y.", along_axis, always(Vec3d{0, 1, 0})},
    {"view.along.z",              "Look along: z",           "View/Look from 3",
     "The same along z.", along_axis, always(Vec3d{0, 0, 1})},
    {"view.along.minus-x",        "Look along: -x",          "View/Look from 3",
     "Look from the other side of the world's x axis.", along_axis, always(Vec3d{-1, 0, 0})},
    {"view.along.minus-y",        "Look along: -y",          "View/Look from 3",
     "The same along y.", along_axis, always(Vec3d{0, -1, 0})},
    {"view.along.minus-z",        "Look along: -z",          "View/Look from 3",
     "The same along z.", along_axis, always(Vec3d{0, 0, -1})},
    {"view.along",                "Look along an axis",      "",
     "x, y, z, or -x, -y, -z for the other side.", along_axis, axis()},
    {"view.save",                 "Save this view",          "View 3",
     "Save the camera under a name, in the run's folder or the user's.", save_view, word("NAME")},
    {"view.go",                   "Go to a saved view",      "",
     "Go to the camera saved with view.save NAME.", go_to_view, word("NAME")},
    {"view.forget",               "Delete a saved view",     "",
     "Remove it from the list.", forget_view, word("NAME")},
    {"view.copy",                 "Copy the camera",         "View/Camera 3",
     "Copy the camera to the clipboard as a view.camera command.", copy_camera},
    {"view.paste",                "Paste a camera",          "View/Camera 3",
     "Go to the copied camera, from this or another window.", paste_camera},
};
// clang-format on

}  // namespace command::camera

std::span<const CommandRow> camera_commands() { return command::camera::kRows; }

}  // namespace gs
