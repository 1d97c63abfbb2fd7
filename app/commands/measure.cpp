// Commands for measuring: distances between picked points, the scene's scale and up direction.
#include <array>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/place_finder.h"

namespace gs {
namespace command::measure {

using namespace args;
using S = StudioState&;

constexpr double kLargestLength = 1e9;  // metres
constexpr const char *kSetScale = "set the scale", *kSetUp = "set the up direction";

using Places = std::vector<std::array<double, 2>>;

void pick_next(PlaceFinder& finder, const Shown& shown, const ViewRequest& request, double x,
               double y) {
    finder.pick(shown, request, {{x, y}}, PickedFor::next_point);
}
void pick_distance(PlaceFinder& finder, const Shown& shown, const ViewRequest& request, double x0,
                   double y0, double x1, double y1) {
    finder.pick(shown, request, {{x0, y0}, {x1, y1}}, PickedFor::distance);
}
/// Asks the engine for the points of the ground, or of something upright, at pixels of the shown
/// picture, two words each.
Result<void> pick_up(S state, Words words) {
    Places places;
    const Parameter<double> x = pixel_x(), y = pixel_y();
    while (!words.left.empty()) {
        GS_TRY(const double at_x, x.read(state, words));
        GS_TRY(const double at_y, y.read(state, words));
        places.push_back({at_x, at_y});
    }
    return send(state, [request = view_request_of(state, state.width, state.height),
                        places = std::move(places)](Engine& e) {
        if (const auto scene = e.open_scene())
            e.part<PlaceFinder>().pick(*scene, request, places, PickedFor::up);
    });
}

tl::unexpected<Error> nothing_measured() {
    return fail(ErrorKind::usage, "", "no distance measured yet",
                "use measure.points X0 Y0 X1 Y1 or drag with the distance tool");
}
/// A distance by its number, 1 for the first; the last one without.
Result<std::size_t> distance_of(const StudioState& state, std::optional<std::int64_t> number) {
    const std::size_t count = state.measured ? state.measured->distances() : 0;
    if (count == 0) return nothing_measured();
    const auto chosen = static_cast<std::size_t>(number.value_or(static_cast<std::int64_t>(count)));
    if (chosen <= count) return chosen - 1;
    return fail(
        ErrorKind::usage, "",
        fmt::format("the number of the distance must be between 1 and {}, not {}", count, chosen));
}
MeasureState measured_of(const StudioState& state) {
    return state.measured ? *state.measured : MeasureState();
}

Result<void> forget_distance(S state, std::optional<std::int64_t> number) {
    GS_TRY(const std::size_t which, distance_of(state, number));
    MeasureState measured = measured_of(state);
    const auto first = measured.points.begin() + static_cast<std::ptrdiff_t>(2 * which);
    measured.points.erase(first, first + 2);
    return set_measured(state, std::move(measured), fmt::format("remove distance {}", which + 1));
}
Result<void> forget_distances(S state) {
    if (!state.measured || state.measured->points.empty()) return nothing_measured();
    MeasureState measured = measured_of(state);
    measured.points.clear();
    return set_measured(state, std::move(measured), "remove all distances");
}

Result<void> scene_scale(S state, std::optional<double> metres,
                         std::optional<std::int64_t> number) {
    MeasureState measured = measured_of(state);
    if (!metres) {
        measured.metres_per_unit = 0;
        return set_measured(state, std::move(measured), kSetScale);
    }
    GS_TRY(const std::size_t which, distance_of(state, number));
    const double units = measured.length(which);
    if (!(units > 0))
        return fail(ErrorKind::usage, "", "both ends of that distance are the same point",
                    "measure a longer distance");
    measured.metres_per_unit = *metres / units;
    return set_measured(state, std::move(measured), kSetScale);
}

Result<void> scene_up(S state, const Arguments& a) {
    GS_TRY_VOID(need_scene(state));
    MeasureState measured = measured_of(state);
    if (a[0] == "auto") {
        measured.up.reset();
        return set_measured(state, std::move(measured), kSetUp);
    }
    if (a[0] == "distance") {
        Words words{std::span(a).subspan(1)};
        GS_TRY(const auto number, optional(whole("NUMBER", 1, kMost)).read(state, words));
        GS_TRY(const std::size_t which, distance_of(state, number));
        return set_up_from(state, {measured.points[2 * which], measured.points[2 * which + 1]});
    }
    if (a.size() == 1) {
        GS_TRY(measured.up, axis_argument(a[0]));
        return set_measured(state, std::move(measured), kSetUp);
    }
    if (a.size() != 4 && a.size() != 6)
        return fail(ErrorKind::usage, "",
                    "two pixels from the bottom to the top of something upright, or three of the "
                    "ground; an axis, distance, or auto");
    return pick_up(state, {a});
}

// clang-format off
const CommandRow kRows[] = {
    {"measure.points", "Measure a distance",        "",
     "Measure the distance between the points at two pixels of the picture; saved with the scene.",
     pick_distance, shown_view(), any_x("X0"), any_y("Y0"), any_x("X1"), any_y("Y1")},
    {"measure.point",  "Measure: next point",       "",
     "Set the start of a distance at this pixel, or its end.", pick_next, shown_view(), pixel_x(), pixel_y()},
    {"measure.remove", "Measure: remove",           "",
     "Delete a distance; without a number, the last one.", forget_distance, optional(whole("NUMBER", 1, kMost))},
    {"measure.clear",  "Measure: remove all",       "",
     "Delete all distances; the scene's scale and up direction stay.", forget_distances},
    {"scene.scale",    "The scene's scale",         "",
     "Set the real length of a measured distance (the last one, or NUMBER) to show lengths in metres. Saved with the scene.",
     scene_scale, either(number("METRES", 1e-9, kLargestLength), "off"), optional(whole("NUMBER", 1, kMost))},
    {"scene.up",       "The scene's up",            "",
     "Set the up direction: along an axis, a measured distance or a line between two pixels (lower end first), or perpendicular to the ground at three pixels. Saved with the scene.",
     scene_up, rest("auto|AXIS|distance|X0 [NUMBER|Y0 X1 Y1 X2 Y2]", 1, 6)},
};
// clang-format on

}  // namespace command::measure

std::span<const CommandRow> measure_commands() { return command::measure::kRows; }

}  // namespace gs
