// Commands that measure a picture's cost and colour Gaussians by a value.
#include "app/session/costs.h"
#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr double kFarthestPixel = 1e6;  // beside the picture is taken, and cut

/// Sends what the cost part does with what the viewport shows now.
template <class F>
Result<void> of_costs(S state, F what) {
    return send(state,
                [what, request = view_request_of(state, state.width, state.height)](Engine& e) {
                    if (const auto shown = e.open_scene()) what(e.part<Costs>(), *shown, request);
                });
}

Result<void> measure(S state, A) {
    return of_costs(state, [](Costs& costs, const Shown& shown, const ViewRequest& request) {
        costs.measure(shown, request);
    });
}
/// Pixels of the shown picture, which may differ in size from the measured frame.
Result<void> region(S state, A a) {
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    double v[4] = {};
    for (std::size_t i = 0; i < 4; ++i)
        GS_TRY_VOID(
            set_number(v[i], a[i], -kFarthestPixel, kFarthestPixel, "a side of the region"));
    const double width = state.frame->camera.width, height = state.frame->camera.height;
    const Costs::Box box{v[0] / width, v[1] / height, v[2] / width, v[3] / height};
    return of_costs(state, [box](Costs& costs, const Shown& shown, const ViewRequest& request) {
        costs.region(shown, request, box);
    });
}
Result<void> top(S state, A a) {
    GS_TRY(const auto count, integer_argument(a[0], 1, 1000, "the number of Gaussians"));
    return send(state,
                [count](Engine& e) { e.part<Costs>().top(static_cast<std::size_t>(count)); });
}
Result<void> without(S state, A a) {
    GS_TRY(const auto count, integer_argument(a[0], 1, 1'000'000'000, "the number of Gaussians"));
    return of_costs(state, [count](Costs& costs, const Shown& shown, const ViewRequest& request) {
        costs.without(shown, request, static_cast<std::size_t>(count));
    });
}
Result<void> clear(S state, A) {
    return send(state, [](Engine& e) { e.part<Costs>().clear(); });
}

Result<void> color_by(S state, A a) {
    GS_TRY(const std::size_t value, choice_argument(a[0], kGaussianValueNames));
    // Another number has another range.
    const ColorBy before = state.view.color_by;
    state.view.color_by = {};
    state.view.color_by.map = before.map;
    state.view.color_by.value = static_cast<GaussianValue>(value);
    return {};
}
Result<void> needs_value(S state) {
    if (state.view.color_by.value != GaussianValue::none) return {};
    return fail(ErrorKind::usage, "", "Gaussians have their own colours",
                "choose a value with color.by NAME first");
}
Result<void> range(S state, A a) {
    GS_TRY_VOID(needs_value(state));
    ColorBy& by = state.view.color_by;
    if (a[0] == "auto" && a.size() == 1) {
        by.automatic = true;
        return {};
    }
    if (a.size() != 2)
        return fail(ErrorKind::usage, "", "color.range takes auto, or both ends of the range");
    constexpr double kMost = 3e38;
    GS_TRY(const double lo, number_argument(a[0], -kMost, kMost, "the lower end"));
    GS_TRY(const double hi, number_argument(a[1], -kMost, kMost, "the upper end"));
    if (!(lo < hi))
        return fail(ErrorKind::usage, "", fmt::format("the range {} to {} is empty", a[0], a[1]),
                    "give the lower end first");
    by.automatic = false;
    by.lo = lo;
    by.hi = hi;
    return {};
}
Result<void> filter(S state, A a) {
    GS_TRY_VOID(needs_value(state));
    bool on = !state.view.color_by.filter;
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    state.view.color_by.filter = on;
    return {};
}
Result<void> map(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kColormapNames));
    state.view.color_by.map = static_cast<Colormap>(which);
    return {};
}

// clang-format off
const CommandRow kCostRows[] = {
    {"cost.measure", "Measure the picture's cost", "View/Costs 4", "Ctrl+M", "",
     "Time every tile, forward and backward, and count the pairs of every Gaussian.", measure},
    {"cost.region",  "Cost of a region",               "",       "", "X0 Y0 X1 Y1",
     "Sum the cost of the tiles in this box, in pixels of the shown picture; parts outside are clipped.", region},
    {"cost.top",     "List the most expensive Gaussians", "",    "", "COUNT",
     "How many of them the Costs panel lists, 1 to 1000.", top},
    {"cost.without", "Without the most expensive Gaussians", "View/Costs 4", "", "COUNT",
     "Measure the time saved and the photos' PSNR without them.", without},
    {"cost.clear",   "Clear the measured costs",       "View/Costs 4", "", "",
     "Clear the Costs panel and stop measuring photos.", clear},
};
const CommandRow kColorRows[] = {
    {"color.by",     "Colour Gaussians by",            "View/Colour by 1", "Ctrl+B", "NAME",
     "off, opacity, size, anisotropy, sh-energy, gradient, second-moment, density, age, views, error, cost or "
     "level.", color_by},
    {"color.range",  "Range of the colours",           "View/Colour by 1", "", "auto|LO [HI]",
     "auto: from the values; or LO HI in their unit.", range},
    {"color.filter", "Only values in the range",       "View/Colour by 1", "Ctrl+Shift+B", "[on|off]",
     "Hide Gaussians whose value is outside the range.", filter},
    {"color.map",    "Colormap of the values",         "View/Colour by 1", "", "NAME",
     "viridis, inferno, cividis, turbo, gray or diverging.", map},
};
// clang-format on

}  // namespace

std::span<const CommandRow> cost_commands() { return kCostRows; }
std::span<const CommandRow> color_commands() { return kColorRows; }

}  // namespace gs
