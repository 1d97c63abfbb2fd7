// A plot widget: lines or stacked areas over a step axis, with ticks, units, grid, hover values,
// zoom, pan, logarithmic scale and marks of events. Used by Plots, Stages and the histograms;
// callers keep the range of x, so plots can share it.
#pragma once

#include <imgui.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "panels/state/snapshot.h"

namespace gs {

/// The visible part of the x axis. Plots that share one zoom and show their hover line together.
struct PlotRange {
    double lo = 0, hi = 1;
    bool fit =
        true;  ///< follows the data; zooming and panning end it, a double click begins it again
    double hover =
        std::numeric_limits<double>::quiet_NaN();  ///< x under the mouse in any of the plots

    /// Call once a frame before the plots that share it: sets lo, hi where they follow the data's
    /// [first, last].
    void begin(double first, double last);
    double next_hover = std::numeric_limits<double>::quiet_NaN();
};

struct PlotLine {
    std::string name;
    ImU32 color = 0;
    std::span<const CurvePoint> points;  ///< ascending steps; points with NaN values are gaps
    bool dots = false;                   ///< sparse measurements: a dot at each
    std::span<const CurvePoint> low{}, high{};  ///< a band behind it, of the same steps
};

struct PlotLook {
    std::string title;
    std::string unit;  ///< of y, shown with every value: "dB"
    std::string x_name = "step";
    bool logarithmic = false;
    bool logarithmic_x = false;
    bool stacked = false;    ///< areas on top of each other; all lines have the same steps
    bool from_zero = false;  ///< y begins at 0
    bool legend = true;
    float width = 0, height = 0;  ///< pixels, 0: the rest of the region
    std::span<const CurveMark> marks;
};

/// Draws one plot.
void plot(const char* id, std::span<const PlotLine> lines, const PlotLook& look, PlotRange& x);

/// Bars of a histogram with a labelled value axis; hover shows range and count of `what`.
void histogram(const char* id, const Histogram& data, ImU32 color, float height,
               const char* what = "Gaussians");

/// Round values between lo and hi, about `count` of them; powers of ten (with 2 and 5 between when
/// few) when logarithmic.
std::vector<double> plot_ticks(double lo, double hi, int count, bool logarithmic);
/// `value` as a tick label, as short as `step` between ticks allows: "12k", "0.05".
std::string tick_label(double value, double step);

/// The curves as CSV: one row a step, one column a line.
std::string curves_csv(std::span<const PlotLine> lines);

}  // namespace gs
