#include "panels/cameras_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "panels/photo_rows.h"
#include "panels/state/photo_looks.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

void camera_tooltip(const CameraRow& row, const PoseChange* change) {
    if (!ImGui::IsItemHovered()) return;
    ImGui::BeginTooltip();
    text(row.name);
    dim_text(row.test ? "test view: not trained on" : "training view");
    dim_text(fmt::format("{} x {} px, focal length {:.1f} px", row.camera.width, row.camera.height,
                         row.camera.fx));
    if (!row.test) dim_text(fmt::format("used {} times", row.times_sampled));
    if (change != nullptr)
        dim_text(fmt::format("corrected: turned by {:.3f} deg, moved by {}", change->degrees,
                             format_number(change->length(), 2)));
    ImGui::EndTooltip();
}

/// The table's columns; the last two where poses are corrected.
constexpr int kPhoto = 0, kPsnr = 1, kMoved = 3;  // 2: turned

void set_up_columns(bool corrected) {
    constexpr ImGuiTableColumnFlags fixed =
        ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_PreferSortDescending;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("photo",
                            ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_DefaultSort);
    ImGui::TableSetupColumn("PSNR dB", ImGuiTableColumnFlags_WidthFixed, 4.4F * em());
    if (corrected) {
        ImGui::TableSetupColumn("turned deg", fixed, 5 * em());
        ImGui::TableSetupColumn("moved", fixed, 4 * em());
    }
    ImGui::TableHeadersRow();
}

/// In the order that the table's headings ask for.
std::vector<const CameraRow*> ordered(const std::vector<CameraRow>& cameras,
                                      std::string_view filter,
                                      std::span<const PoseChange> changes) {
    const ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
    const bool any = specs != nullptr && specs->SpecsCount > 0;
    const int column = any ? specs->Specs->ColumnIndex : kPhoto;
    const bool descending = any && specs->Specs->SortDirection == ImGuiSortDirection_Descending;
    auto rows = sorted_rows(cameras, filter, false,
                            column == kPsnr ? PhotoKey::psnr : PhotoKey::name, descending);
    if (column > kPsnr) sort_by_change(rows, changes, column == kMoved, descending);
    return rows;
}

void camera_line(const CameraRow& row, bool snapped, bool corrected, const PoseChange* change,
                 Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(row.view));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ImGui::Selectable("##camera", snapped, ImGuiSelectableFlags_SpanAllColumns))
        commands.push("view.capture", {std::to_string(row.view)});
    camera_tooltip(row, change);
    const float middle = at.y + 0.55F * em();
    ImGui::GetWindowDrawList()->AddCircleFilled(
        {at.x + 0.4F * em(), middle}, 0.22F * em(),
        row.test ? theme().test_camera : theme().train_camera);
    ImGui::SameLine(1.1F * em());
    text(fitted_path(row.name, ImGui::GetContentRegionAvail().x));
    ImGui::TableNextColumn();
    cell_right(std::isfinite(row.psnr) ? fmt::format("{:.2f}", row.psnr) : "-", theme().dim);
    if (corrected) {
        ImGui::TableNextColumn();
        cell_right(change ? fmt::format("{:.3f}", change->degrees) : "-", theme().dim);
        ImGui::TableNextColumn();
        cell_right(change ? format_number(change->length(), 2) : "-", theme().dim);
    }
    ImGui::PopID();
}

}  // namespace

void CamerasPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty()) {
        empty_note(snapshot.scene ? "This scene has no photos"
                                  : "Open a scene to list its cameras");
        return;
    }
    if (icon_button("previous", Icon::previous, "Previous capture camera"))
        commands.push("view.previous");
    ImGui::SameLine(0, 2);
    if (icon_button("next", Icon::next, "Next capture camera")) commands.push("view.next");
    ImGui::SameLine();
    constexpr const char* kSplits[] = {"all", "train", "test"};
    ImGui::SetNextItemWidth(4.4F * em());
    ImGui::Combo("##split", &split, kSplits, 3);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(-1);
    ImGui::InputTextWithHint("##filter", "filter", &filter);
    std::span<const PoseChange> changes;
    if (snapshot.looks) changes = snapshot.looks->poses;
    // In a narrow panel, only the tooltip shows the corrections.
    const bool corrected = !changes.empty() && ImGui::GetContentRegionAvail().x >= 18 * em();
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_Sortable;
    if (!ImGui::BeginTable(corrected ? "##corrected" : "##cameras", corrected ? 4 : 2, flags))
        return;
    set_up_columns(corrected);
    auto rows = ordered(*snapshot.cameras, filter, changes);
    if (split != 0)
        std::erase_if(rows, [this](const CameraRow* row) { return row->test != (split == 2); });
    const int snapped = snapshot.view.capture_view;
    if (snapped != last_snapped && snapped >= 0)  // the list follows the viewport
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (static_cast<int>(rows[i]->view) == snapped)
                ImGui::SetScrollY(std::max(0.0F, static_cast<float>(i) - 3) *
                                  ImGui::GetTextLineHeightWithSpacing());
    last_snapped = snapped;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const CameraRow& row = *rows[static_cast<std::size_t>(i)];
            camera_line(row, static_cast<int>(row.view) == snapped, corrected,
                        change_of(changes, row.view), commands);
        }
    ImGui::EndTable();
}

}  // namespace gs
