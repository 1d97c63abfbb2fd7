// Commands of where the viewport looks from: ways to steer, capture cameras, places.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

const auto navigation = set_choice<&ViewSettings::navigation, kNavigationNames>;
template <Navigation which>
const auto navigation_is = set_to<&ViewSettings::navigation, which>;

Result<void> fly_speed(S state, A a) {
    return set_number(state.view.fly_speed, a[0], 1e-4, 1e4, "the speed");
}

Result<void> snap_to(S state, std::size_t index) {
    state.view.capture_view = static_cast<int>(index);
    state.navigation = snap(state.navigation, (*state.cameras)[index].camera);
    return {};
}
Result<void> capture(S state, A a) {
    if (!state.cameras || state.cameras->empty())
        return fail(ErrorKind::usage, "", "there are no capture cameras");
    const std::vector<CameraRow>& rows = *state.cameras;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].name == a[0] || rows[i].name.substr(0, rows[i].name.find_last_of('.')) == a[0])
            return snap_to(state, i);
    GS_TRY(const auto index, integer_argument(a[0], 0, static_cast<std::int64_t>(rows.size()) - 1,
                                              "the camera (a name or number)"));
    return snap_to(state, static_cast<std::size_t>(index));
}
Result<void> neighbour(S state, int step) {
    if (!state.cameras || state.cameras->empty())
        return fail(ErrorKind::usage, "", "there are no capture cameras");
    const int count = static_cast<int>(state.cameras->size());
    const int now = state.view.capture_view;
    return snap_to(state, static_cast<std::size_t>(now < 0 ? (step > 0 ? 0 : count - 1)
                                                           : (now + step + count) % count));
}
Result<void> next(S state, A) { return neighbour(state, 1); }
Result<void> previous(S state, A) { return neighbour(state, -1); }
Result<void> free_camera(S state, A) {
    state.view.capture_view = -1;
    state.navigation.snapped = false;
    return {};
}
Result<void> all_in_view(S state, A) {
    if (!state.scene) return fail(ErrorKind::usage, "", "nothing is open");
    state.view.capture_view = -1;
    state.navigation = frame_all(state.navigation, *state.scene);
    return {};
}
Result<void> level_horizon(S state, A) {
    state.view.capture_view = -1;
    state.navigation = level(state.navigation);
    return {};
}
Result<void> focus_on(S state, A a) {
    GS_TRY(const double x, number_argument(a[0], 0, 1e6, "X"));
    GS_TRY(const double y, number_argument(a[1], 0, 1e6, "Y"));
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& shown = state.frame->camera;
    return send(state,
                [request = view_request_of(state, state.width, state.height), x = x / shown.width,
                 y = y / shown.height](Engine& e) { e.focus(request, x, y); });
}
/// Position, then the point looked at, then (optionally) up or the field of view.
Result<void> place_camera(S state, A a) {
    if (a.size() == 8)
        return fail(ErrorKind::usage, "",
                    "a camera is EYE_X EYE_Y EYE_Z AT_X AT_Y AT_Z [UP_X UP_Y UP_Z | FOV_DEGREES]");
    double v[9] = {};
    for (std::size_t i = 0; i < a.size(); ++i)
        GS_TRY_VOID(set_number(v[i], a[i], -1e9, 1e9, "a coordinate"));
    NavigationState& to = state.navigation;
    const Vec3d eye{v[0], v[1], v[2]}, at{v[3], v[4], v[5]}, way = at - eye;
    if (!(dot(way, way) > 0))
        return fail(ErrorKind::usage, "", "a camera cannot look at its own position");
    const Vec3d up = a.size() == 9 ? Vec3d{v[6], v[7], v[8]} : to.up;
    if (a.size() == 7) to.fov_y = std::clamp(v[6], 1.0, 170.0) * std::numbers::pi / 180.0;
    state.view.capture_view = -1;
    to.snapped = false;
    to.rotation = look_at(eye, at, up, 1, 1, 1).rotation;
    to.target = at;
    to.distance = std::sqrt(dot(way, way));
    return {};
}

// clang-format off
const CommandRow kRows[] = {
    {"view.navigation.orbit",     "Steer by: orbit",         "View/Steer by 1", "Ctrl+1", "",
     "Dragging turns around what is looked at, the horizon stays level.", navigation_is<Navigation::orbit>},
    {"view.navigation.trackball", "Steer by: trackball",     "View/Steer by 1", "Ctrl+2", "",
     "Dragging turns freely, as a ball under the hand.", navigation_is<Navigation::trackball>},
    {"view.navigation.fly",       "Steer by: fly",           "View/Steer by 1", "Ctrl+3", "",
     "Dragging looks around from where the camera stands; W A S D Q E fly.", navigation_is<Navigation::fly>},
    {"view.navigation",           "Navigation",              "",     "",       "MODE",
     "orbit, trackball or fly (W A S D Q E).", navigation},
    {"view.fly-speed",            "Flying speed",            "",     "",       "EXTENTS",
     "Scene extents per second.", fly_speed},
    {"view.capture",              "Go to a capture camera",  "",     "",       "INDEX|NAME",
     "Snaps the viewport to a photo's camera.", capture},
    {"view.next",                 "Next capture camera",     "View 3", "]",      "",
     "Snaps to the next photo's camera.", next},
    {"view.previous",             "Previous capture camera", "View 3", "[",      "",
     "Snaps to the previous photo's camera.", previous},
    {"view.free",                 "Free camera",             "View 3", "Escape", "",
     "Leaves the capture camera without moving.", free_camera},
    {"view.frame-all",            "Frame everything",        "View 3", "Home",   "",
     "Moves the camera back until the whole scene is in view.", all_in_view},
    {"view.level",                "Level the horizon",       "View 3", "H",      "",
     "Turns the camera upright, where it stands.", level_horizon},
    {"view.focus",                "Focus",                   "",     "",       "X Y",
     "Looks at, and turns around, what lies at this pixel of the picture.", focus_on},
    {"view.camera",               "Place the camera",        "",     "",
     "EYE_X EYE_Y EYE_Z AT_X AT_Y AT_Z [UP_X UP_Y UP_Z | FOV]",
     "Three numbers each: position, point looked at, up; or the vertical field of view in "
     "degrees.", place_camera},
};
// clang-format on

}  // namespace

std::span<const CommandRow> camera_commands() { return kRows; }

}  // namespace gs
