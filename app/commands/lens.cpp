// Commands for the viewport's lens, its up direction, its clipping, and the sides it looks from.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/frame_verifier.h"
#include "base/try.h"
#include "panels/viewport/frusta.h"
#include "renderer/scene/camera_names.h"

namespace gs {
namespace command::lens {

using namespace args;
using S = StudioState&;

constexpr double kFarthest = 1e9;                // world units that commands take
constexpr double kLeastFov = 5, kMostFov = 150;  // degrees

Vec3d wide(Vec3f v) {
    return {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
}

/// The free camera continues from its position.
void move_to(S state, const NavigationState& to) {
    state.view.capture_view = -1;
    state.navigation = to;
    state.navigation.snapped = false;
}

void orthographic(S state, std::optional<bool> wanted) {
    const bool on = wanted.value_or(!state.navigation.parallel());
    if (on == state.navigation.parallel()) return;  // a photo's camera stays
    ViewerLens to;
    if (on) to.model = CameraModel::orthographic;
    move_to(state, with_lens(state.navigation, to));
}
Result<void> lens(S state, const std::string& name, std::optional<double> degrees) {
    const bool fisheye = name == text_of(CameraModel::opencv_fisheye) && degrees;
    const auto to = viewer_lens_named(fisheye ? fmt::format("{}:{}", name, *degrees) : name);
    if (!to)
        return fail(ErrorKind::usage, "", fmt::format("there is no such lens: {}", name),
                    "pinhole, orthographic, fisheye (10 to 360 degrees) or equirectangular");
    NavigationState place = with_lens(state.navigation, *to);
    if (!fisheye && degrees) {
        if (to->wide()) return fail(ErrorKind::usage, "", "it sees every direction");
        if (*degrees < kLeastFov || *degrees > kMostFov)
            return fail(ErrorKind::usage, "",
                        fmt::format("the field of view must be between {} and {} degrees, not {:g}",
                                    kLeastFov, kMostFov, *degrees));
        place = with_fov(place, *degrees * std::numbers::pi / 180);
    }
    move_to(state, place);
    return {};
}
void fov(S state, double degrees) {
    move_to(state, with_fov(state.navigation, degrees * std::numbers::pi / 180));
}
void near_plane(S state, std::optional<double> distance) {
    state.view.near_plane = distance.value_or(0);
}
void up(S state, std::optional<Vec3d> axis) {
    Vec3d way = state.scene ? wide(state.scene->up) : Vec3d{0, -1, 0};
    if (state.measured && state.measured->up) way = *state.measured->up;
    move_to(state, with_up(state.navigation, axis.value_or(way)));
}
Result<void> fast(S state, std::optional<bool> on) {
    state.view.fast = on.value_or(!state.view.fast);
    if (!state.view.fast || !state.scene) return {};
    return send(state, [request = view_request_of(state, state.width, state.height)](Engine& e) {
        if (const auto scene = e.open_scene()) e.part<FrameVerifier>().check_fast(*scene, request);
    });
}
void look_from_side(S state, Side which) { move_to(state, from_side(state.navigation, which)); }

/// A sphere around the selection: the marked Gaussian, else the selected ones, else the camera
/// under the mouse or visited last.
Result<void> frame_selection(S state) {
    constexpr double kDeviations = 3, kAroundFrustum = 1.5;
    if (state.marked) {
        double largest = 0;
        for (const Vec3f& axis : state.marked->axes)
            largest = std::max(largest, std::sqrt(dot(wide(axis), wide(axis))));
        if (largest > 0)
            move_to(state, frame_sphere(state.navigation, wide(state.marked->mean),
                                        kDeviations * largest));
        return {};
    }
    if (state.selection && state.selection->bounded) {
        const Vec3f across = state.selection->hi - state.selection->lo;
        const double radius = 0.5 * std::sqrt(dot(wide(across), wide(across)));
        move_to(state, frame_sphere(state.navigation, wide(state.selection->centre()),
                                    std::max(radius, 0.01 * state.navigation.extent)));
        return {};
    }
    const auto selected = state.hovered_camera ? state.hovered_camera : state.picked_camera;
    if (!selected || !state.scene || !state.cameras || *selected >= state.cameras->size())
        return fail(
            ErrorKind::usage, "",
            "nothing is selected: select Gaussians, mark one (view.gaussian ROW) or click a "
            "capture camera first");
    const Camera& camera = (*state.cameras)[*selected].camera;
    const double size = state.view.frusta_size * frustum_size(*state.scene, state.cameras->size());
    NavigationState to = frame_sphere(
        state.navigation, camera.position() + 0.5 * size * camera.forward(), kAroundFrustum * size);
    if (state.navigation.snapped) {  // from exactly behind, a pyramid looks like a crossed window
        NavigationInput aside{.turn_x = 0.2};
        aside.turn_y = 0.1;  // of the picture's height
        to = navigate(to, aside);
    }
    move_to(state, to);
    return {};
}

Result<void> frame(S state) {
    if (state.marked || (state.selection && state.selection->bounded))
        return frame_selection(state);
    GS_TRY_VOID(need_scene(state));
    NavigationState all = frame_all(state.navigation, *state.scene);
    move_to(state, all);
    return {};
}

Result<void> clip_to_core(S state) {
    GS_TRY_VOID(need_scene(state));
    state.view.clip = state.scene->core;
    return {};
}

// clang-format off
const CommandRow kRows[] = {
    {"view.frame",                "Frame the selection, or everything", "View 3",
     "Move close to the marked Gaussian or the selected ones; without any, show the whole scene.", frame},
    {"view.frame-selection",      "Frame the selection",     "View/Camera 3",
     "Move close to the marked Gaussian (three deviations fit the picture), else to the selected "
     "ones, else to the capture camera under the mouse or the last one visited.", frame_selection},
    {"view.orthographic",         "Orthographic",            "View/Camera 3",
     "Parallel rays: sizes do not depend on depth. Zooming changes the visible width.", orthographic, toggle()},
    {"camera.lens",               "Change the lens",           "",
     "pinhole, orthographic, fisheye (DEGREES across the height, usually 180) or equirectangular, for the free camera.",
     lens, word("NAME"), optional(number("DEGREES", 0, 360))},
    {"view.shutter",              "Rolling shutter",         "View/Camera 3",
     "For a photo with a rolling shutter: draw every row from its own pose, or all rows from the mid-readout pose.",
     &ViewSettings::shutter, toggle()},
    {"view.shutter.arrows",       "Rolling shutter arrows",  "View/Camera 3",
     "For such a photo, show when each row is read, and arrows from the single-pose position to the per-row position.",
     &ViewSettings::shutter_arrows, toggle()},
    {"view.from.front",           "Look from: front",        "View/Look from 3",
     "Look at the current target from the front: along the world's y if z is up, else along z.",
     look_from_side, always(Side::front)},
    {"view.from.back",            "Look from: back",         "View/Look from 3",
     "The same from behind.", look_from_side, always(Side::back)},
    {"view.from.right",           "Look from: right",        "View/Look from 3",
     "The same from the right.", look_from_side, always(Side::right)},
    {"view.from.left",            "Look from: left",         "View/Look from 3",
     "The same from the left.", look_from_side, always(Side::left)},
    {"view.from.top",             "Look from: top",          "View/Look from 3",
     "The same from above, the front at the bottom of the picture.", look_from_side, always(Side::top)},
    {"view.from.bottom",          "Look from: bottom",       "View/Look from 3",
     "The same from below.", look_from_side, always(Side::bottom)},
    {"view.fov",                  "Field of view",           "",
     "Vertical field of view of the free camera, 5 to 150 degrees.", fov, number("DEGREES", kLeastFov, kMostFov)},
    {"view.near",                 "Near plane",              "",
     "Hide Gaussians nearer than this (world units along the view); auto: the scene's own.",
     near_plane, either(number("DISTANCE", 1e-6, kFarthest), "auto")},
    {"view.fast",                 "Fast pictures",           "View/Camera 3",
     "CUDA, while not training: half-precision colours in the viewport only; shows the PSNR against exact pictures, or why it is off. Files, maps, scores and training stay exact.",
     fast, toggle()},
    {"view.exact",                "Exact pictures",          "View/Camera 3",
     "Evaluate Gaussians along each pixel's ray instead of projecting them, on the CPU: slower. Maps of splatting's own work and the orthographic view stay as they are.",
     &ViewSettings::exact, toggle()},
    {"view.up",                   "Up direction",            "",
     "x, y, z, -x, -y, -z: used for the horizon and the grid; auto: the scene's own (scene.up), else from the capture cameras.",
     up, either(axis(), "auto")},
    {"view.grid",                 "Ground grid",             "View/Camera 3",
     "Draw lines on the ground, a round number of world units apart.", &ViewSettings::grid, toggle()},
    {"view.clip",                 "Clip box",                "",
     "Draw only Gaussians with centres in this box. Pictures only: training and scores ignore it.",
     &ViewSettings::clip, either(box(), "off")},
    {"view.clip.fit",             "Clip to the core",        "View/Camera 3",
     "Fit the clip box to the scene's core: 90 % of the points on each axis, plus a tenth.", clip_to_core},
};
// clang-format on

}  // namespace command::lens

std::span<const CommandRow> lens_commands() { return command::lens::kRows; }

}  // namespace gs
