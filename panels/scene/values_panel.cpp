#include "panels/scene/values_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/widgets.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {

constexpr float kHistogramHeight = 8;  // em
constexpr double kLeastBrush = 0.01;   // of the width: less was a click
constexpr double kAtEdge = 0.005;      // of the width

/// The colours under the histogram, with values outside the range darkened.
void shade_range(const GaussianValues& values, const ColorBy& by, ImVec2 a, ImVec2 b) {
    const Histogram& data = values.histogram;
    const auto place = [&](double value) {
        const double t = colormap_position(value, data.lo, data.hi, data.logarithmic);
        return a.x + static_cast<float>(std::clamp(t, 0.0, 1.0)) * (b.x - a.x);
    };
    const float left = place(values.lo), right = std::max(place(values.hi), left + 1);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float floor = b.y - 1.2F * em(), top = a.y + 1.2F * em();
    const ImU32 dark = IM_COL32(0, 0, 0, 120);
    if (left > a.x) list.AddRectFilled({a.x, top}, {left, floor}, dark);
    if (right < b.x) list.AddRectFilled({right, top}, {b.x, floor}, dark);
    constexpr int kSteps = 64;
    for (int i = 0; i < kSteps; ++i) {
        const Rgb8 c = colormap_color(by.map, (i + 0.5) / kSteps);
        const float width = (right - left) / kSteps;
        list.AddRectFilled({left + static_cast<float>(i) * width, top},
                           {left + static_cast<float>(i + 1) * width, top + 0.3F * em()},
                           IM_COL32(c.r, c.g, c.b, 255));
    }
}

std::string range_words(const GaussianValues& values, const ColorBy& by) {
    const std::string unit = values.histogram.unit.empty() ? "" : " " + values.histogram.unit;
    return fmt::format("{} to {}{}{}", format_number(values.lo, 4), format_number(values.hi, 4),
                       unit, by.automatic ? ", from the values" : "");
}

}  // namespace

void ValuesPanel::brush(const GaussianValues& values, const ColorBy& by, Commands& commands) {
    const Histogram& data = values.histogram;
    histogram("##values", data, color_rgb(0x3f7fc0), kHistogramHeight * em());
    const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0))
        commands.push("color.range", {"auto"});
    const double at = std::clamp(
        static_cast<double>((ImGui::GetMousePos().x - a.x) / std::max(b.x - a.x, 1.0F)), 0.0, 1.0);
    if (ImGui::IsItemActivated()) from_ = at;
    const bool moved = ImGui::GetIO().MouseDelta.x != 0;
    if (ImGui::IsItemActive() && moved && std::abs(at - from_) > kLeastBrush) {
        // The histogram leaves the outermost values out; its edges mean them. A float's digits, so
        // that the very value lies within.
        const auto value = [&](double t) {
            const double v = t < kAtEdge ? values.least
                             : t > 1 - kAtEdge
                                 ? values.most
                                 : colormap_value(t, data.lo, data.hi, data.logarithmic);
            return fmt::format("{:.9g}", v);
        };
        commands.push("color.range", {value(std::min(at, from_)), value(std::max(at, from_))});
    }
    shade_range(values, by, a, b);
}

void ValuesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    const ColorBy& by = snapshot.view.color_by;
    if (!snapshot.scene) return empty_note("Open a scene to colour its Gaussians");
    ImGui::AlignTextToFramePadding();
    dim_text("colour by");
    ImGui::SameLine();
    choice_command(commands, "##by", "color.by", kGaussianValueNames,
                   static_cast<std::size_t>(by.value), 10,
                   "Colour Gaussians by this value instead of their own colours");
    if (by.value == GaussianValue::none) {
        wrapped_text(
            theme().dim,
            "Gaussians have their own colours. Choose a value to see where it is large, and "
            "drag over its histogram to see only a part.");
        return;
    }
    choice_command(commands, "##map", "color.map", kColormapNames, static_cast<std::size_t>(by.map),
                   7, "Colormap of the values");
    ImGui::SameLine();
    toggle_command(commands, "Filter", "color.filter", by.filter,
                   "Draw only the Gaussians with a value in the range");
    const GaussianValues* values = snapshot.values.get();
    if (!values || values->value != by.value) return dim_text("computing the values");
    ImGui::PushTextWrapPos(0);
    if (!values->problem.empty()) {
        colored_text(theme().warning, values->problem);
        ImGui::PopTextWrapPos();
        return;
    }
    brush(*values, by, commands);
    text(range_words(*values, by));
    if (!by.automatic) {
        ImGui::SameLine();
        if (ImGui::SmallButton("Auto")) commands.push("color.range", {"auto"});
        tooltip("Fit the range to the values again (double click the histogram)");
    }
    dim_text(fmt::format(
        "{} of {} Gaussians within{}", format_count(static_cast<double>(values->within)),
        format_count(static_cast<double>(values->rows)),
        values->finite < values->rows
            ? fmt::format(", {} have no value",
                          format_count(static_cast<double>(values->rows - values->finite)))
            : std::string()));
    if (!values->note.empty()) dim_text(values->note);
    ImGui::PopTextWrapPos();
}

}  // namespace gs
