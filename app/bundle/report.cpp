#include "app/bundle/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>

#include "base/format.h"
#include "base/machine.h"
#include "base/try.h"

namespace gs {
namespace {

// ---- plots: lines over steps as SVG with axes, a title and a legend

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

/// A figure; empty where no line has two finite points. Lines of many points become means of
/// neighbours.
std::string plot_html(const ReportPlot& plot) {
    std::vector<PlotPoints> lines;
    PlotFrame frame;
    for (const ReportPlot::Line& line : plot.lines) {
        lines.push_back(thinned(line));
        for (const auto& [x, y] : lines.back())
            if (std::isfinite(y)) frame.x.add(x), frame.y.add(y);
    }
    const bool dots = std::ranges::any_of(plot.lines, &ReportPlot::Line::dots);
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

constexpr std::uint64_t kLargestPicture = 64 << 20;  // bytes
constexpr std::size_t kLongTable = 30;               // rows

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--back:#fff;--text:#1c2127;--dim:#5f6b76;--line:#d9dee3;--accent:#1668b8;--second:#b3541e;--third:#3f7d3f;--bad:#b3261e;--soft:#f4f6f8}
@media (prefers-color-scheme:dark){:root{--back:#14171b;--text:#e3e7eb;--dim:#96a1ac;--line:#333a42;--accent:#6cb0f2;--second:#f0a070;--third:#8cc98c;--bad:#ff8a80;--soft:#1c2126}}
body{margin:0 auto;padding:2rem 1.5rem;max-width:68rem;background:var(--back);color:var(--text);font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
p.sub,footer,figcaption,.dim{color:var(--dim)}footer{margin-top:3rem;font-size:.85rem}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.7rem 1.5rem}
dt{color:var(--dim);font-size:.8rem}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.2rem .8rem .2rem 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--dim);font-weight:500}th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:break-word;min-width:9rem;max-width:28rem}
td.text{text-align:left;white-space:pre-wrap;min-width:16rem}
.pictures{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0}img{max-width:100%;border-radius:4px;display:block}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1.2rem}
svg{width:100%;height:auto;background:var(--soft);border-radius:4px}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
svg .grid{stroke:var(--line)}svg path{fill:none;stroke-width:1.5}svg .l0{stroke:var(--accent)}svg .l1{stroke:var(--second)}svg .l2{stroke:var(--third)}
svg .guide{stroke:var(--dim);stroke-dasharray:6 4;stroke-width:1}
svg .mark{stroke:var(--dim);stroke-dasharray:3 3}svg .alarm{stroke:var(--bad)}.k0{color:var(--accent)}.k1{color:var(--second)}.k2{color:var(--third)}
svg circle{stroke:none}svg .d0{fill:var(--accent)}svg .d1{fill:var(--second)}svg .d2{fill:var(--third)}
.pair{position:relative;display:inline-block;overflow:hidden;line-height:0}.pair img,.pair+img{max-width:none;border-radius:0}
.over{position:absolute;top:0;left:0;height:100%;width:50%;overflow:hidden;resize:horizontal;border-right:2px solid var(--accent)}
li{margin:.35rem 0}.error{color:var(--bad)}.warning{color:var(--second)}summary{cursor:pointer;color:var(--dim)}
)";

std::string section_of(std::string_view title, const std::string& content) {
    if (content.empty()) return {};
    return fmt::format("<section><h2>{}</h2>{}</section>\n", html_text(title), content);
}

std::string facts_html(const Report& report) {
    std::string out;
    for (const auto& [label, value] : report.facts)
        out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html_text(label), html_text(value));
    return out.empty() ? out : "<dl>" + out + "</dl>\n";
}

bool is_png(std::span<const std::byte> bytes) {
    return bytes.size() > 8 && bytes[0] == std::byte{0x89} && bytes[1] == std::byte{'P'};
}
bool is_jpeg(std::span<const std::byte> bytes) {
    return bytes.size() > 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8};
}

std::string picture_html(const ReportPicture& picture) {
    return fmt::format(
        "<img src=\"data:image/{};base64,{}\" alt=\"{}\"{} />",
        is_png(picture.bytes) ? "png" : "jpeg", base64_of(picture.bytes), html_text(picture.title),
        picture.width_px > 0 ? fmt::format(" width=\"{:.0f}\"", picture.width_px) : "");
}

std::string sliders_html(const Report& report) {
    std::string out;
    for (const ReportSlider& s : report.sliders)
        out += fmt::format(
            "<figure><div class=\"pair\">{}<div class=\"over\">{}</div></div>{}<figcaption>{} | "
            "{} | {}</figcaption></figure>",
            picture_html(s.right), picture_html(s.left), picture_html(s.error),
            html_text(s.left.title), html_text(s.right.title), html_text(s.error.title));
    return out.empty() ? out
                       : "<p class=\"dim\">Drag the lower right corner of the left half.</p>"
                         "<div class=\"pictures\">" +
                             out + "</div>";
}

std::string pictures_html(const Report& report) {
    std::string out;
    for (const ReportPicture& picture : report.pictures)
        out += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", picture_html(picture),
                           html_text(picture.title));
    return out.empty() ? out : "<div class=\"pictures\">" + out + "</div>";
}

std::string plots_html(const Report& report) {
    std::string out;
    for (const ReportPlot& plot : report.plots) out += plot_html(plot);
    return out.empty() ? out : "<div class=\"plots\">" + out + "</div>";
}

std::string findings_html(const Report& report) {
    if (!report.examined) return {};
    std::string out;
    for (const Finding& finding : report.findings) {
        out += fmt::format("<li><b class=\"{}\">{}</b>: {}", name_of(finding.severity),
                           name_of(finding.severity), html_text(finding.what));
        if (!finding.consequence.empty()) out += "; " + html_text(finding.consequence);
        if (!finding.advice.empty()) out += fmt::format(" ({})", html_text(finding.advice));
        out += "</li>";
    }
    return out.empty() ? "<p>No problems found.</p>" : "<ul>" + out + "</ul>";
}

std::string notes_html(const Report& report) {
    std::string out;
    for (const std::string& note : report.notes) out += "<li>" + html_text(note) + "</li>";
    return out.empty() ? out : "<ol>" + out + "</ol>";
}

std::string table_html(const ReportTable& table) {
    if (table.rows.empty()) return {};
    std::string out = "<div class=\"scroll\"><table><thead><tr>";
    for (const std::string& column : table.columns) out += "<th>" + html_text(column) + "</th>";
    out += "</tr></thead><tbody>\n";
    for (const auto& row : table.rows) {
        out += "<tr>";
        for (const std::string& cell : row)
            out += (cell.find('\n') == cell.npos ? "<td>" : "<td class=\"text\">") +
                   html_text(cell) + "</td>";
        out += "</tr>\n";
    }
    out += "</tbody></table></div>";
    if (!table.folded || table.rows.size() <= kLongTable) return out;
    return fmt::format("<details><summary>{} rows</summary>{}</details>", table.rows.size(), out);
}

}  // namespace

std::string base64_of(std::span<const std::byte> bytes) {
    constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i)
            bits = bits << 8 |
                   (at + i < bytes.size() ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
        for (std::size_t i = 0; i < 4; ++i)
            out += at + i > bytes.size() ? '=' : kLetters[bits >> (18 - 6 * i) & 63];
    }
    return out;
}

Result<ReportPicture> report_picture(std::string title, const fs::path& file) {
    GS_TRY(auto bytes, read_file(file, kLargestPicture));
    if (!is_png(bytes) && !is_jpeg(bytes))
        return fail(ErrorKind::unsupported, file.string(), "is not a PNG or JPEG");
    return ReportPicture{std::move(title), std::move(bytes)};
}

std::string made_by() {
    const std::time_t now = std::time(nullptr);
    const std::string host = host_name();
    return fmt::format("gausscope {}, {:%Y-%m-%d %H:%M} UTC{}{}", GAUSSCOPE_VERSION,
                       fmt::gmtime(now), host.empty() ? "" : ", ", host);
}

std::string report_html(const Report& report) {
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head><meta "
        "charset=\"utf-8\" /><meta name=\"viewport\" content=\"width=device-width\" /><title>{}"
        "</title><style>{}</style></head>\n<body>\n<h1>{}</h1>\n",
        html_text(report.title), kStyle, html_text(report.title));
    if (!report.subtitle.empty())
        out += fmt::format("<p class=\"sub\">{}</p>\n", html_text(report.subtitle));
    for (const ReportTable& table : report.first) out += section_of(table.title, table_html(table));
    out += facts_html(report);
    out += section_of("Pictures", pictures_html(report));
    out += section_of("Photos", sliders_html(report));
    out += section_of("Notes", notes_html(report));
    out += section_of("Curves", plots_html(report));
    out += section_of("Findings", findings_html(report));
    for (const ReportTable& table : report.tables)
        out += section_of(table.title, table_html(table));
    return out + fmt::format("<footer>{}</footer>\n</body>\n</html>\n", html_text(report.made));
}

}  // namespace gs
