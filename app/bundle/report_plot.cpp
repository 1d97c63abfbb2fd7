#include "app/bundle/report_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"

namespace gs {
namespace {

constexpr double kPlotWidth = 480, kPlotHeight = 200, kLeft = 52, kRight = 10, kTop = 10,
                 kBottom = 38;  // SVG units
constexpr std::size_t kMostPoints = 400;
using PlotPoints = std::vector<std::pair<double, double>>;

struct PlotRange {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    void add(double v) { lo = std::min(lo, v), hi = std::max(hi, v); }
    bool any() const { return lo <= hi; }
};

PlotPoints thinned(const ReportPlot::Line& line) {
    const PlotPoints& points = line.points;
    if (line.dots || points.size() <= kMostPoints) return points;
    PlotPoints out;
    const std::size_t each = (points.size() + kMostPoints - 1) / kMostPoints;
    for (std::size_t begin = 0; begin < points.size(); begin += each) {
        double x = 0, y = 0, n = 0;
        for (std::size_t i = begin; i < std::min(begin + each, points.size()); ++i)
            if (std::isfinite(points[i].second)) x += points[i].first, y += points[i].second, ++n;
        if (n > 0) out.emplace_back(x / n, y / n);
    }
    return out;
}

/// 1, 2 or 5 times a power of ten: about four of them in the range.
double tick_step(double length) {
    const double raw = length / 4, power = std::pow(10, std::floor(std::log10(raw)));
    const double digit = raw / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/// With the digits that tell it from the next tick.
std::string tick_text(double value, double step) {
    if (std::abs(value) < step * 1e-6) value = 0;
    if (std::abs(value) >= 1e4) return format_compact(value);
    const int digits = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
    return fmt::format("{:.{}f}", value, std::clamp(digits, 0, 6));
}

struct PlotFrame {
    PlotRange x, y;
    double at_x(double v) const {
        return kLeft + (v - x.lo) / (x.hi - x.lo) * (kPlotWidth - kLeft - kRight);
    }
    double at_y(double v) const {
        return kPlotHeight - kBottom - (v - y.lo) / (y.hi - y.lo) * (kPlotHeight - kTop - kBottom);
    }
};

std::string axes_of(const PlotFrame& frame, const std::string& x) {
    std::string out;
    const double dy = tick_step(frame.y.hi - frame.y.lo), dx = tick_step(frame.x.hi - frame.x.lo);
    for (double v = std::ceil(frame.y.lo / dy) * dy; v <= frame.y.hi; v += dy)
        out += fmt::format(
            "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" /><text x=\"{}\" "
            "y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
            kLeft, kPlotWidth - kRight, frame.at_y(v), frame.at_y(v), kLeft - 5, frame.at_y(v) + 4,
            tick_text(v, dy));
    for (double v = std::ceil(frame.x.lo / dx) * dx; v <= frame.x.hi; v += dx)
        out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                           std::min(frame.at_x(v), kPlotWidth - 18), kPlotHeight - kBottom + 15,
                           tick_text(v, dx));
    return out + fmt::format("<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                             kPlotWidth - kRight, kPlotHeight - 6, html_text(x));
}

std::string path_of(const PlotPoints& points, const PlotFrame& frame) {
    std::string out;
    bool pen = false;
    for (const auto& [x, y] : points) {
        if (std::isfinite(y))
            out += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", frame.at_x(x), frame.at_y(y));
        pen = std::isfinite(y);
    }
    return out;
}

/// Beyond the third colour the dots are smaller: as many as the legend can tell apart.
std::string dots_of(const PlotPoints& points, const PlotFrame& frame, std::size_t line) {
    std::string out;
    for (const auto& [x, y] : points)
        if (std::isfinite(x) && std::isfinite(y))
            out += fmt::format("<circle class=\"d{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" />",
                               line % 3, frame.at_x(x), frame.at_y(y), line < 3 ? 4.5 : 2.5);
    return out;
}

}  // namespace

std::string plot_html(const ReportPlot& plot) {
    std::vector<PlotPoints> lines;
    PlotFrame frame;
    for (const ReportPlot::Line& line : plot.lines) {
        lines.push_back(thinned(line));
        for (const auto& [x, y] : lines.back())
            if (std::isfinite(y)) frame.x.add(x), frame.y.add(y);
    }
    const bool dots = std::any_of(plot.lines.begin(), plot.lines.end(),
                                  [](const ReportPlot::Line& line) { return line.dots; });
    if (frame.x.any() && dots) {  // none lies on the edge, and one alone is shown too
        const double space = std::max(0.05 * (frame.x.hi - frame.x.lo), 1e-3 * frame.x.hi);
        frame.x.lo -= space, frame.x.hi += space;
    }
    if (!frame.x.any() || !(frame.x.hi > frame.x.lo)) return {};
    if (plot.from_zero) frame.y.add(0);
    const double margin =
        std::max({0.04 * (frame.y.hi - frame.y.lo),
                  1e-3 * std::max(std::abs(frame.y.lo), std::abs(frame.y.hi)), 1e-9});
    frame.y.hi += margin;
    if (!plot.from_zero || frame.y.lo < 0) frame.y.lo -= margin;

    std::string out =
        fmt::format("<figure><svg viewBox=\"0 0 {} {}\" role=\"img\">", kPlotWidth, kPlotHeight) +
        fmt::format("<title>{}</title>", html_text(plot.title)) + axes_of(frame, plot.x);
    for (const ReportPlot::Mark& mark : plot.marks)
        if (mark.x >= frame.x.lo && mark.x <= frame.x.hi)
            out += fmt::format(
                "<line class=\"mark{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"><title>{}"
                "</title></line>",
                mark.alarm ? " alarm" : "", frame.at_x(mark.x), frame.at_x(mark.x), kTop,
                kPlotHeight - kBottom, html_text(mark.text));
    std::string legend;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (plot.lines[i].guide) {
            out += fmt::format("<path class=\"guide\" d=\"{}\" />", path_of(lines[i], frame));
            legend += " <span>- - " + html_text(plot.lines[i].name) + "</span>";
            continue;
        }
        out += plot.lines[i].dots ? dots_of(lines[i], frame, i)
                                  : fmt::format("<path class=\"l{}\" d=\"{}\" />", i % 3,
                                                path_of(lines[i], frame));
        if (lines.size() > 1)
            legend +=
                fmt::format(" <span class=\"k{}\">{}</span>", i % 3, html_text(plot.lines[i].name));
    }
    return out + fmt::format("</svg><figcaption>{}{}{}</figcaption></figure>",
                             html_text(plot.title),
                             plot.unit.empty() ? "" : ", " + html_text(plot.unit), legend);
}

}  // namespace gs
