// Commands of the View menu: what the viewport shows and from where.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/commands/settings.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> range(S state, A arguments) {
    const auto mode = choice_argument(arguments[0], kRangeModeNames);
    if (!mode) return tl::unexpected<Error>(mode.error());
    if (static_cast<RangeMode>(*mode) == RangeMode::manual && arguments.size() == 3) {
        const auto lo = number_argument(arguments[1], -1e30, 1e30, "the lower end"),
                   hi = number_argument(arguments[2], -1e30, 1e30, "the upper end");
        if (!lo || !hi) return tl::unexpected<Error>(lo ? hi.error() : lo.error());
        if (!(*lo < *hi))
            return fail(ErrorKind::usage, "",
                        "the lower end of a range must be below the upper one");
        state.view.range_lo = *lo;
        state.view.range_hi = *hi;
    } else if (arguments.size() != 1) {
        return fail(ErrorKind::usage, "", "only a manual range has ends: view.range manual LO HI");
    }
    state.view.range = static_cast<RangeMode>(*mode);
    return {};
}
Result<void> percentile(S state, A a) {
    return set_number(state.view.percentile, a[0], 50, 100, "the percentile");
}
Result<void> scale(S state, A a) {
    return set_number(state.view.scale_modifier, a[0], 0.01, 10, "the scale");
}
Result<void> fly_speed(S state, A a) {
    return set_number(state.view.fly_speed, a[0], 1e-4, 1e4, "the speed");
}
Result<void> budget(S state, A a) {
    return set_number(state.view.viewer_budget, a[0], 0, 0.95, "the viewer's share");
}
Result<void> background(S state, A a) {
    double rgb[3];
    for (std::size_t i = 0; i < 3; ++i)
        if (auto set = set_number(rgb[i], a[i], 0, 1, "a colour"); !set) return set;
    state.view.background = {static_cast<float>(rgb[0]), static_cast<float>(rgb[1]),
                             static_cast<float>(rgb[2])};
    return {};
}
Result<void> lod_budget(S state, A a) {
    return set_number(state.view.lod_budget, a[0], 1, 1e9, "the number of Gaussians");
}
Result<void> lod_pixels(S state, A a) {
    return set_number(state.view.lod_pixels, a[0], 0.01, 1000, "the distance");
}
Result<void> lod_level(S state, A a) {
    if (a[0] == "auto") {
        state.view.lod_level = -1;
        return {};
    }
    const auto level = integer_argument(a[0], 0, 63, "the level");
    if (!level) return tl::unexpected<Error>(level.error());
    state.view.lod_level = static_cast<int>(*level);
    return {};
}
Result<void> sh_degree(S state, A a) {
    const auto degree = integer_argument(a[0], 0, 3, "the SH degree");
    if (!degree) return tl::unexpected<Error>(degree.error());
    state.view.sh_degree = static_cast<int>(*degree);
    return {};
}

Result<void> snap_to(S state, std::size_t index) {
    state.view.capture_view = static_cast<int>(index);
    state.navigation = snap(state.navigation, (*state.cameras)[index].camera);
    return {};
}
Result<void> capture(S state, A arguments) {
    if (!state.cameras || state.cameras->empty())
        return fail(ErrorKind::usage, "", "there are no capture cameras");
    const std::vector<CameraRow>& rows = *state.cameras;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].name == arguments[0] ||
            rows[i].name.substr(0, rows[i].name.find_last_of('.')) == arguments[0])
            return snap_to(state, i);
    const auto index = integer_argument(arguments[0], 0, static_cast<std::int64_t>(rows.size()) - 1,
                                        "the camera (a name or number)");
    if (!index) return tl::unexpected<Error>(index.error());
    return snap_to(state, static_cast<std::size_t>(*index));
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
Result<void> focus_on(S state, A arguments) {
    const auto x = number_argument(arguments[0], 0, 1e6, "X"),
               y = number_argument(arguments[1], 0, 1e6, "Y");
    if (!x || !y) return tl::unexpected<Error>(x ? y.error() : x.error());
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    ViewRequest request = view_request_of(state, state.width, state.height);
    const std::uint64_t serial = state.session.send(FocusCommand{
        std::move(request), *x / state.frame->camera.width, *y / state.frame->camera.height});
    if (serial != 0) state.last_sent = serial;
    return {};
}
/// Position, then the point looked at, then (optionally) up or the field of view.
Result<void> place_camera(S state, A arguments) {
    if (arguments.size() == 8)
        return fail(ErrorKind::usage, "",
                    "a camera is EYE_X EYE_Y EYE_Z AT_X AT_Y AT_Z [UP_X UP_Y UP_Z | FOV_DEGREES]");
    double v[9] = {};
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (auto set = set_number(v[i], arguments[i], -1e9, 1e9, "a coordinate"); !set) return set;
    NavigationState& navigation = state.navigation;
    const Vec3d eye{v[0], v[1], v[2]}, at{v[3], v[4], v[5]}, way = at - eye;
    if (!(dot(way, way) > 0))
        return fail(ErrorKind::usage, "", "a camera cannot look at its own position");
    const Vec3d up = arguments.size() == 9 ? Vec3d{v[6], v[7], v[8]} : navigation.up;
    if (arguments.size() == 7)
        navigation.fov_y = std::clamp(v[6], 1.0, 170.0) * std::numbers::pi / 180.0;
    state.view.capture_view = -1;
    navigation.snapped = false;
    navigation.rotation = look_at(eye, at, up, 1, 1, 1).rotation;
    navigation.target = at;
    navigation.distance = std::sqrt(dot(way, way));
    return {};
}

template <const auto& names, std::size_t count>
void add_choices(std::vector<CommandRow>& rows, const char* command, const char* menu,
                 const char* title, Result<void> (*run)(S, A),
                 const std::array<const char*, count>& keys) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string key = i < count ? keys[i] : "";
        rows.push_back(
            {{fmt::format("{}.{}", command, names[i]), fmt::format("{}: {}", title, names[i]), menu,
              key, "", fmt::format("The same as {} {}.", command, names[i])},
             run,
             {names[i]},
             0,
             0});
    }
}

void add_map_commands(std::vector<CommandRow>& rows) {
    constexpr std::array<const char*, 8> kModeKeys{"1", "2", "3", "4", "5", "6", "7", "8"};
    constexpr std::array<const char*, 3> kStyleKeys{"Shift+1", "Shift+2", "Shift+3"};
    const auto mode = set_choice<&ViewSettings::mode, kViewModeNames>;
    const auto style = set_choice<&ViewSettings::style, kDrawStyleNames>;
    add_choices<kViewModeNames>(rows, "view.mode", "View", "Show", mode, kModeKeys);
    add_choices<kDrawStyleNames>(rows, "view.style", "View", "Draw as", style, kStyleKeys);
    rows.push_back({{"view.mode", "Show a map", "", "", "MODE",
                     "color, depth, alpha, contributors, isects, pairs, error or photo."},
                    mode,
                    {},
                    1,
                    1});
    rows.push_back({{"view.style", "Draw style", "", "", "STYLE", "splats, points or ellipsoids."},
                    style,
                    {},
                    1,
                    1});
    rows.push_back({{"view.colormap", "Colormap", "", "", "NAME",
                     "viridis, inferno, cividis, turbo, gray or diverging."},
                    set_choice<&ViewSettings::colormap, kColormapNames>,
                    {},
                    1,
                    1});
    rows.push_back({{"view.range", "Range of the colormap", "", "", "MODE [LO HI]",
                     "auto, percentile, or manual LO HI."},
                    range,
                    {},
                    1,
                    3});
    rows.push_back({{"view.percentile", "Percentile of the range", "", "", "P",
                     "Upper percentile (50 to 100) of a percentile range."},
                    percentile,
                    {},
                    1,
                    1});
    rows.push_back(
        {{"view.log", "Logarithmic colours", "View", "L", "[on|off]", "Logarithmic colour scale."},
         set_switch<&ViewSettings::logarithmic>,
         {},
         0,
         1});
}

void add_drawing_commands(std::vector<CommandRow>& rows) {
    rows.push_back(
        {{"view.frusta", "Camera frusta", "View", "C", "[on|off]", "Draws the capture cameras."},
         set_switch<&ViewSettings::frusta>,
         {},
         0,
         1});
    rows.push_back({{"view.overlays", "Overlays", "View", "O", "[on|off]",
                     "Legend, axes and value under the mouse."},
                    set_switch<&ViewSettings::overlays>,
                    {},
                    0,
                    1});
    rows.push_back({{"view.tile-grid", "Tile grid", "View", "G", "[on|off]",
                     "Lines between tiles over tile maps."},
                    set_switch<&ViewSettings::tile_grid>,
                    {},
                    0,
                    1});
    rows.push_back({{"view.sh-degree", "SH degree shown", "", "", "DEGREE",
                     "0 to 3: bases above are ignored."},
                    sh_degree,
                    {},
                    1,
                    1});
    rows.push_back({{"view.scale", "Size of the Gaussians", "", "", "FACTOR",
                     "Multiplies every standard deviation in the picture."},
                    scale,
                    {},
                    1,
                    1});
    rows.push_back({{"view.background", "Background", "", "", "R G B",
                     "0 to 1 each, behind the splats of the free camera."},
                    background,
                    {},
                    3,
                    3});
    rows.push_back(
        {{"lod.budget", "Gaussians of a streamed set", "", "", "COUNT",
          "How many Gaussians of a streamed set are drawn at most; far regions coarsen first."},
         lod_budget,
         {},
         1,
         1});
    rows.push_back({{"lod.pixels", "Detail of a streamed set", "", "", "PIXELS",
                     "How far apart on the screen the Gaussians of a region may lie before a finer "
                     "level is drawn."},
                    lod_pixels,
                    {},
                    1,
                    1});
    rows.push_back({{"lod.level", "Level of a streamed set", "", "", "auto|LEVEL",
                     "Draws a streamed set at one level everywhere (0 is the finest), or by "
                     "distance and budget."},
                    lod_level,
                    {},
                    1,
                    1});
    rows.push_back({{"view.budget", "Viewer's share", "", "", "SHARE",
                     "Largest share of the engine's time that pictures may take while training."},
                    budget,
                    {},
                    1,
                    1});
}

void add_camera_commands(std::vector<CommandRow>& rows) {
    constexpr std::array<const char*, 3> kNavigationKeys{"Ctrl+1", "Ctrl+2", "Ctrl+3"};
    const auto navigation = set_choice<&ViewSettings::navigation, kNavigationNames>;
    add_choices<kNavigationNames>(rows, "view.navigation", "View", "Steer by", navigation,
                                  kNavigationKeys);
    rows.push_back({{"view.navigation", "Navigation", "", "", "MODE",
                     "orbit, trackball or fly (W A S D Q E)."},
                    navigation,
                    {},
                    1,
                    1});
    rows.push_back(
        {{"view.fly-speed", "Flying speed", "", "", "EXTENTS", "Scene extents per second."},
         fly_speed,
         {},
         1,
         1});
    rows.push_back({{"view.capture", "Go to a capture camera", "", "", "INDEX|NAME",
                     "Snaps the viewport to a photo's camera."},
                    capture,
                    {},
                    1,
                    1});
    rows.push_back(
        {{"view.next", "Next capture camera", "View", "]", "", "Snaps to the next photo's camera."},
         next,
         {},
         0,
         0});
    rows.push_back({{"view.previous", "Previous capture camera", "View", "[", "",
                     "Snaps to the previous photo's camera."},
                    previous,
                    {},
                    0,
                    0});
    rows.push_back({{"view.free", "Free camera", "View", "Escape", "",
                     "Leaves the capture camera without moving."},
                    free_camera,
                    {},
                    0,
                    0});
    rows.push_back({{"view.frame-all", "Frame everything", "View", "Home", "",
                     "Moves the camera back until the whole scene is in view."},
                    all_in_view,
                    {},
                    0,
                    0});
    rows.push_back({{"view.level", "Level the horizon", "View", "H", "",
                     "Turns the camera upright, where it stands."},
                    level_horizon,
                    {},
                    0,
                    0});
    rows.push_back({{"view.focus", "Focus", "", "", "X Y",
                     "Looks at, and turns around, what lies at this pixel of the picture."},
                    focus_on,
                    {},
                    2,
                    2});
    rows.push_back({{"view.camera", "Place the camera", "", "", "EYE AT [UP | FOV]",
                     "Three numbers each: position, point looked at, up; or the vertical field of "
                     "view in degrees."},
                    place_camera,
                    {},
                    6,
                    9});
}

}  // namespace

void add_view_commands(std::vector<CommandRow>& rows) {
    add_map_commands(rows);
    add_drawing_commands(rows);
    add_camera_commands(rows);
}

}  // namespace gs
