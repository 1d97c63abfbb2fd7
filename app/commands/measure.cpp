// Commands for measuring: distances between picked points, the scene's scale and up direction.
#include <array>
#include <cmath>

#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/place_finder.h"
#include "app/studio/arguments.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr double kLargestLength = 1e9;  // metres

/// Asks the engine for the points at pixels of the shown picture, two arguments each.
Result<void> pick_points(S state, A a, PickedFor what) {
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& shown = state.frame->camera;
    std::vector<std::array<double, 2>> places;
    for (std::size_t i = 0; i + 1 < a.size(); i += 2) {
        GS_TRY(const double x, number_argument(a[i], 0, 1e6, "X"));
        GS_TRY(const double y, number_argument(a[i + 1], 0, 1e6, "Y"));
        places.push_back({x / shown.width, y / shown.height});
    }
    return send(state, [request = view_request_of(state, state.width, state.height),
                        places = std::move(places), what](Engine& e) {
        if (const auto scene = e.open_scene())
            e.part<PlaceFinder>().pick(*scene, request, places, what);
    });
}

Result<void> pick_next(S state, A a) { return pick_points(state, a, PickedFor::next_point); }
Result<void> pick_distance(S state, A a) { return pick_points(state, a, PickedFor::distance); }

tl::unexpected<Error> nothing_measured() {
    return fail(ErrorKind::usage, "", "no distance measured yet",
                "use measure.points X0 Y0 X1 Y1 or drag with the distance tool");
}
/// The distance that the argument names, 1 for the first; the last one without.
Result<std::size_t> distance_of(const StudioState& state, A a, std::size_t argument) {
    const std::size_t count = state.measured ? state.measured->distances() : 0;
    if (count == 0) return nothing_measured();
    if (a.size() <= argument) return count - 1;
    GS_TRY(const auto n, integer_argument(a[argument], 1, static_cast<std::int64_t>(count),
                                          "the number of the distance"));
    return static_cast<std::size_t>(n - 1);
}
MeasureState measured_of(const StudioState& state) {
    return state.measured ? *state.measured : MeasureState();
}

Result<void> forget_distance(S state, A a) {
    GS_TRY(const std::size_t which, distance_of(state, a, 0));
    MeasureState measured = measured_of(state);
    const auto first = measured.points.begin() + static_cast<std::ptrdiff_t>(2 * which);
    measured.points.erase(first, first + 2);
    return set_measured(state, std::move(measured));
}
Result<void> forget_distances(S state, A) {
    if (!state.measured || state.measured->points.empty()) return nothing_measured();
    MeasureState measured = measured_of(state);
    measured.points.clear();
    return set_measured(state, std::move(measured));
}

Result<void> scene_scale(S state, A a) {
    MeasureState measured = measured_of(state);
    if (a[0] == "off") {
        measured.metres_per_unit = 0;
        return set_measured(state, std::move(measured));
    }
    GS_TRY(const double metres,
           number_argument(a[0], 1e-9, kLargestLength, "the length in metres (or off)"));
    GS_TRY(const std::size_t which, distance_of(state, a, 1));
    const double units = measured.length(which);
    if (!(units > 0))
        return fail(ErrorKind::usage, "", "both ends of that distance are the same point",
                    "measure a longer distance");
    measured.metres_per_unit = metres / units;
    return set_measured(state, std::move(measured));
}

Result<void> scene_up(S state, A a) {
    if (!state.scene) return fail(ErrorKind::usage, "", "nothing is open");
    MeasureState measured = measured_of(state);
    if (a[0] == "auto") {
        measured.up.reset();
        return set_measured(state, std::move(measured));
    }
    if (a[0] == "distance") {
        GS_TRY(const std::size_t which, distance_of(state, a, 1));
        return set_up_from(state, {measured.points[2 * which], measured.points[2 * which + 1]});
    }
    if (a.size() == 1) {
        GS_TRY(measured.up, axis_argument(a[0]));
        return set_measured(state, std::move(measured));
    }
    if (a.size() != 4 && a.size() != 6)
        return fail(ErrorKind::usage, "",
                    "two pixels from the bottom to the top of something upright, or three of the "
                    "ground; an axis, distance, or auto");
    return pick_points(state, a, PickedFor::up);
}

// clang-format off
const CommandRow kRows[] = {
    {"measure.points", "Measure a distance",        "", "", "X0 Y0 X1 Y1",
     "Measure the distance between the points at two pixels of the picture; saved with the scene.", pick_distance},
    {"measure.point",  "Measure: next point",       "", "", "X Y",
     "Set the start of a distance at this pixel, or its end.", pick_next},
    {"measure.remove", "Measure: remove",           "", "", "[NUMBER]",
     "Delete a distance; without a number, the last one.", forget_distance},
    {"measure.clear",  "Measure: remove all",       "", "", "",
     "Delete all distances; the scene's scale and up direction stay.", forget_distances},
    {"scene.scale",    "The scene's scale",         "", "", "METRES|off [NUMBER]",
     "Set the real length of a measured distance (the last one, or NUMBER) to show lengths in metres. Saved with the scene.", scene_scale},
    {"scene.up",       "The scene's up",            "", "", "auto|AXIS|distance|X0 [NUMBER|Y0 X1 Y1 X2 Y2]",
     "Set the up direction: along an axis, a measured distance or a line between two pixels (lower end first), or perpendicular to the ground at three pixels. Saved with the scene.", scene_up},
};
// clang-format on

}  // namespace

std::span<const CommandRow> measure_commands() { return kRows; }

}  // namespace gs
