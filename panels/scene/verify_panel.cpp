#include "panels/scene/verify_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/format.h"
#include "panels/state/verify_report.h"
#include "panels/widgets/activity.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

/// The place of the worst difference; click a Gaussian to look at it.
void draw_where(const ComparisonRow& row, Commands& commands) {
    constexpr std::string_view kGaussian = "Gaussian ";
    if (!row.where.starts_with(kGaussian)) return dim_text(row.where);
    const std::string number = row.where.substr(kGaussian.size());
    ImGui::PushID(&row);
    if (ImGui::SmallButton(("#" + number).c_str())) commands.push("view.gaussian", {number});
    tooltip("Look at Gaussian " + number);
    ImGui::PopID();
}

void draw_figure(const ComparisonRow& row, Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text("  " + row.what);
    tooltip(fmt::format("{} numbers compared", format_count(static_cast<double>(row.values))));
    ImGui::TableNextColumn();
    cell_right(fmt::format("{:.2g}", row.figure()), row.passed() ? theme().text : theme().error);
    const std::string unit = row.unit.empty() ? "" : " " + row.unit;
    if (ImGui::IsItemHovered())
        tooltip(fmt::format("mean {:.2g}{}; up to {:.1g}{} is rounding", row.mean(), unit,
                            row.limit, unit));
    ImGui::TableNextColumn();
    draw_where(row, commands);
}

void draw_table(const VerifyReport& report, Commands& commands) {
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings;
    if (!ImGui::BeginTable("##verify", 3, kFlags)) return;
    ImGui::TableSetupColumn("of", ImGuiTableColumnFlags_WidthStretch, 1.5F);
    ImGui::TableSetupColumn("worst", ImGuiTableColumnFlags_WidthStretch, 0.8F);
    ImGui::TableSetupColumn("at", ImGuiTableColumnFlags_WidthStretch, 1.3F);
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    table_heading("of", false);
    table_heading("worst", true);
    table_heading("at", false);
    std::string_view before;
    for (const ComparisonRow& row : report.rows) {
        if (row.stage != before) {
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            dim_text(row.stage);
        }
        draw_figure(row, commands);
        before = row.stage;
    }
    ImGui::EndTable();
}

void draw_report(const VerifyReport& report, Commands& commands) {
    const auto failed = std::count_if(report.rows.begin(), report.rows.end(),
                                      [](const ComparisonRow& row) { return !row.passed(); });
    colored_text(failed == 0 ? theme().good : theme().error,
                 failed == 0 ? "Agrees with the reference"
                             : fmt::format("{} of {} figures differ", failed, report.rows.size()));
    const auto count = [](std::uint64_t n) { return format_count(static_cast<double>(n)); };
    ImGui::PushTextWrapPos(0);
    dim_text(fmt::format("{}{}, {} Gaussians; pixels {},{} to {},{} of {} x {}", report.scene,
                         report.step > 0 ? " at step " + count(report.step) : "",
                         count(report.gaussians), report.x0, report.y0, report.x1, report.y1,
                         report.width, report.height));
    dim_text(
        fmt::format("{} of {} pixels are ignored, as rounding may flip a decision there; {:.1f} s",
                    count(report.fragile), count(report.pixels + report.fragile), report.seconds));
    ImGui::PopTextWrapPos();
    draw_table(report, commands);
    ImGui::PushTextWrapPos(0);
    dim_text(
        fmt::format("Over the picture: white pixels differ by {:.1g} or more, blue ones are "
                    "ignored",
                    report.range));
    if (!report.note.empty()) dim_text(report.note);
    ImGui::PopTextWrapPos();
}

}  // namespace

void VerifyPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.nothing_open()) return empty_note("Open a scene to verify its picture");
    const Activity* busy = find_activity(snapshot, "verify");
    ImGui::BeginDisabled(busy != nullptr);
    if (ImGui::Button("Verify")) commands.push("verify.frame");
    ImGui::EndDisabled();
    tooltip("Render the current view with the double-precision reference as well");
    ImGui::SameLine();
    if (busy) {
        if (ImGui::Button("Cancel")) commands.push("cancel", {"verify"});
        ImGui::ProgressBar(static_cast<float>(std::clamp(busy->share, 0.0, 1.0)), {-1, 0});
        return;
    }
    ImGui::BeginDisabled(!snapshot.verified);
    if (ImGui::Button("Clear")) commands.push("verify.clear");
    ImGui::EndDisabled();
    if (snapshot.verified) return draw_report(*snapshot.verified, commands);
    wrapped_text(theme().dim,
                 "Compare every stage of the frame with a slow double-precision rasterizer, also "
                 "while training.");
}

}  // namespace gs
