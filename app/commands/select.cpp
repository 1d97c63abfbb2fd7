// Commands that select Gaussians by shapes on the screen and in the world, by values, and by
// neighbours; and the tools that draw those shapes with the left mouse button.
#include <algorithm>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/selector.h"
#include "app/session/parts/values.h"
#include "renderer/doctor/doctor.h"

namespace gs {
namespace command::select {

using namespace args;
using S = StudioState&;

constexpr double kFarthest = 1e9;  // world units that commands take
constexpr double kMostPixels = 1e6;

/// [new|add|remove live]: how hits change the selection; without a name.
Parameter<Selecting> how(bool may_be_live = true) {
    const std::vector<std::string> modes(kSelectModeNames.begin(), kSelectModeNames.end());
    return {{may_be_live ? "[new|add|remove live]" : "[new|add|remove]",
             0,
             may_be_live ? 2u : 1u,
             {},
             modes},
            [modes](StudioState& state, Words& words) -> Result<Selecting> {
                Selecting out;
                if (words.has(1)) {
                    GS_TRY(const std::size_t mode, choice_argument(words.take(), modes));
                    out.mode = static_cast<SelectMode>(mode);
                }
                GS_TRY(out.live, flag("live").read(state, words));
                return out;
            }};
}
Selecting named(const char* name, Selecting how) {
    how.name = name;
    return how;
}
Result<void> ask_model(S state, const Selecting& how, Editor::Question question) {
    return send(state, [how, question = std::move(question)](Engine& e) {
        e.part<Editor>().select(how, question);
    });
}

// ---- on the screen
/// Parses "X,Y X,Y ..."; blanks, commas and semicolons separate the numbers.
Result<std::vector<ScreenPoint>> points_of(const std::string& text) {
    std::vector<double> places;
    std::string word;
    for (const char c : text + " ") {
        const bool between = c == ' ' || c == ',' || c == ';';
        if (!between) word += c;
        if (!between || word.empty()) continue;
        GS_TRY(const double place, number_argument(word, -kMostPixels, kMostPixels, "a place"));
        places.push_back(place);
        word.clear();
    }
    if (places.empty() || places.size() % 2 != 0)
        return fail(ErrorKind::usage, "", "points in the picture are pairs of numbers: X,Y X,Y ...",
                    "give them in quotes, as one argument");
    std::vector<ScreenPoint> out;
    for (std::size_t i = 0; i < places.size(); i += 2) out.push_back({places[i], places[i + 1]});
    return out;
}
Parameter<std::vector<ScreenPoint>> points() {
    return {{"POINTS", 1, 1, "pairs X,Y in quotes", {}},
            [](StudioState&, Words& words) { return points_of(words.take()); }};
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
            e.part<Selector>().select_on_screen(how, *scene, request, shape, only_seen);
    });
}
Result<void> rectangle(S state, const std::vector<double>& v, const Selecting& how) {
    return ask_screen(state, named("rectangle", how),
                      {ScreenShape::Kind::rectangle, {{v[0], v[1]}, {v[2], v[3]}}, 0});
}
Result<void> lasso(S state, const std::vector<ScreenPoint>& line, const Selecting& how) {
    return ask_screen(state, named("lasso", how), {ScreenShape::Kind::lasso, line, 0});
}
Result<void> brush(S state, double radius, const std::vector<ScreenPoint>& line,
                   const Selecting& how) {
    return ask_screen(state, named("brush", how), {ScreenShape::Kind::brush, line, radius});
}

// ---- in the world
Result<void> sphere(S state, Vec3d centre, double radius, const Selecting& how) {
    state.tools.centre = centre;
    state.tools.radius = radius;
    return ask_model(state, named("sphere", how),
                     [centre = narrow(centre), radius = static_cast<float>(radius)](
                         const GaussianModel& m) { return rows_in_sphere(m, centre, radius); });
}
Result<void> in_box(S state, const ClipBox& which, const Selecting& how) {
    const auto wide = [](Vec3f p) { return Vec3d{p.x, p.y, p.z}; };
    state.tools.lo = wide(which.lo);
    state.tools.hi = wide(which.hi);
    return ask_model(state, named("box", how),
                     [which](const GaussianModel& m) { return rows_in_box(m, which); });
}

// ---- by values
Result<void> range(S state, OwnValue value, double lo, double hi, const Selecting& how) {
    if (lo > hi)
        return fail(ErrorKind::usage, "",
                    fmt::format("the range ends before it begins: {:g} > {:g}", lo, hi));
    const Camera camera = view_request_of(state, state.width, state.height).camera;
    const char* name = kOwnValueNames[static_cast<std::size_t>(value)];
    return ask_model(state, named(name, how), [=](const GaussianModel& m) {
        return rows_by_value(m, value, lo, hi, camera);
    });
}
/// Selects by the values and the range that the viewport's colours show.
void values(Engine& engine, const ViewRequest& request, const Selecting& how) {
    const auto open = engine.open_scene();
    if (!open) return;
    if (auto hits = engine.part<Values>().within(*open, request))
        engine.part<Editor>().select(named("values", how),
                                     [&](const GaussianModel&) { return std::move(*hits); });
}
/// Selects what a finding of the doctor is about.
Result<void> finding(S state, const std::string& id) {
    const auto has = [&](const Finding& f) { return f.id == id && f.of_gaussians; };
    if (!state.doctor || std::ranges::none_of(state.doctor->findings, has))
        return fail(ErrorKind::usage, "",
                    fmt::format("the doctor found no Gaussians with \"{}\"", id),
                    "the Doctor panel lists its findings");
    return ask_model(state, {"finding"},
                     [id](const GaussianModel& m) { return rows_of_finding(m, id); });
}
void color(Editor& editor, Vec3f wanted, float tolerance, const Selecting& how) {
    editor.select(named("colour", how),
                  [&](const GaussianModel& m) { return rows_by_color(m, wanted, tolerance); });
}
/// Selects by the colour of a pixel of the picture.
void color_at(Selector& selector, const Shown& shown, const ViewRequest& request, double x,
              double y, float tolerance, const Selecting& how) {
    selector.select_color_at(named("colour", how), shown, request, x, y, tolerance);
}
void rows(Selector& selector, const std::vector<std::uint64_t>& wanted, const Selecting& how) {
    selector.select_rows(named("rows", how), wanted);
}
void all(Editor& editor) {
    editor.select({"all"}, [](const GaussianModel& m) { return Hits(m.count, 1); });
}
void none(Editor& editor) {
    editor.select({"none"}, [](const GaussianModel& m) { return Hits(m.count, 0); });
}
Result<void> neighbours(S state, NeighbourStep step, std::optional<double> given) {
    const double reach = state.tools.reach = given.value_or(state.tools.reach);
    return send(state,
                [step, reach](Engine& e) { e.part<Selector>().select_neighbours(step, reach); });
}
void solo(Selector& selector, const std::vector<std::uint64_t>& rows,
          std::optional<std::uint64_t> step) {
    if (selector.choose(rows, step)) selector.solo();
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
void take(S state, Tool tool) {
    state.tools.tool = tool;
    place_volume(state, tool);
}
void grow_brush(S state, double factor) {
    state.tools.brush = std::clamp(state.tools.brush * factor, 1.0, 1000.0);
}

// clang-format off
const CommandRow kRows[] = {
    {"select.all",        "Select all",               "Edit 2",
     "Select every Gaussian that is not hidden.", all},
    {"select.none",       "Select nothing",           "Edit 2",
     "Clear the selection.", none},
    {"select.invert",     "Invert the selection",     "Edit 2",
     "Invert the selection.", &Selector::invert},
    {"select.grow",       "Grow the selection",       "Edit/Neighbours 2",
     "Add Gaussians with centres closer to a selected one than REACH (3) times its size.",
     neighbours, always(NeighbourStep::grow), optional(number("REACH", 0.01, 1000))},
    {"select.shrink",     "Shrink the selection",     "Edit/Neighbours 2",
     "Remove Gaussians that have an unselected neighbour within reach.",
     neighbours, always(NeighbourStep::shrink), optional(number("REACH", 0.01, 1000))},
    {"select.connected",  "Select connected",         "Edit/Neighbours 2",
     "Grow the selection until no more neighbours are within reach.",
     neighbours, always(NeighbourStep::connected), optional(number("REACH", 0.01, 1000))},
    {"select.solo",       "Show only the selection",  "Edit 3",
     "Hide every Gaussian that is not selected; with ROW, select these first.",
     solo, some_gaussians(), optional(whole("STEP", 0, kMost))},
    {"select.only-seen",  "Select only visible",      "Edit 2",
     "Make shapes on the screen ignore Gaussians behind the visible surfaces.", &ToolState::only_seen, toggle()},
    {"select.row",        "Select by id",             "",
     "Select Gaussians by their ids.", rows, gaussians(), how(false)},
    {"select.rectangle",  "Select a rectangle",       "",
     "Select Gaussians with centres between two corners of the picture (pixels); live: preview only.",
     rectangle, numbers("X0 Y0 X1 Y1", -kMostPixels, kMostPixels), how()},
    {"select.lasso",      "Select inside a line",     "",
     "Select Gaussians with centres inside a closed line over the picture: \"X,Y X,Y ...\", pixels.",
     lasso, points(), how()},
    {"select.brush",      "Select with a brush",      "",
     "Select Gaussians with centres near a line over the picture: \"X,Y X,Y ...\", pixels.",
     brush, number("RADIUS", 0, kMostPixels), points(), how()},
    {"select.sphere",     "Select in a sphere",       "",
     "Select Gaussians with centres inside a sphere in the world.",
     sphere, vector("X Y Z", -kFarthest, kFarthest), number("RADIUS", 0, kFarthest), how()},
    {"select.box",        "Select in a box",          "",
     "Select Gaussians with centres inside a box in the world.", in_box, box(), how()},
    {"select.range",      "Select by a value",        "",
     "Select by opacity, size, anisotropy, energy (of the harmonics), depth, x, y or z in a range.",
     range, choice("VALUE", kOwnValueNames), number("LO", -1e30, 1e30), number("HI", -1e30, 1e30), how()},
    {"select.values",     "Select by the shown values", "",
     "Select Gaussians whose color.by value is in the range of the colours.", values, shown_view(), how(false)},
    {"select.finding",    "Select by a finding",      "",
     "Select the Gaussians that a finding of the doctor is about, for example outliers or needles.",
     finding, word("NAME")},
    {"select.color",      "Select by a colour",       "",
     "Select Gaussians with a base colour close to this one (0 to 1 each).",
     color, vector("R G B", 0, 1), number("TOLERANCE", 0, 1), how(false)},
    {"select.color-at",   "Select by a pixel's colour", "",
     "Select by the colour of a pixel of the picture.",
     color_at, shown_view(), pixel_x(), pixel_y(), number("TOLERANCE", 0, 1), how(false)},
    {"tool",              "Choose a tool",            "",
     "Set the left mouse button's action in the picture: navigate, rectangle, lasso, brush, sphere, box, move, "
     "rotate, scale, distance or region.", take, choice("NAME", kToolNames)},
    {"tool.navigate",     "Tool: navigate",           "Edit/Tool 4",
     "Steer with the left button again (also Escape).", take, always(Tool::navigate)},
    {"tool.rectangle",    "Tool: rectangle",          "Edit/Tool 4",
     "Drag to select in a rectangle; Shift adds, Ctrl removes.", take, always(Tool::rectangle)},
    {"tool.lasso",        "Tool: lasso",              "Edit/Tool 4",
     "Drag to select inside the drawn line.", take, always(Tool::lasso)},
    {"tool.brush",        "Tool: brush",              "Edit/Tool 4",
     "Drag to select with a brush.", take, always(Tool::brush)},
    {"tool.sphere",       "Tool: sphere",             "Edit/Tool 4",
     "Place a sphere in the world to select the Gaussians inside.", take, always(Tool::sphere)},
    {"tool.box",          "Tool: box",                "Edit/Tool 4",
     "Place a box in the world to select the Gaussians inside.", take, always(Tool::box)},
    {"tool.move",         "Tool: move",               "Edit/Tool 4",
     "Move the selection with arrows along the world's axes.", take, always(Tool::move)},
    {"tool.rotate",       "Tool: rotate",             "Edit/Tool 4",
     "Rotate the selection with rings around the world's axes.", take, always(Tool::rotate)},
    {"tool.scale",        "Tool: scale",              "Edit/Tool 4",
     "Scale the selection with a handle.", take, always(Tool::scale)},
    {"tool.brush-grow",   "Larger brush",             "Edit/Tool 4",
     "Make the brush a fifth larger.", grow_brush, always(1.2)},
    {"tool.brush-shrink", "Smaller brush",            "Edit/Tool 4",
     "Make the brush a fifth smaller.", grow_brush, always(1 / 1.2)},
    {"tool.distance",     "Tool: distance",           "Edit/Tool 4",
     "Drag to measure a distance between two points of the surface.", take, always(Tool::distance)},
    {"tool.region",       "Tool: region",             "Edit/Tool 4",
     "Drag to measure the costs of a region of the picture.", take, always(Tool::region)},
    {"tool.brush-size",   "Size of the brush",        "",
     "Radius of the brush on the screen, 1 to 1000 pixels.", &ToolState::brush, number("PIXELS", 1, 1000)},
};
// clang-format on

}  // namespace command::select

std::span<const CommandRow> select_commands() { return command::select::kRows; }

}  // namespace gs
