// Commands for what the viewport draws: maps, ranges, draw styles, overlays, levels of detail.
#include "app/commands/commands.h"
#include "app/commands/settings.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

const auto mode = set_choice<&ViewSettings::mode, kViewModeNames>;
const auto style = set_choice<&ViewSettings::style, kDrawStyleNames>;
const auto projection = set_choice<&ViewSettings::projection, kViewProjectionNames>;
const auto colormap = set_choice<&ViewSettings::colormap, kColormapNames>;
template <ViewMode which>
const auto mode_is = set_to<&ViewSettings::mode, which>;
template <DrawStyle which>
const auto style_is = set_to<&ViewSettings::style, which>;

Result<void> range(S state, A a) {
    GS_TRY(const std::size_t chosen, choice_argument(a[0], kRangeModeNames));
    const auto which = static_cast<RangeMode>(chosen);
    if (which == RangeMode::manual && a.size() == 3) {
        GS_TRY(const double lo, number_argument(a[1], -1e30, 1e30, "the lower end"));
        GS_TRY(const double hi, number_argument(a[2], -1e30, 1e30, "the upper end"));
        if (!(lo < hi))
            return fail(ErrorKind::usage, "",
                        "the lower end of a range must be below the upper end");
        state.view.range_lo = lo;
        state.view.range_hi = hi;
    } else if (a.size() != 1) {
        return fail(ErrorKind::usage, "",
                    "only a manual range takes ends: view.range manual LO HI");
    }
    state.view.range = which;
    return {};
}
Result<void> percentile(S state, A a) {
    return set_number(state.view.percentile, a[0], 50, 100, "the percentile");
}
const auto logarithmic = set_switch<&ViewSettings::logarithmic>;
const auto frusta = set_switch<&ViewSettings::frusta>;
const auto overlays = set_switch<&ViewSettings::overlays>;
const auto level_colors = set_switch<&ViewSettings::level_colors>;
const auto tile_grid = set_switch<&ViewSettings::tile_grid>;

Result<void> sh_degree(S state, A a) {
    GS_TRY(const auto degree, integer_argument(a[0], 0, 3, "the SH degree"));
    state.view.sh_degree = static_cast<int>(degree);
    return {};
}
Result<void> scale(S state, A a) {
    return set_number(state.view.scale_modifier, a[0], 0.01, 10, "the scale");
}
Result<void> point_size(S state, A a) {
    return set_number(state.view.point_size, a[0], 1, 32, "the size of dots");
}
Result<void> background(S state, A a) {
    double rgb[3];
    for (std::size_t i = 0; i < 3; ++i) GS_TRY_VOID(set_number(rgb[i], a[i], 0, 1, "a colour"));
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
    GS_TRY(const auto level, integer_argument(a[0], 0, 63, "the level"));
    state.view.lod_level = static_cast<int>(level);
    return {};
}
Result<void> budget(S state, A a) {
    return set_number(state.view.viewer_budget, a[0], 0, 0.95, "the viewer's share");
}

// clang-format off
const CommandRow kRows[] = {
    {"view.mode.color",        "Show: color",                 "View/Show 1", "1",       "",
     "The rendered picture.", mode_is<ViewMode::color>},
    {"view.mode.depth",        "Show: depth",                 "View/Show 1", "2",       "",
     "Expected depth: sum of weight x depth over alpha, in world units.", mode_is<ViewMode::depth>},
    {"view.mode.alpha",        "Show: alpha",                 "View/Show 1", "3",       "",
     "How opaque each pixel is, 0 to 1.", mode_is<ViewMode::alpha>},
    {"view.mode.contributors", "Show: contributors",          "View/Show 1", "4",       "",
     "How many Gaussians are blended into each pixel.", mode_is<ViewMode::contributors>},
    {"view.mode.isects",       "Show: isects",                "View/Show 1", "5",       "",
     "Intersections: how many Gaussians each tile's list contains.", mode_is<ViewMode::isects>},
    {"view.mode.pairs",        "Show: pairs",                 "View/Show 1", "6",       "",
     "(Pixel, Gaussian) pairs that blending evaluates per tile: its cost.", mode_is<ViewMode::pairs>},
    {"view.mode.error",        "Show: error",                 "View/Show 1", "7",       "",
     "The difference from the photo, or from the second scene.", mode_is<ViewMode::error>},
    {"view.mode.photo",        "Show: photo",                 "View/Show 1", "8",       "",
     "The photo itself, at a capture camera.", mode_is<ViewMode::photo>},
    {"view.mode.median",       "Show: median",                "View/Show 1", "9",       "",
     "Median depth: depth of the Gaussian where transmittance falls below one half. Edges are sharp where "
     "expected depth mixes front and back.", mode_is<ViewMode::median>},
    {"view.mode.normals",      "Show: normals",               "View/Show 1", "0",       "",
     "Which way surfaces face in the world, from the median depth: red along x, green along y, blue along z.", mode_is<ViewMode::normals>},
    {"view.mode.time",         "Show: time",                  "View/Show 1", "Ctrl+Shift+1", "",
     "Measured nanoseconds of blending per tile.", mode_is<ViewMode::time>},
    {"view.mode.wasted",       "Show: wasted",                "View/Show 1", "Ctrl+Shift+2", "",
     "Fraction of a tile's evaluated pairs that change no pixel.", mode_is<ViewMode::wasted>},
    {"view.mode.backward-time", "Show: backward-time",        "View/Show 1", "Ctrl+Shift+3", "",
     "Measured nanoseconds of blending's gradients per tile.", mode_is<ViewMode::backward_time>},
    {"view.mode.backward-pairs", "Show: backward-pairs",      "View/Show 1", "Ctrl+Shift+4", "",
     "(Pixel, Gaussian) pairs in the backward pass, per tile.", mode_is<ViewMode::backward_pairs>},
    {"view.style.splats",      "Draw as: splats",             "View/Draw as 1", "Shift+1", "",
     "Gaussians blended, as they were trained.", style_is<DrawStyle::splats>},
    {"view.style.points",      "Draw as: points",             "View/Draw as 1", "Shift+2", "",
     "A dot at each centre.", style_is<DrawStyle::points>},
    {"view.style.ellipsoids",  "Draw as: ellipsoids",         "View/Draw as 1", "Shift+3", "",
     "Opaque ellipsoids: shapes and sizes.", style_is<DrawStyle::ellipsoids>},
    {"view.style.rings",       "Draw as: rings",              "View/Draw as 1", "Shift+4", "",
     "The outline of each Gaussian over the faded picture: how they overlap.", style_is<DrawStyle::rings>},
    {"view.style.centres",     "Draw as: centres",            "View/Draw as 1", "Shift+5", "",
     "The picture with a dot at each centre: shows the density of Gaussians.", style_is<DrawStyle::centres>},
    {"view.mode",              "Show a map",                  "",     "",        "MODE",
     "color, depth, alpha, contributors, isects, pairs, error, photo, median, normals, time, wasted, "
     "backward-time or backward-pairs.", mode},
    {"view.style",             "Draw style",                  "",     "",        "STYLE",
     "splats, points, ellipsoids, rings or centres.", style},
    {"view.projection",        "How Gaussians are projected", "",     "",        "NAME",
     "ewa (the lens's Jacobian), ut (unscented transform with seven points each) or auto: as the run or the file says.", projection},
    {"view.colormap",          "Colormap",                    "",     "",        "NAME",
     "viridis, inferno, cividis, turbo, gray or diverging.", colormap},
    {"view.range",             "Range of the colormap",       "",     "",        "MODE [LO HI]",
     "auto, percentile, or manual LO HI.", range},
    {"view.percentile",        "Percentile of the range",     "",     "",        "P",
     "Upper percentile (50 to 100) of a percentile range.", percentile},
    {"view.log",               "Logarithmic colours",         "View 2", "L",       "[on|off]",
     "Logarithmic colour scale.", logarithmic},
    {"view.frusta",            "Camera frusta",               "View 2", "C",       "[on|off]",
     "Draw the capture cameras.", frusta},
    {"view.overlays",          "Overlays",                    "View 2", "O",       "[on|off]",
     "Legend, axes and value under the mouse.", overlays},
    {"view.tile-grid",         "Tile grid",                   "View 2", "G",       "[on|off]",
     "Lines between tiles over tile maps.", tile_grid},
    {"view.sh-degree",         "SH degree shown",             "",     "",        "DEGREE",
     "0 to 3: higher bases are ignored.", sh_degree},
    {"view.scale",             "Size of the Gaussians",       "",     "",        "FACTOR",
     "Multiply every standard deviation in the picture.", scale},
    {"view.point-size",        "Size of dots",                "",     "",        "PIXELS",
     "Size of the dots in styles points and centres, 1 to 32 pixels.", point_size},
    {"view.background",        "Background",                  "",     "",        "R G B",
     "0 to 1 each, behind the splats of the free camera.", background},
    {"lod.budget",             "Gaussians of a streamed set", "",     "",        "COUNT",
     "Draw at most this many Gaussians of a streamed set; far regions coarsen "
     "first.", lod_budget},
    {"lod.pixels",             "Detail of a streamed set",    "",     "",        "PIXELS",
     "Largest distance on the screen between a region's Gaussians before a finer level is "
     "drawn.", lod_pixels},
    {"lod.level",              "Level of a streamed set",     "",     "",        "auto|LEVEL",
     "Draw a streamed set at one level everywhere (0 is the finest), or by distance and "
     "budget.", lod_level},
    {"view.level-colors",      "Colours of levels",           "View/Draw as 1", "Shift+L", "[on|off]",
     "Draw each Gaussian of a streamed set in the colour of its level of detail.", level_colors},
    {"view.budget",            "Viewer's share",              "",     "",        "SHARE",
     "Largest share of the engine's time for pictures while training.", budget},
};
// clang-format on

}  // namespace

std::span<const CommandRow> view_commands() { return kRows; }

}  // namespace gs
