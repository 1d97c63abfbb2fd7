#include "panels/widgets/plot.h"

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/widgets.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {

/// The plot being drawn: its rectangle on the screen and both axes.
struct Area {
    ImVec2 a, b;  // corners of the data region
    double x_lo, x_hi, y_lo, y_hi;
    bool logarithmic, logarithmic_x;
    ImDrawList& list;

    float width() const { return b.x - a.x; }
    float height() const { return b.y - a.y; }
    float x(double value) const {
        const double lo = along(x_lo), hi = along(x_hi);
        return a.x +
               static_cast<float>(std::clamp((along(value) - lo) / (hi - lo), -8.0, 9.0)) * width();
    }
    /// Converts to the scale in which the x axis is linear, and back.
    double along(double value) const {
        return logarithmic_x ? std::log(std::max(value, 1e-9)) : value;
    }
    double value_at(double along) const { return logarithmic_x ? std::exp(along) : along; }
    float y(double value) const {
        const double t = logarithmic
                             ? std::log(std::max(value, 1e-300) / y_lo) / std::log(y_hi / y_lo)
                             : (value - y_lo) / (y_hi - y_lo);
        return b.y - static_cast<float>(std::clamp(t, -8.0, 9.0)) * height();
    }
};

std::span<const CurvePoint> visible(std::span<const CurvePoint> points, double lo, double hi) {
    const auto before = [](const CurvePoint& p, double step) {
        return static_cast<double>(p.step) < step;
    };
    auto first = std::lower_bound(points.begin(), points.end(), lo, before);
    auto last = std::lower_bound(first, points.end(), hi, before);
    if (first != points.begin()) --first;  // the neighbours outside, so that lines reach the edges
    if (last != points.end()) ++last;
    return {first, last};
}

const CurvePoint* nearest(std::span<const CurvePoint> points, double step) {
    const CurvePoint* best = nullptr;
    for (const CurvePoint& p : visible(points, step, step))
        if (!best || std::abs(static_cast<double>(p.step) - step) <
                         std::abs(static_cast<double>(best->step) - step))
            best = &p;
    return best;
}

struct Bounds {
    double lo = 1e300, hi = -1e300;
    void add(double value) {
        if (!std::isfinite(value)) return;
        lo = std::min(lo, value);
        hi = std::max(hi, value);
    }
};

/// The y range of the visible points, with a small margin.
Bounds y_bounds(std::span<const PlotLine> lines, const PlotLook& look, const PlotRange& x) {
    Bounds bounds;
    std::vector<double> sums;
    for (const PlotLine& line : lines) {
        const auto points = visible(line.points, x.lo, x.hi);
        sums.resize(std::max(sums.size(), points.size()));
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto value = static_cast<double>(points[i].value);
            if (look.stacked)
                sums[i] += std::isfinite(value) ? value : 0;
            else if (!look.logarithmic || value > 0)
                bounds.add(value);
        }
        for (const auto side : {line.low, line.high})
            for (const CurvePoint& p : visible(side, x.lo, x.hi))
                if (!look.logarithmic || p.value > 0) bounds.add(static_cast<double>(p.value));
    }
    if (look.stacked)
        for (const double sum : sums) bounds.add(sum);
    if (!(bounds.lo <= bounds.hi)) return {look.logarithmic ? 0.1 : 0.0, 1};
    if (look.logarithmic && !look.stacked) {
        const double air = std::max(std::pow(bounds.hi / bounds.lo, 0.06), 1.02);
        return {bounds.lo / air, bounds.hi * air};
    }
    if (look.stacked || look.from_zero) bounds.lo = std::min(0.0, bounds.lo);
    // A single value gets a range around it that fits its labels.
    const double least = bounds.hi > bounds.lo ? 1e-9 : 0.02;
    const double span =
        std::max(bounds.hi - bounds.lo, least * std::max(std::abs(bounds.hi), 1e-30));
    if (!(look.stacked || look.from_zero)) bounds.lo -= 0.06 * span;
    bounds.hi += 0.08 * span;
    return bounds;
}

void draw_axes(const Area& area, const PlotLook& look) {
    const auto y_ticks =
        plot_ticks(area.y_lo, area.y_hi,
                   std::max(2, static_cast<int>(area.height() / (1.9F * em()))), area.logarithmic);
    const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : area.y_hi - area.y_lo;
    float free_below = area.b.y + 2 * em();  // labels go upwards and never touch
    for (const double tick : y_ticks) {
        const float y = std::round(area.y(tick));
        area.list.AddLine({area.a.x, y}, {area.b.x, y}, theme().grid);
        const std::string label =
            tick_label(tick, area.logarithmic ? std::min(y_step, tick) : y_step);
        const ImVec2 size = ImGui::CalcTextSize(label.c_str());
        if (y - size.y / 2 < area.a.y - 0.9F * em() ||
            y + size.y / 2 > std::min(area.b.y + 0.5F * em(), free_below))
            continue;
        area.list.AddText({area.a.x - size.x - 0.35F * em(), y - size.y / 2}, theme().dim,
                          label.c_str());
        free_below = y - size.y / 2;
    }
    const auto x_ticks =
        plot_ticks(area.x_lo, area.x_hi, std::max(2, static_cast<int>(area.width() / (5 * em()))),
                   area.logarithmic_x);
    const double x_step = x_ticks.size() > 1 ? x_ticks[1] - x_ticks[0] : 1;
    float free_from = area.a.x - em();
    const float name_begin = area.b.x - ImGui::CalcTextSize(look.x_name.c_str()).x;
    for (const double tick : x_ticks) {
        const float x = std::round(area.x(tick));
        area.list.AddLine({x, area.a.y}, {x, area.b.y}, theme().grid);
        const std::string label =
            tick_label(tick, area.logarithmic_x ? std::min(x_step, tick) : x_step);
        const float half = ImGui::CalcTextSize(label.c_str()).x / 2;
        if (x - half < free_from || x + half > name_begin - 0.4F * em()) continue;
        area.list.AddText({x - half, area.b.y + 0.15F * em()}, theme().dim, label.c_str());
        free_from = x + half + 0.5F * em();
    }
    area.list.AddText({name_begin, area.b.y + 0.15F * em()}, theme().dim, look.x_name.c_str());
}

void draw_band(const Area& area, const PlotLine& line) {
    const auto low = visible(line.low, area.x_lo, area.x_hi),
               high = visible(line.high, area.x_lo, area.x_hi);
    const ImU32 color = with_alpha(line.color, 50);
    for (std::size_t i = 0; i + 1 < std::min(low.size(), high.size()); ++i) {
        const auto corner = [&](const CurvePoint& p) {
            return ImVec2(area.x(static_cast<double>(p.step)),
                          area.y(static_cast<double>(p.value)));
        };
        area.list.AddQuadFilled(corner(low[i]), corner(low[i + 1]), corner(high[i + 1]),
                                corner(high[i]), color);
    }
}

/// One vertical stroke a pixel column where points are denser than pixels, lines between points
/// where they are not.
void draw_line(const Area& area, const PlotLine& line) {
    const auto points = visible(line.points, area.x_lo, area.x_hi);
    const float thickness = std::max(1.0F, 0.1F * em());
    if (points.size() > 2 * static_cast<std::size_t>(std::max(area.width(), 1.0F))) {
        float column = -1e9F, top = 0, bottom = 0;
        ImVec2 last{};
        for (const CurvePoint& p : points) {
            if (!std::isfinite(p.value)) continue;
            const float x = std::floor(area.x(static_cast<double>(p.step))),
                        y = area.y(static_cast<double>(p.value));
            if (x != column) {
                if (column > -1e8F) {
                    area.list.AddLine({column, top}, {column, bottom + 1}, line.color, thickness);
                    area.list.AddLine(last, {x, y}, line.color, thickness);
                }
                column = x;
                top = bottom = y;
            }
            top = std::min(top, y);
            bottom = std::max(bottom, y);
            last = {x, y};
        }
        return;
    }
    bool have = false;
    ImVec2 last{};
    for (const CurvePoint& p : points) {
        const bool drawable = std::isfinite(p.value) && (!area.logarithmic || p.value > 0);
        const ImVec2 here{area.x(static_cast<double>(p.step)),
                          drawable ? area.y(static_cast<double>(p.value)) : 0};
        if (drawable && have) area.list.AddLine(last, here, line.color, thickness);
        if (drawable && (line.dots || points.size() == 1))
            area.list.AddCircleFilled(here, 0.18F * em(), line.color);
        have = drawable;
        last = here;
    }
}

void draw_stack(const Area& area, std::span<const PlotLine> lines) {
    std::vector<double> sums;
    for (const PlotLine& line : lines) {
        const auto points = visible(line.points, area.x_lo, area.x_hi);
        sums.resize(std::max(sums.size(), points.size()));
        const float slot =
            points.size() > 1 ? area.width() / static_cast<float>(points.size()) : area.width();
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto value = static_cast<double>(points[i].value);
            if (!(value > 0) || !std::isfinite(value)) continue;
            const float x = area.x(static_cast<double>(points[i].step));
            const float next = i + 1 < points.size()
                                   ? area.x(static_cast<double>(points[i + 1].step))
                                   : x + std::min(slot, 2 * em());
            const float y0 = std::round(area.y(sums[i])), y1 = std::round(area.y(sums[i] + value));
            sums[i] += value;
            area.list.AddRectFilled(
                {x, y1}, {std::max(next - (next - x > 4 ? 1.0F : 0.0F), x + 1), y0}, line.color);
        }
    }
}

void draw_marks(const Area& area, std::span<const CurveMark> marks, bool hovered) {
    std::vector<const CurveMark*> under;
    for (const CurveMark& mark : marks) {
        const double at = mark.x >= 0 ? mark.x : static_cast<double>(mark.step);
        if (at < area.x_lo || at > area.x_hi) continue;
        const float x = area.x(at);
        const ImU32 color = mark.alarm ? theme().error : theme().warning;
        area.list.AddLine({x, area.a.y}, {x, area.b.y}, with_alpha(color, 120));
        area.list.AddTriangleFilled({x - 0.25F * em(), area.a.y}, {x + 0.25F * em(), area.a.y},
                                    {x, area.a.y + 0.4F * em()}, color);
        if (hovered && std::abs(ImGui::GetMousePos().x - x) < 0.35F * em()) under.push_back(&mark);
    }
    if (under.empty()) return;
    ImGui::BeginTooltip();
    const CurveMark* before = nullptr;
    for (const CurveMark* mark : under) {
        if (!before || before->step != mark->step)
            colored_text(theme().warning, "step " + format_count(static_cast<double>(mark->step)));
        text(mark->text);
        before = mark;
    }
    ImGui::EndTooltip();
}

/// " (step 1,000)" for a value of another step than the one pointed at.
std::string step_of(const CurvePoint& point, const PlotLook& look, const PlotRange& x) {
    constexpr double kNear = 0.01;  // of the range: pointed at, as far as a hand can
    const auto step = static_cast<double>(point.step);
    if (look.x_name != "step" || std::abs(step - x.hover) <= kNear * (x.hi - x.lo)) return {};
    return " (step " + format_count(step) + ")";
}

void draw_hover(const Area& area, std::span<const PlotLine> lines, const PlotLook& look,
                const PlotRange& x, bool hovered) {
    if (!(x.hover >= area.x_lo && x.hover <= area.x_hi)) return;
    const float at = area.x(x.hover);
    area.list.AddLine({at, area.a.y}, {at, area.b.y}, with_alpha(theme().text, 90));
    if (hovered) ImGui::BeginTooltip();
    if (hovered)
        dim_text(look.x_name == "step" ? "step " + format_count(std::round(x.hover))
                                       : format_number(x.hover, 4) + " " + look.x_name);
    double total = 0;
    for (const PlotLine& line : lines) {
        const CurvePoint* point = nearest(line.points, x.hover);
        if (!point || !std::isfinite(point->value)) continue;
        const auto value = static_cast<double>(point->value);
        total += value;
        if (!look.stacked) {
            const ImVec2 dot{area.x(static_cast<double>(point->step)), area.y(value)};
            if (dot.x >= area.a.x && dot.x <= area.b.x)
                area.list.AddCircleFilled(dot, 0.22F * em(), line.color);
        }
        if (!hovered || (look.stacked && value == 0)) continue;
        colored_text(mix(line.color, theme().text, 0.35F), line.name);
        ImGui::SameLine();
        text(format_number(value, 5) + (look.unit.empty() ? "" : " " + look.unit) +
             step_of(*point, look, x));
    }
    if (hovered && look.stacked) text("sum " + format_number(total, 5) + " " + look.unit);
    if (hovered) ImGui::EndTooltip();
}

void draw_legend(const Area& area, std::span<const PlotLine> lines, const PlotLook& look) {
    const float top = area.a.y - 1.35F * em();
    const std::string title = look.title + (look.unit.empty() ? "" : " (" + look.unit + ")");
    area.list.AddText({area.a.x, top}, theme().text, title.c_str());
    float x = area.a.x + ImGui::CalcTextSize(title.c_str()).x + em();
    if (!look.legend) return;
    for (const PlotLine& line : lines) {
        const float width = ImGui::CalcTextSize(line.name.c_str()).x;
        if (x + width + em() > area.b.x) break;
        area.list.AddRectFilled({x, top + 0.3F * em()}, {x + 0.6F * em(), top + 0.8F * em()},
                                line.color, 2);
        area.list.AddText({x + 0.8F * em(), top}, theme().dim, line.name.c_str());
        x += width + 1.8F * em();
    }
}

void zoom_and_pan(const Area& area, PlotRange& x, bool hovered, bool active) {
    const ImGuiIO& io = ImGui::GetIO();
    const double share =
        static_cast<double>((io.MousePos.x - area.a.x) / std::max(area.width(), 1.0F));
    const double first = area.along(area.x_lo), last = area.along(area.x_hi);
    const auto show = [&](double lo, double hi) {
        x.lo = area.value_at(lo);
        x.hi = area.value_at(hi);
        x.fit = false;
    };
    if (hovered) x.next_hover = area.value_at(first + std::clamp(share, 0.0, 1.0) * (last - first));
    if (hovered && io.MouseWheel != 0) {
        const double factor = std::pow(0.8, static_cast<double>(io.MouseWheel)),
                     centre = first + share * (last - first);
        const double lo = centre + (first - centre) * factor,
                     hi = centre + (last - centre) * factor;
        if (hi - lo > 1e-3 && hi - lo < 1e12) show(lo, hi);
    }
    if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2)) {
        const double by =
            -static_cast<double>(io.MouseDelta.x / std::max(area.width(), 1.0F)) * (last - first);
        show(first + by, last + by);
    }
    if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) x.fit = true;
}

}  // namespace

void PlotRange::begin(double first, double last) {
    hover = next_hover;
    next_hover = std::numeric_limits<double>::quiet_NaN();
    if (!fit) return;
    lo = std::isfinite(first) ? first : 0;
    hi = std::isfinite(last) && last > lo ? last : lo + 1;
}

void plot(const char* id, std::span<const PlotLine> lines, const PlotLook& look, PlotRange& x) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const ImVec2 size{std::max(look.width > 0 ? look.width : room.x, 8 * em()),
                      std::max(look.height > 0 ? look.height : room.y, 4.5F * em())};
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton(id, size);
    if (!ImGui::IsItemVisible()) return;
    const bool hovered = ImGui::IsItemHovered(), active = ImGui::IsItemActive();
    PlotLook used = look;
    const Bounds y = y_bounds(lines, look, x);
    used.logarithmic = look.logarithmic && !look.stacked && y.lo > 0;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    // The logarithm begins at the first step.
    const double x_lo = look.logarithmic_x ? std::max(x.lo, 1.0) : x.lo;
    const Area area{{corner.x + 3.4F * em(), corner.y + 1.5F * em()},
                    {corner.x + size.x - 0.4F * em(), corner.y + size.y - 1.35F * em()},
                    x_lo,
                    x.hi > x_lo ? x.hi : x_lo + 1,
                    y.lo,
                    y.hi,
                    used.logarithmic,
                    look.logarithmic_x,
                    list};
    draw_axes(area, used);
    list.PushClipRect(area.a, area.b, true);
    if (look.stacked) {
        draw_stack(area, lines);
    } else {
        for (const PlotLine& line : lines) draw_band(area, line);
        for (const PlotLine& line : lines) draw_line(area, line);
    }
    draw_marks(area, look.marks, hovered);
    list.PopClipRect();
    draw_hover(area, lines, used, x, hovered);
    draw_legend(area, lines, used);
    zoom_and_pan(area, x, hovered, active);
}

void histogram(const char* id, const Histogram& data, ImU32 color, float height, const char* what) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 size{std::max(ImGui::GetContentRegionAvail().x, 4 * em()), height};
    ImGui::InvisibleButton(id, size);
    if (!ImGui::IsItemVisible()) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float floor = corner.y + size.y - 1.2F * em(), top = corner.y + 1.2F * em();
    float most = 0;
    double sum = 0;
    for (const float count : data.counts) {
        if (!std::isfinite(count)) continue;
        most = std::max(most, count);
        sum += static_cast<double>(count);
    }
    const std::string title = data.name + (data.unit.empty() ? "" : " (" + data.unit + ")") +
                              (data.logarithmic ? ", log" : "");
    list.AddText(corner, theme().dim, title.c_str());
    list.AddLine({corner.x, floor}, {corner.x + size.x, floor}, theme().faint);
    const auto bins = static_cast<double>(data.counts.size());
    const float slot =
        data.counts.empty() ? size.x : size.x / static_cast<float>(data.counts.size());
    for (std::size_t i = 0; i < data.counts.size() && most > 0; ++i) {
        const float left = corner.x + static_cast<float>(i) * slot;
        const float bar = std::isfinite(data.counts[i])
                              ? (floor - top) * std::sqrt(std::max(data.counts[i], 0.0F) / most)
                              : 0;
        const bool under = ImGui::IsItemHovered() && ImGui::GetMousePos().x >= left &&
                           ImGui::GetMousePos().x < left + slot;
        list.AddRectFilled({left, floor - bar}, {std::max(left + slot - 1, left + 1), floor},
                           under ? theme().text : color);
        if (!under) continue;
        const double from = colormap_value(static_cast<double>(i) / bins, data.lo, data.hi,
                                           data.logarithmic),
                     to = colormap_value(static_cast<double>(i + 1) / bins, data.lo, data.hi,
                                         data.logarithmic);
        ImGui::SetTooltip(
            "%s to %s %s\n%s %s (%s)", format_number(from, 3).c_str(), format_number(to, 3).c_str(),
            data.unit.c_str(), format_count(static_cast<double>(data.counts[i])).c_str(), what,
            format_share(static_cast<double>(data.counts[i]) / std::max(sum, 1.0)).c_str());
    }
    const std::string left = format_number(data.lo, 3), right = format_number(data.hi, 3);
    list.AddText({corner.x, floor + 1}, theme().dim, left.c_str());
    list.AddText({corner.x + size.x - ImGui::CalcTextSize(right.c_str()).x, floor + 1}, theme().dim,
                 right.c_str());
}

}  // namespace gs
