#include "panels/scene/heat_strip.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/nth.h"
#include "panels/scene/photo_rows.h"
#include "panels/widgets/widgets.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {

constexpr double kOutside = 0.02;  // of the values lie outside of the colours at each end

const std::vector<CurvePoint>& history_of(const CameraRow& row, bool loss) {
    return loss ? row.loss_history : row.psnr_history;
}
std::string words_of_value(double value, bool loss) {
    return loss ? "loss " + format_number(value, 4) : format_db(value);
}
/// Bright is good.
ImU32 heat_color(double value, double lo, double hi, bool loss) {
    const double t = colormap_position(value, lo, hi, false);
    const Rgb8 c = colormap_color(Colormap::viridis, loss ? 1 - t : t);
    return IM_COL32(c.r, c.g, c.b, 255);
}
float name_width() { return std::min(14 * em(), 0.3F * ImGui::GetContentRegionAvail().x); }

/// The legend of the colours, from worst to best.
void draw_heat_scale(double lo, double hi, bool loss) {
    dim_text(words_of_value(loss ? hi : lo, loss));
    ImGui::SameLine();
    const ImVec2 at = ImGui::GetCursorScreenPos(), size{8 * em(), 0.9F * em()};
    ImGui::Dummy(size);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    constexpr int kSteps = 32;
    for (int i = 0; i < kSteps; ++i) {
        const Rgb8 c = colormap_color(Colormap::viridis, (i + 0.5) / kSteps);
        const auto x = [&](int k) { return at.x + size.x * static_cast<float>(k) / kSteps; };
        list.AddRectFilled({x(i), at.y + 2}, {x(i + 1), at.y + size.y},
                           IM_COL32(c.r, c.g, c.b, 255));
    }
    ImGui::SameLine();
    dim_text(words_of_value(loss ? lo : hi, loss));
}

}  // namespace

std::vector<float> values_over_time(const std::vector<CurvePoint>& points, double first,
                                    double last, int columns) {
    std::vector<float> out(static_cast<std::size_t>(std::max(columns, 0)),
                           std::numeric_limits<float>::quiet_NaN());
    std::size_t next = 0;
    float now = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double end =
            first + (last - first) * static_cast<double>(i + 1) / static_cast<double>(out.size());
        for (; next < points.size() && static_cast<double>(points[next].step) <= end; ++next)
            if (std::isfinite(points[next].value)) now = points[next].value;
        out[i] = now;
    }
    return out;
}

void HeatStrip::take_range(const Snapshot& snapshot) {
    const bool loss = snapshot.problems_settings.loss;
    if (ranged_ == snapshot.cameras && ranged_loss_ == loss) return;
    ranged_ = snapshot.cameras;
    ranged_loss_ = loss;
    std::vector<float> values;
    first_ = std::numeric_limits<double>::infinity(), last_ = -first_;
    for (const CameraRow& row : *snapshot.cameras)
        for (const CurvePoint& p : history_of(row, loss)) {
            if (!std::isfinite(p.value) || !std::isfinite(p.step)) continue;
            values.push_back(p.value);
            first_ = std::min(first_, static_cast<double>(p.step));
            last_ = std::max(last_, static_cast<double>(p.step));
        }
    any_ = !values.empty();
    if (!any_) return;
    last_ = std::max(last_, first_ + 1);
    const auto at = [&](double share) {
        const auto i = std::lround(share * static_cast<double>(values.size() - 1));
        return static_cast<double>(nth_of(values, static_cast<std::size_t>(i)));
    };
    lo_ = at(kOutside), hi_ = at(1 - kOutside);
    if (!(hi_ > lo_)) hi_ = lo_ + 1e-6 + 1e-6 * std::abs(lo_);
}

void HeatStrip::draw_row(const CameraRow& row, const Snapshot& snapshot, Commands& commands) {
    ImGui::PushID(static_cast<int>(row.view));
    const bool loss = snapshot.problems_settings.loss;
    const ImVec2 at = ImGui::GetCursorScreenPos(),
                 size{ImGui::GetContentRegionAvail().x, ImGui::GetTextLineHeight()};
    if (ImGui::InvisibleButton("##row", {std::max(size.x, 1.0F), size.y}))
        commands.push("view.capture", {std::to_string(row.view)});
    const bool pointed = ImGui::IsItemHovered() || ImGui::IsItemFocused();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float names = name_width(), left = at.x + names;
    const int columns = std::max(1, static_cast<int>((size.x - names) / (0.5F * em())));
    const auto values = values_over_time(history_of(row, loss), first_, last_, columns);
    const float wide = std::max(0.0F, size.x - names) / static_cast<float>(columns);
    for (int i = 0; i < columns; ++i) {
        const auto value = static_cast<double>(values[static_cast<std::size_t>(i)]);
        const float x = left + wide * static_cast<float>(i);
        list.AddRectFilled(
            {x, at.y}, {x + wide, at.y + size.y - 1},
            std::isfinite(value) ? heat_color(value, lo_, hi_, loss) : theme().field);
    }
    const bool here = static_cast<int>(row.view) == snapshot.view.capture_view;
    const std::string name = fitted_path(row.name, names - 0.8F * em());
    list.AddText(at,
                 row.test ? theme().test_camera
                 : here   ? theme().text
                          : theme().dim,
                 name.c_str());
    if (here || pointed)
        list.AddRect(at, {at.x + size.x, at.y + size.y}, here ? theme().accent : theme().dim, 0, 0,
                     hairline());
    if (ImGui::IsItemHovered()) {
        const float mouse = (ImGui::GetIO().MousePos.x - left) / std::max(wide, 1e-3F);
        const int i = std::clamp(static_cast<int>(std::floor(mouse)), 0, columns - 1);
        const auto value = static_cast<double>(values[static_cast<std::size_t>(i)]);
        const double step = first_ + (last_ - first_) * (i + 1) / columns;
        ImGui::SetTooltip(
            "%s (%s)\n%s at step %s\nclick to go there", row.name.c_str(),
            row.test ? "test" : "train",
            std::isfinite(value) ? words_of_value(value, loss).c_str() : "not measured yet",
            format_count(std::round(step)).c_str());
    }
    ImGui::PopID();
}

void HeatStrip::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty())
        return empty_note(snapshot.scene ? "This scene has no photos"
                                         : "Open a scene with photos to see their errors here");
    take_range(snapshot);
    const ProblemsSettings& now = snapshot.problems_settings;
    constexpr std::array<const char*, 2> kOf{"psnr", "loss"};
    choice_command(commands, "##of", "problems.history", kOf, now.loss ? 1 : 0, 4,
                   "Colour by this value");
    ImGui::SameLine();
    order_choice(commands, "problems.sort", now.key, now.descending);
    if (!any_)
        return empty_note(
            "No photos evaluated yet. They are evaluated during training, or run train.evaluate.");
    ImGui::SameLine();
    draw_heat_scale(lo_, hi_, now.loss);
    ImGui::SameLine();
    dim_text(fmt::format("steps {} to {}", format_count(first_), format_count(last_)));
    const auto rows = sorted_rows(*snapshot.cameras, "", false, now.key, now.descending);
    if (ImGui::BeginChild("##strips", {0, 0}, false, ImGuiWindowFlags_NavFlattened)) {
        ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
        ImGuiListClipper clipper;
        clipper.Begin(static_cast<int>(rows.size()), ImGui::GetTextLineHeight());
        while (clipper.Step())
            for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
                draw_row(*rows[static_cast<std::size_t>(i)], snapshot, commands);
        ImGui::PopStyleVar();
    }
    ImGui::EndChild();
}

}  // namespace gs
