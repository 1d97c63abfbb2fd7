#include "panels/viewport/colormap_legend.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "panels/widgets/plot.h"
#include "panels/widgets/theme.h"
#include "renderer/maps/colormap.h"

namespace gs {

void draw_colormap_legend(ImDrawList& list, ImVec2 corner, float height, Colormap map, double lo,
                          double hi, bool logarithmic, std::string_view unit, double mark) {
    if (!std::isfinite(lo) || !std::isfinite(hi) || !(hi > lo)) return;
    const double first = logarithmic ? colormap_value(0, lo, hi, true) : lo;
    const auto ticks = plot_ticks(first, hi, std::max(2, static_cast<int>(height / (2.6F * em()))),
                                  logarithmic && first > 0);
    const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : hi - lo;
    float widest = ImGui::CalcTextSize("0.00").x;
    for (const double tick : ticks)
        widest = std::max(
            widest,
            ImGui::CalcTextSize(tick_label(tick, logarithmic ? std::min(step, tick) : step).c_str())
                .x);
    const ImVec2 unit_size = ImGui::CalcTextSize(unit.data(), unit.data() + unit.size());
    const float bar = 0.9F * em(), pad = 0.5F * em();
    const float width = std::max(bar + widest + 0.6F * em(), unit_size.x) + 2 * pad;
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
    for (const double tick : ticks) {
        const float y = std::round(y_of(tick));
        const std::string label = tick_label(tick, logarithmic ? std::min(step, tick) : step);
        list.AddLine({left + pad + bar, y}, {left + pad + bar + 0.25F * em(), y}, theme().dim);
        list.AddText({left + pad + bar + 0.4F * em(), y - 0.5F * em()}, theme().text,
                     label.c_str());
    }
    if (std::isnan(mark)) return;
    const float y = y_of(mark);
    list.AddTriangleFilled({left + pad - 0.4F * em(), y - 0.3F * em()},
                           {left + pad - 0.4F * em(), y + 0.3F * em()},
                           {left + pad + 0.1F * em(), y}, IM_COL32_WHITE);
    list.AddLine({left + pad, y}, {left + pad + bar, y}, IM_COL32_WHITE);
}

}  // namespace gs
