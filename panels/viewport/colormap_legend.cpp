#include "panels/viewport/colormap_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/format.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/theme.h"
#include "renderer/maps/colormap.h"

namespace gs {

namespace {

constexpr float kBar = 0.9F, kPad = 0.5F;  // em

struct Ticks {
    std::vector<double> values;
    std::vector<std::string> labels;
};
Ticks ticks_of(float height, double lo, double hi, bool logarithmic) {
    const double first = logarithmic ? colormap_value(0, lo, hi, true) : lo;
    Ticks out{.values = plot_ticks(first, hi, std::max(2, static_cast<int>(height / (2.6F * em()))),
                                   logarithmic && first > 0)};
    const double step = out.values.size() > 1 ? out.values[1] - out.values[0] : hi - lo;
    for (const double tick : out.values)
        out.labels.push_back(tick_label(tick, logarithmic ? std::min(step, tick) : step));
    return out;
}
float width_of(const Ticks& ticks, std::string_view unit) {
    float widest = ImGui::CalcTextSize("0.00").x;
    for (const std::string& label : ticks.labels)
        widest = std::max(widest, ImGui::CalcTextSize(label.c_str()).x);
    const float unit_width = ImGui::CalcTextSize(unit.data(), unit.data() + unit.size()).x;
    return std::max((kBar + 0.6F) * em() + widest, unit_width) + 2 * kPad * em();
}
bool has_range(double lo, double hi) { return std::isfinite(lo) && std::isfinite(hi) && hi > lo; }

}  // namespace

float colormap_legend_width(float height, double lo, double hi, bool logarithmic,
                            std::string_view unit) {
    return has_range(lo, hi) ? width_of(ticks_of(height, lo, hi, logarithmic), unit) : 0;
}

void draw_colormap_legend(ImDrawList& list, ImVec2 corner, float height, Colormap map, double lo,
                          double hi, bool logarithmic, std::string_view unit, double mark) {
    if (!has_range(lo, hi)) return;
    const Ticks ticks = ticks_of(height, lo, hi, logarithmic);
    const float bar = kBar * em(), pad = kPad * em(), width = width_of(ticks, unit);
    const float left = corner.x - width;
    list.AddRectFilled({left, corner.y}, {corner.x, corner.y + height},
                       with_alpha(theme().window, 215), 4);
    list.AddText({left + pad, corner.y + 0.3F * em()}, theme().dim, unit.data(),
                 unit.data() + unit.size());
    const float top = corner.y + 2.0F * em(), bottom = corner.y + height - 0.9F * em();
    const int steps = std::max(2, static_cast<int>(bottom - top));
    for (int i = 0; i < steps; ++i) {
        const Rgb8 c = colormap_color(map, 1 - static_cast<double>(i) / (steps - 1));
        list.AddRectFilled({left + pad, top + static_cast<float>(i)},
                           {left + pad + bar, top + static_cast<float>(i) + 1},
                           IM_COL32(c.r, c.g, c.b, 255));
    }
    const auto y_of = [&](double value) {
        return bottom - static_cast<float>(
                            std::clamp(colormap_position(value, lo, hi, logarithmic), 0.0, 1.0)) *
                            (bottom - top);
    };
    for (std::size_t i = 0; i < ticks.values.size(); ++i) {
        const float y = std::round(y_of(ticks.values[i]));
        list.AddLine({left + pad + bar, y}, {left + pad + bar + 0.25F * em(), y}, theme().dim,
                     hairline());
        list.AddText({left + pad + bar + 0.4F * em(), y - 0.5F * em()}, theme().text,
                     ticks.labels[i].c_str());
    }
    if (std::isnan(mark)) return;
    const float y = y_of(mark);
    list.AddTriangleFilled({left + pad - 0.4F * em(), y - 0.3F * em()},
                           {left + pad - 0.4F * em(), y + 0.3F * em()},
                           {left + pad + 0.1F * em(), y}, IM_COL32_WHITE);
    list.AddLine({left + pad, y}, {left + pad + bar, y}, IM_COL32_WHITE, hairline());
}

ImVec2 draw_level_legend(ImDrawList& list, ImVec2 corner, const LevelsState& levels) {
    std::vector<std::string> rows;
    float widest = ImGui::CalcTextSize("Gaussians").x;
    for (std::size_t i = 0; i < levels.levels.size(); ++i) {
        rows.push_back(fmt::format("level {}{}: {}", i, i == 0 ? ", finest" : "",
                                   format_short(static_cast<double>(levels.levels[i].drawn))));
        widest = std::max(widest, ImGui::CalcTextSize(rows.back().c_str()).x);
    }
    const float row = 1.3F * em(), pad = kPad * em();
    const ImVec2 size{widest + 1.3F * em() + 2 * pad,
                      row * static_cast<float>(rows.size() + 1) + 2 * pad};
    list.AddRectFilled({corner.x - size.x, corner.y}, {corner.x, corner.y + size.y},
                       with_alpha(theme().window, 215), 4);
    ImVec2 at{corner.x - size.x + pad, corner.y + pad};
    list.AddText(at, theme().dim, "Gaussians");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        at.y += row;
        const Rgb8 c = color_of_level(i);
        list.AddRectFilled({at.x, at.y + 0.1F * em()}, {at.x + 0.9F * em(), at.y + em()},
                           IM_COL32(c.r, c.g, c.b, 255));
        list.AddText({at.x + 1.3F * em(), at.y},
                     levels.levels[i].drawn > 0 ? theme().text : theme().faint, rows[i].c_str());
    }
    return size;
}

}  // namespace gs
