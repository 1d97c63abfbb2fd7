// Commands that select Gaussians by shapes on the screen and in the world, by values, and by
// neighbours; and the tools that draw those shapes with the left mouse button.
#include <array>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/editor.h"
#include "app/session/engine.h"
#include "app/session/values.h"
#include "base/text.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr double kFarthest = 1e9;  // world units that commands take
constexpr double kMostPixels = 1e6;

/// Parses new, add or remove, then live, from the `first` argument on.
Result<Selecting> selecting(std::string name, A a, std::size_t first) {
    Selecting out{std::move(name)};
    if (a.size() > first) {
        GS_TRY(const std::size_t mode, choice_argument(a[first], kSelectModeNames));
        out.mode = static_cast<SelectMode>(mode);
    }
    if (a.size() > first + 1) {
        if (a[first + 1] != "live")
            return fail(ErrorKind::usage, "",
                        fmt::format("after new, add or remove only \"live\" may follow, not \"{}\"",
                                    a[first + 1]));
        out.live = true;
    }
    return out;
}
Result<void> ask_model(S state, const Selecting& how, Editor::Question question) {
    return send(state, [how, question = std::move(question)](Engine& e) {
        e.part<Editor>().select(how, question);
    });
}

// ---- on the screen
/// Parses "X,Y X,Y ..."; blanks, commas and semicolons separate the numbers.
Result<std::vector<ScreenPoint>> points_argument(const std::string& text) {
    std::vector<double> numbers;
    std::string word;
    for (const char c : text + " ") {
        const bool between = c == ' ' || c == ',' || c == ';';
        if (!between) word += c;
        if (!between || word.empty()) continue;
        GS_TRY(const double number, number_argument(word, -kMostPixels, kMostPixels, "a place"));
        numbers.push_back(number);
        word.clear();
    }
    if (numbers.empty() || numbers.size() % 2 != 0)
        return fail(ErrorKind::usage, "", "points in the picture are pairs of numbers: X,Y X,Y ...",
                    "give them in quotes, as one argument");
    std::vector<ScreenPoint> out;
    for (std::size_t i = 0; i < numbers.size(); i += 2) out.push_back({numbers[i], numbers[i + 1]});
    return out;
}
/// `shape` is in pixels of the shown picture.
Result<void> ask_screen(S state, const Selecting& how, ScreenShape shape) {
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& shown = state.frame->camera;
    for (ScreenPoint& p : shape.points) p = {p.x / shown.width, p.y / shown.height};
    shape.radius /= shown.width;
    return send(state, [how, shape = std::move(shape), only_seen = state.tools.only_seen,
                        request = view_request_of(state, state.width, state.height)](Engine& e) {
        if (const auto scene = e.open_scene())
            e.part<Editor>().select_on_screen(how, *scene, request, shape, only_seen);
    });
}
Result<void> rectangle(S state, A a) {
    GS_TRY(const auto how, selecting("rectangle", a, 4));
    double v[4] = {};
    for (std::size_t i = 0; i < 4; ++i)
        GS_TRY_VOID(set_number(v[i], a[i], -kMostPixels, kMostPixels, "a place"));
    return ask_screen(state, how, {ScreenShape::Kind::rectangle, {{v[0], v[1]}, {v[2], v[3]}}, 0});
}
Result<void> lasso(S state, A a) {
    GS_TRY(const auto how, selecting("lasso", a, 1));
    GS_TRY(auto points, points_argument(a[0]));
    return ask_screen(state, how, {ScreenShape::Kind::lasso, std::move(points), 0});
}
Result<void> brush(S state, A a) {
    GS_TRY(const auto how, selecting("brush", a, 2));
    GS_TRY(const double radius, number_argument(a[0], 0, kMostPixels, "the radius"));
    GS_TRY(auto points, points_argument(a[1]));
    return ask_screen(state, how, {ScreenShape::Kind::brush, std::move(points), radius});
}
Result<void> only_seen(S state, A a) {
    bool on = !state.tools.only_seen;
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    state.tools.only_seen = on;
    return {};
}

// ---- in the world
Result<void> sphere(S state, A a) {
    GS_TRY(const auto how, selecting("sphere", a, 4));
    double v[4] = {};
    for (std::size_t i = 0; i < 3; ++i)
        GS_TRY_VOID(set_number(v[i], a[i], -kFarthest, kFarthest, "a coordinate"));
    GS_TRY_VOID(set_number(v[3], a[3], 0, kFarthest, "the radius"));
    state.tools.centre = {v[0], v[1], v[2]};
    state.tools.radius = v[3];
    const Vec3f centre{static_cast<float>(v[0]), static_cast<float>(v[1]),
                       static_cast<float>(v[2])};
    return ask_model(state, how,
                     [centre, radius = static_cast<float>(v[3])](const GaussianModel& m) {
                         return rows_in_sphere(m, centre, radius);
                     });
}
Result<void> box(S state, A a) {
    GS_TRY(const auto how, selecting("box", a, 6));
    double v[6] = {};
    for (std::size_t i = 0; i < 6; ++i)
        GS_TRY_VOID(set_number(v[i], a[i], -kFarthest, kFarthest, "a coordinate"));
    for (std::size_t i = 0; i < 3; ++i)
        if (v[i] > v[i + 3])
            return fail(ErrorKind::usage, "",
                        fmt::format("the box ends before it begins: {} > {}", a[i], a[i + 3]));
    state.tools.lo = {v[0], v[1], v[2]};
    state.tools.hi = {v[3], v[4], v[5]};
    const auto narrow = [](Vec3d p) {
        return Vec3f{static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
    };
    return ask_model(state, how,
                     [which = ClipBox{narrow(state.tools.lo), narrow(state.tools.hi)}](
                         const GaussianModel& m) { return rows_in_box(m, which); });
}

// ---- by values
Result<void> range(S state, A a) {
    GS_TRY(const std::size_t value, choice_argument(a[0], kOwnValueNames));
    GS_TRY(const double lo, number_argument(a[1], -1e30, 1e30, "the lower end"));
    GS_TRY(const double hi, number_argument(a[2], -1e30, 1e30, "the upper end"));
    if (lo > hi)
        return fail(ErrorKind::usage, "",
                    fmt::format("the range ends before it begins: {} > {}", a[1], a[2]));
    GS_TRY(const auto how, selecting(a[0], a, 3));
    const Camera camera = view_request_of(state, state.width, state.height).camera;
    return ask_model(state, how, [=](const GaussianModel& m) {
        return rows_by_value(m, static_cast<OwnValue>(value), lo, hi, camera);
    });
}
/// Selects by the values and the range that the viewport's colours show.
Result<void> values(S state, A a) {
    GS_TRY(const auto how, selecting("values", a, 0));
    return send(state, [how,
                        request = view_request_of(state, state.width, state.height)](Engine& e) {
        const auto open = e.open_scene();
        if (!open) return;
        if (auto hits = e.part<Values>().within(*open, request))
            e.part<Editor>().select(how, [&](const GaussianModel&) { return std::move(*hits); });
    });
}
Result<void> color(S state, A a) {
    float rgb[3];
    for (std::size_t i = 0; i < 3; ++i) {
        GS_TRY(const double channel, number_argument(a[i], 0, 1, "a colour"));
        rgb[i] = static_cast<float>(channel);
    }
    GS_TRY(const double tolerance, number_argument(a[3], 0, 1, "the tolerance"));
    GS_TRY(const auto how, selecting("colour", a, 4));
    return ask_model(
        state, how,
        [wanted = Vec3f{rgb[0], rgb[1], rgb[2]}, tolerance = static_cast<float>(tolerance)](
            const GaussianModel& m) { return rows_by_color(m, wanted, tolerance); });
}
/// Selects by the colour of a pixel of the picture.
Result<void> color_at(S state, A a) {
    GS_TRY(const double x, number_argument(a[0], 0, kMostPixels, "X"));
    GS_TRY(const double y, number_argument(a[1], 0, kMostPixels, "Y"));
    GS_TRY(const double tolerance, number_argument(a[2], 0, 1, "the tolerance"));
    GS_TRY(const auto how, selecting("colour", a, 3));
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& shown = state.frame->camera;
    return send(state, [=, request = view_request_of(state, state.width, state.height),
                        fx = x / shown.width, fy = y / shown.height](Engine& e) {
        if (const auto scene = e.open_scene())
            e.part<Editor>().select_color_at(how, *scene, request, fx, fy,
                                             static_cast<float>(tolerance));
    });
}
Result<void> rows(S state, A a) {
    GS_TRY(const auto how, selecting("rows", a, 1));
    GS_TRY(const auto wanted, rows_argument(a[0]));
    return send(state, [how, wanted](Engine& e) { e.part<Editor>().select_rows(how, wanted); });
}
Result<void> all(S state, A) {
    return ask_model(state, {"all"}, [](const GaussianModel& m) { return Hits(m.count, 1); });
}
Result<void> none(S state, A) {
    return ask_model(state, {"none"}, [](const GaussianModel& m) { return Hits(m.count, 0); });
}
Result<void> invert(S state, A) {
    return send(state, [](Engine& e) { e.part<Editor>().invert(); });
}
template <NeighbourStep step>
Result<void> neighbours(S state, A a) {
    double reach = state.tools.reach;
    if (!a.empty()) GS_TRY_VOID(set_number(reach, a[0], 0.01, 1000, "the reach"));
    state.tools.reach = reach;
    return send(state, [reach](Engine& e) { e.part<Editor>().select_neighbours(step, reach); });
}
Result<void> solo(S state, A a) {
    GS_TRY(const RowsArgument which, rows_of_step_argument(a));
    return send(state, [which](Engine& e) {
        if (e.part<Editor>().choose(which.rows, which.step)) e.part<Editor>().solo();
    });
}

// ---- tools
/// Places a new volume around the selection, or else around the visible scene.
void place_volume(S state, Tool tool) {
    ToolState& t = state.tools;
    Vec3f lo = state.scene ? state.scene->core.lo : Vec3f{}, hi = lo;
    if (state.scene) hi = state.scene->core.hi;
    if (state.selection && state.selection->bounded)
        lo = state.selection->lo, hi = state.selection->hi;
    const Vec3d a{lo.x, lo.y, lo.z}, b{hi.x, hi.y, hi.z}, half = 0.5 * (b - a);
    if (tool == Tool::sphere && t.radius <= 0) {
        t.centre = a + half;
        t.radius = 0.5 * std::max({half.x, half.y, half.z});
    }
    if (tool == Tool::box && !(t.lo.x < t.hi.x)) t.lo = a + 0.5 * half, t.hi = b - 0.5 * half;
}
Result<void> take(S state, Tool tool) {
    state.tools.tool = tool;
    place_volume(state, tool);
    return {};
}
Result<void> tool(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kToolNames));
    return take(state, static_cast<Tool>(which));
}
template <Tool which>
Result<void> tool_is(S state, A) {
    return take(state, which);
}
Result<void> brush_size(S state, A a) {
    return set_number(state.tools.brush, a[0], 1, 1000, "the radius");
}

// clang-format off
const CommandRow kRows[] = {
    {"select.all",        "Select all",               "Edit 2", "Ctrl+A",       "",
     "Select every Gaussian that is not hidden.", all},
    {"select.none",       "Select nothing",           "Edit 2", "Ctrl+Shift+A", "",
     "Clear the selection.", none},
    {"select.invert",     "Invert the selection",     "Edit 2", "Ctrl+I",       "",
     "Invert the selection.", invert},
    {"select.grow",       "Grow the selection",       "Edit/Neighbours 2", "Ctrl+=", "[REACH]",
     "Add Gaussians with centres closer to a selected one than REACH (3) times its size.", neighbours<NeighbourStep::grow>},
    {"select.shrink",     "Shrink the selection",     "Edit/Neighbours 2", "Ctrl+-", "[REACH]",
     "Remove Gaussians that have an unselected neighbour within reach.", neighbours<NeighbourStep::shrink>},
    {"select.connected",  "Select connected",         "Edit/Neighbours 2", "Ctrl+L", "[REACH]",
     "Grow the selection until no more neighbours are within reach.", neighbours<NeighbourStep::connected>},
    {"select.solo",       "Show only the selection",  "Edit 3", "Shift+S",      "[ROW,... STEP]",
     "Hide every Gaussian that is not selected; with ROW, select these first.", solo},
    {"select.only-seen",  "Select only visible",      "Edit 2", "",             "[on|off]",
     "Make shapes on the screen ignore Gaussians behind the visible surfaces.", only_seen},
    {"select.row",        "Select by id",             "",       "",             "ROW,... [new|add|remove]",
     "Select Gaussians by their ids.", rows},
    {"select.rectangle",  "Select a rectangle",       "",       "",             "X0 Y0 X1 Y1 [new|add|remove live]",
     "Select Gaussians with centres between two corners of the picture (pixels); live: preview only.", rectangle},
    {"select.lasso",      "Select inside a line",     "",       "",             "POINTS [new|add|remove live]",
     "Select Gaussians with centres inside a closed line over the picture: \"X,Y X,Y ...\", pixels.", lasso},
    {"select.brush",      "Select with a brush",      "",       "",             "RADIUS POINTS [new|add|remove live]",
     "Select Gaussians with centres near a line over the picture: \"X,Y X,Y ...\", pixels.", brush},
    {"select.sphere",     "Select in a sphere",       "",       "",             "X Y Z RADIUS [new|add|remove live]",
     "Select Gaussians with centres inside a sphere in the world.", sphere},
    {"select.box",        "Select in a box",          "",       "",             "X0 Y0 Z0 X1 Y1 Z1 [new|add|remove live]",
     "Select Gaussians with centres inside a box in the world.", box},
    {"select.range",      "Select by a value",        "",       "",             "VALUE LO HI [new|add|remove live]",
     "Select by opacity, size, anisotropy, energy (of the harmonics), depth, x, y or z in a range.", range},
    {"select.values",     "Select by the shown values", "",     "",             "[new|add|remove]",
     "Select Gaussians whose color.by value is in the range of the colours.", values},
    {"select.color",      "Select by a colour",       "",       "",             "R G B TOLERANCE [new|add|remove]",
     "Select Gaussians with a base colour close to this one (0 to 1 each).", color},
    {"select.color-at",   "Select by a pixel's colour", "",     "",             "X Y TOLERANCE [new|add|remove]",
     "Select by the colour of a pixel of the picture.", color_at},
    {"tool",              "Choose a tool",            "",       "",             "NAME",
     "Set the left mouse button's action in the picture: navigate, rectangle, lasso, brush, sphere, box, move, "
     "rotate, scale, distance or region.", tool},
    {"tool.navigate",     "Tool: navigate",           "Edit/Tool 4", "",        "",
     "Steer with the left button again (also Escape).", tool_is<Tool::navigate>},
    {"tool.rectangle",    "Tool: rectangle",          "Edit/Tool 4", "R",       "",
     "Drag to select in a rectangle; Shift adds, Ctrl removes.", tool_is<Tool::rectangle>},
    {"tool.lasso",        "Tool: lasso",              "Edit/Tool 4", "Shift+R", "",
     "Drag to select inside the drawn line.", tool_is<Tool::lasso>},
    {"tool.brush",        "Tool: brush",              "Edit/Tool 4", "B",       "",
     "Drag to select with a brush.", tool_is<Tool::brush>},
    {"tool.sphere",       "Tool: sphere",             "Edit/Tool 4", "",        "",
     "Place a sphere in the world to select the Gaussians inside.", tool_is<Tool::sphere>},
    {"tool.box",          "Tool: box",                "Edit/Tool 4", "Shift+B", "",
     "Place a box in the world to select the Gaussians inside.", tool_is<Tool::box>},
    {"tool.move",         "Tool: move",               "Edit/Tool 4", "M",       "",
     "Move the selection with arrows along the world's axes.", tool_is<Tool::move>},
    {"tool.rotate",       "Tool: rotate",             "Edit/Tool 4", "Shift+M", "",
     "Rotate the selection with rings around the world's axes.", tool_is<Tool::rotate>},
    {"tool.scale",        "Tool: scale",              "Edit/Tool 4", "",        "",
     "Scale the selection with a handle.", tool_is<Tool::scale>},
    {"tool.brush-size",   "Size of the brush",        "",       "",             "PIXELS",
     "Radius of the brush on the screen, 1 to 1000 pixels.", brush_size},
};
// clang-format on

}  // namespace

std::span<const CommandRow> select_commands() { return kRows; }

}  // namespace gs
