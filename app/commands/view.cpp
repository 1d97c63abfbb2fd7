// Commands for what the viewport draws: maps, ranges, draw styles, overlays, levels of detail.
#include "app/commands/commands.h"

namespace gs {
namespace command::view {

using namespace args;
using S = StudioState&;

Result<void> range(S state, RangeMode mode, const std::optional<std::vector<double>>& ends) {
    if (ends && mode != RangeMode::manual)
        return fail(ErrorKind::usage, "",
                    "only a manual range takes ends: view.range manual LO HI");
    if (ends) {
        if (!((*ends)[0] < (*ends)[1]))
            return fail(ErrorKind::usage, "",
                        "the lower end of a range must be below the upper end");
        state.view.range_lo = (*ends)[0];
        state.view.range_hi = (*ends)[1];
    }
    state.view.range = mode;
    return {};
}
void lod_level(S state, std::optional<int> level) { state.view.lod_level = level.value_or(-1); }

// clang-format off
const CommandRow kRows[] = {
    {"view.mode.color",        "Show: colour",                "View/Show 1",
     "The rendered picture.", &ViewSettings::mode, always(ViewMode::color)},
    {"view.mode.depth",        "Show: depth",                 "View/Show 1",
     "Expected depth: sum of weight x depth over alpha, in world units.",
     &ViewSettings::mode, always(ViewMode::depth)},
    {"view.mode.alpha",        "Show: alpha",                 "View/Show 1",
     "How opaque each pixel is, 0 to 1.", &ViewSettings::mode, always(ViewMode::alpha)},
    {"view.mode.contributors", "Show: contributors",          "View/Show 1",
     "How many Gaussians are blended into each pixel.", &ViewSettings::mode, always(ViewMode::contributors)},
    {"view.mode.isects",       "Show: list length",           "View/Show 1",
     "How many Gaussians each tile's list contains (isects).", &ViewSettings::mode, always(ViewMode::isects)},
    {"view.mode.pairs",        "Show: pairs",                 "View/Show 1",
     "(Pixel, Gaussian) pairs that blending evaluates per tile: its cost.",
     &ViewSettings::mode, always(ViewMode::pairs)},
    {"view.mode.error",        "Show: error",                 "View/Show 1",
     "The difference from the photo, or from the second scene.", &ViewSettings::mode, always(ViewMode::error)},
    {"view.mode.photo",        "Show: photo",                 "View/Show 1",
     "The photo itself, at a capture camera.", &ViewSettings::mode, always(ViewMode::photo)},
    {"view.mode.median",       "Show: median",                "View/Show 1",
     "Median depth: depth of the Gaussian where transmittance falls below one half. Edges are sharp where "
     "expected depth mixes front and back.", &ViewSettings::mode, always(ViewMode::median)},
    {"view.mode.normals",      "Show: normals",               "View/Show 1",
     "Which way surfaces face in the world, from the median depth: red along x, green along y, blue along z.",
     &ViewSettings::mode, always(ViewMode::normals)},
    {"view.mode.time",         "Show: time",                  "View/Show 1",
     "Measured nanoseconds of blending per tile.", &ViewSettings::mode, always(ViewMode::time)},
    {"view.mode.wasted",       "Show: wasted",                "View/Show 1",
     "Fraction of a tile's evaluated pairs that change no pixel.", &ViewSettings::mode, always(ViewMode::wasted)},
    {"view.mode.backward-time", "Show: backward-time",        "View/Show 1",
     "Measured nanoseconds of blending's gradients per tile.",
     &ViewSettings::mode, always(ViewMode::backward_time)},
    {"view.mode.backward-pairs", "Show: backward-pairs",      "View/Show 1",
     "(Pixel, Gaussian) pairs in the backward pass, per tile.",
     &ViewSettings::mode, always(ViewMode::backward_pairs)},
    {"view.style.splats",      "Draw as: splats",             "View/Draw as 1",
     "Gaussians blended, as they were trained.", &ViewSettings::style, always(DrawStyle::splats)},
    {"view.style.points",      "Draw as: points",             "View/Draw as 1",
     "A dot at each centre.", &ViewSettings::style, always(DrawStyle::points)},
    {"view.style.ellipsoids",  "Draw as: ellipsoids",         "View/Draw as 1",
     "Opaque ellipsoids: shapes and sizes.", &ViewSettings::style, always(DrawStyle::ellipsoids)},
    {"view.style.rings",       "Draw as: rings",              "View/Draw as 1",
     "The outline of each Gaussian over the faded picture: how they overlap.",
     &ViewSettings::style, always(DrawStyle::rings)},
    {"view.style.centres",     "Draw as: centres",            "View/Draw as 1",
     "The picture with a dot at each centre: shows the density of Gaussians.",
     &ViewSettings::style, always(DrawStyle::centres)},
    {"view.mode",              "Show a map",                  "",
     "color, depth, alpha, contributors, isects, pairs, error, photo, median, normals, time, wasted, "
     "backward-time or backward-pairs.", &ViewSettings::mode, choice("MODE", kViewModeNames)},
    {"view.style",             "Draw style",                  "",
     "splats, points, ellipsoids, rings or centres.", &ViewSettings::style, choice("STYLE", kDrawStyleNames)},
    {"view.projection",        "How Gaussians are projected", "",
     "ewa (the lens's Jacobian), ut (unscented transform with seven points each) or auto: as the run or the file says.",
     &ViewSettings::projection, choice("NAME", kViewProjectionNames)},
    {"view.colormap",          "Colormap",                    "",
     "viridis, inferno, cividis, turbo, gray or diverging.",
     &ViewSettings::colormap, choice("NAME", kColormapNames)},
    {"view.range",             "Range of the colormap",       "",
     "auto, percentile, or manual LO HI.",
     range, choice("MODE", kRangeModeNames), optional(numbers("LO HI", -1e30, 1e30))},
    {"view.percentile",        "Percentile of the range",     "",
     "Upper percentile (50 to 100) of a percentile range.", &ViewSettings::percentile, number("P", 50, 100)},
    {"view.log",               "Logarithmic colours",         "View 2",
     "Logarithmic colour scale.", &ViewSettings::logarithmic, toggle()},
    {"view.frusta",            "Camera frusta",               "View 2",
     "Draw the capture cameras.", &ViewSettings::frusta, toggle()},
    {"view.overlays",          "Overlays",                    "View 2",
     "Legend, axes and value under the mouse.", &ViewSettings::overlays, toggle()},
    {"view.tile-grid",         "Tile grid",                   "View 2",
     "Lines between tiles over tile maps.", &ViewSettings::tile_grid, toggle()},
    {"view.sh-degree",         "SH degree shown",             "",
     "0 to 3: higher bases are ignored.", &ViewSettings::sh_degree, whole("DEGREE", 0, 3)},
    {"view.scale",             "Size of the Gaussians",       "",
     "Multiply every standard deviation in the picture.",
     &ViewSettings::scale_modifier, number("FACTOR", 0.01, 10)},
    {"view.point-size",        "Size of dots",                "",
     "Size of the dots in styles points and centres, 1 to 32 pixels.",
     &ViewSettings::point_size, number("PIXELS", 1, 32)},
    {"view.background",        "Background",                  "",
     "0 to 1 each, behind the splats of the free camera.", &ViewSettings::background, vector("R G B", 0, 1)},
    {"view.sky",               "Sky",                         "View/Draw as 1",
     "Draw the sky that the scene was trained with, in place of the background.",
     &ViewSettings::sky, toggle()},
    {"lod.budget",             "Gaussians of a streamed set", "",
     "Draw at most this many Gaussians of a streamed set: finer levels where they gain most.",
     &ViewSettings::lod_budget, number("COUNT", 1, 1e9)},
    {"lod.memory",             "Memory of a streamed set",    "",
     "Keep at most this many MiB of a streamed set's Gaussians; at most those are drawn.",
     &ViewSettings::lod_memory, number("MIB", 1, 1e6)},
    {"lod.pixels",             "Detail of a streamed set",    "",
     "Largest distance on the screen between a region's Gaussians before a finer level is "
     "drawn.", &ViewSettings::lod_pixels, number("PIXELS", 0.01, 1000)},
    {"lod.level",              "Level of a streamed set",     "",
     "Draw a streamed set at one level everywhere (0 is the finest), or by gain and "
     "budget.", lod_level, either(whole("LEVEL", 0, 63), "auto")},
    {"view.level-colors",      "Colours of levels",           "View/Draw as 1",
     "Draw each Gaussian of a streamed set in the colour of its level of detail.",
     &ViewSettings::level_colors, toggle()},
    {"view.budget",            "Viewer's share",              "",
     "Largest share of the engine's time for pictures while training.",
     &ViewSettings::viewer_budget, number("SHARE", 0, 0.95)},
};
// clang-format on

}  // namespace command::view

std::span<const CommandRow> view_commands() { return command::view::kRows; }

}  // namespace gs
