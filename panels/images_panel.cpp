#include "panels/images_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

enum Column { kName, kSplit, kPsnr, kSsim, kLoss, kUsed, kStep, kHistory, kColumns };
// PhotoKey has the same order.
static_assert(static_cast<int>(PhotoKey::name) == kName &&
              static_cast<int>(PhotoKey::step) == kStep);

void sparkline(const std::vector<CurvePoint>& points, ImU32 color) {
    const ImVec2 at = ImGui::GetCursorScreenPos(),
                 size{ImGui::GetContentRegionAvail().x, 1.05F * em()};
    ImGui::Dummy({std::max(size.x, 1.0F), size.y});
    float lo = 1e30F, hi = -1e30F;
    for (const CurvePoint& p : points)
        if (std::isfinite(p.value)) lo = std::min(lo, p.value), hi = std::max(hi, p.value);
    if (points.empty() || lo > hi) return;
    const float first = points.front().step, span = std::max(points.back().step - first, 1e-6F),
                range = std::max(hi - lo, 1e-6F);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImVec2 last{};
    bool have = false;
    for (const CurvePoint& p : points) {
        if (!std::isfinite(p.value)) continue;
        const ImVec2 here{at.x + (p.step - first) / span * (size.x - 4),
                          at.y + size.y - 2 - (p.value - lo) / range * (size.y - 4)};
        if (have) list.AddLine(last, here, color);
        last = here;
        have = true;
    }
    if (have) list.AddCircleFilled(last, 2, color);
    if (ImGui::IsItemHovered())
        ImGui::SetTooltip("PSNR %s to %s dB over steps %s to %s",
                          format_number(static_cast<double>(lo), 4).c_str(),
                          format_number(static_cast<double>(hi), 4).c_str(),
                          format_count(static_cast<double>(first)).c_str(),
                          format_count(static_cast<double>(points.back().step)).c_str());
}

void set_up_columns() {
    constexpr ImGuiTableColumnFlags fixed = ImGuiTableColumnFlags_WidthFixed;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn(
        "photo", ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_DefaultSort, 1.4F);
    ImGui::TableSetupColumn("split", fixed, 3 * em());
    ImGui::TableSetupColumn("PSNR dB", fixed, 4.6F * em());
    ImGui::TableSetupColumn("SSIM", fixed, 4 * em());
    ImGui::TableSetupColumn("loss", fixed, 4.4F * em());
    ImGui::TableSetupColumn("used", fixed, 3.4F * em());
    ImGui::TableSetupColumn("at step", fixed, 4.2F * em());
    ImGui::TableSetupColumn("PSNR history",
                            ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_NoSort, 1);
    ImGui::TableHeadersRow();
}

}  // namespace

std::string images_csv(const std::vector<CameraRow>& rows) {
    std::string out = "name,split,psnr_db,ssim,loss,times_sampled,measured_step\n";
    for (const CameraRow& row : rows)
        out +=
            fmt::format("{},{},{},{},{},{},{}\n", csv_cell(row.name), row.test ? "test" : "train",
                        csv_number(row.psnr), csv_number(row.ssim), csv_number(row.loss),
                        row.times_sampled, csv_number(value_of(row, PhotoKey::step)));
    return out;
}

void ImagesPanel::draw_row(const CameraRow& row, bool snapped, const PsnrOutliers& outlier,
                           Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(row.view));
    if (ImGui::Selectable(
            "##row", snapped,
            ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap))
        commands.push("view.capture", {std::to_string(row.view)});
    ImGui::SameLine(0.3F * em());
    text(fitted_path(row.name, ImGui::GetContentRegionAvail().x));
    ImGui::TableNextColumn();
    colored_text(row.test ? theme().test_camera : theme().train_camera,
                 row.test ? "test" : "train");
    const auto number = [](double value, int digits, ImU32 color) {
        ImGui::TableNextColumn();
        cell_right(std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-", color);
    };
    number(row.psnr, 2, outlier(row) ? theme().warning : theme().text);
    if (outlier(row) && ImGui::IsItemHovered())
        ImGui::SetTooltip("%s", words_of_outlier(row, outlier).c_str());
    number(row.ssim, 4, theme().text);
    number(row.loss, 5, theme().text);
    ImGui::TableNextColumn();
    cell_right(format_count(row.times_sampled), theme().dim);
    ImGui::TableNextColumn();
    const double step = value_of(row, PhotoKey::step);
    cell_right(std::isfinite(step) ? format_count(step) : "-", theme().dim);
    ImGui::TableNextColumn();
    sparkline(row.psnr_history, row.test ? theme().test_camera : theme().train_camera);
    ImGui::PopID();
}

void ImagesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty()) {
        empty_note(snapshot.scene ? "This scene has no photos"
                                  : "Open a capture to see its photos and their quality");
        return;
    }
    ImGui::SetNextItemWidth(14 * em());
    ImGui::InputTextWithHint("##filter", "filter by name", &filter);
    ImGui::SameLine();
    ImGui::Checkbox("test only", &test_only);
    ImGui::SameLine();
    if (ImGui::Button("Copy CSV")) ImGui::SetClipboardText(images_csv(*snapshot.cameras).c_str());
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_Sortable | ImGuiTableFlags_Resizable |
                                  ImGuiTableFlags_BordersInnerV;
    if (!ImGui::BeginTable("##images", kColumns, flags)) return;
    set_up_columns();
    PhotoKey key = PhotoKey::name;
    bool descending = false;
    if (const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
        specs && specs->SpecsCount > 0) {
        key = static_cast<PhotoKey>(specs->Specs->ColumnIndex);
        descending = specs->Specs->SortDirection == ImGuiSortDirection_Descending;
    }
    const auto rows = sorted_rows(*snapshot.cameras, filter, test_only, key, descending);
    const PsnrOutliers outlier(*snapshot.cameras);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const CameraRow& row = *rows[static_cast<std::size_t>(i)];
            draw_row(row, static_cast<int>(row.view) == snapshot.view.capture_view, outlier,
                     commands);
        }
    ImGui::EndTable();
}

}  // namespace gs
