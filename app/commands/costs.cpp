// Commands that measure a picture's cost and colour Gaussians by a value.
#include "app/session/parts/costs.h"
#include "app/commands/commands.h"
#include "app/session/engine.h"

namespace gs {
namespace command::costs {

using namespace args;
using S = StudioState&;

void region(Costs& costs, const Shown& shown, const ViewRequest& request, double x0, double y0,
            double x1, double y1) {
    costs.region(shown, request, {x0, y0, x1, y1});
}

void color_by(S state, GaussianValue value) {
    // Another number has another range.
    const Colormap map = state.view.color_by.map;
    state.view.color_by = {};
    state.view.color_by.map = map;
    state.view.color_by.value = value;
}
Result<void> needs_value(S state) {
    if (state.view.color_by.value != GaussianValue::none) return {};
    return fail(ErrorKind::usage, "", "Gaussians have their own colours",
                "choose a value with color.by NAME first");
}
Result<void> range(S state, const std::optional<std::vector<double>>& ends) {
    GS_TRY_VOID(needs_value(state));
    ColorBy& by = state.view.color_by;
    if (ends && !((*ends)[0] < (*ends)[1]))
        return fail(ErrorKind::usage, "",
                    fmt::format("the range {:g} to {:g} is empty", (*ends)[0], (*ends)[1]),
                    "give the lower end first");
    by.automatic = !ends;
    if (!ends) return {};
    by.lo = (*ends)[0];
    by.hi = (*ends)[1];
    return {};
}
Result<void> filter(S state, std::optional<bool> on) {
    GS_TRY_VOID(needs_value(state));
    state.view.color_by.filter = on.value_or(!state.view.color_by.filter);
    return {};
}

// clang-format off
const CommandRow kCostRows[] = {
    {"cost.measure", "Measure the picture's cost", "View/Costs 4",
     "Time every tile, forward and backward, and count the pairs of every Gaussian.",
     &Costs::measure, shown_view()},
    {"cost.region",  "Cost of a region",               "",
     "Sum the cost of the tiles in this box, in pixels of the shown picture; parts outside are clipped.",
     region, shown_view(), any_x("X0"), any_y("Y0"), any_x("X1"), any_y("Y1")},
    {"cost.top",     "List the most expensive Gaussians", "",
     "How many of them the Costs panel lists, 1 to 1000.", &Costs::top, whole("COUNT", 1, 1000)},
    {"cost.without", "Without the most expensive Gaussians", "View/Costs 4",
     "Measure the time saved and the photos' PSNR without them.",
     &Costs::without, shown_view(), whole("COUNT", 1, 1'000'000'000)},
    {"cost.clear",   "Clear the measured costs",       "View/Costs 4",
     "Clear the Costs panel and stop measuring photos.", &Costs::clear},
};
const CommandRow kColorRows[] = {
    {"color.by",     "Colour Gaussians by",            "View/Colour by 1",
     "off, opacity, size, anisotropy, sh-energy, gradient, second-moment, density, age, views, filter, "
     "error, cost or level.", color_by, choice("NAME", kGaussianValueNames)},
    {"color.range",  "Range of the colours",           "View/Colour by 1",
     "auto: from the values; or LO HI in their unit.", range, either(numbers("LO HI", -3e38, 3e38), "auto")},
    {"color.filter", "Only values in the range",       "View/Colour by 1",
     "Hide Gaussians whose value is outside the range.", filter, toggle()},
    {"color.map",    "Colormap of the values",         "View/Colour by 1",
     "viridis, inferno, cividis, turbo, gray or diverging.", &ColorBy::map, choice("NAME", kColormapNames)},
};
// clang-format on

}  // namespace command::costs

std::span<const CommandRow> cost_commands() { return command::costs::kCostRows; }
std::span<const CommandRow> color_commands() { return command::costs::kColorRows; }

}  // namespace gs
