#include "panels/cameras_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/fuzzy.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

void camera_tooltip(const CameraRow& row) {
    if (!ImGui::IsItemHovered()) return;
    ImGui::BeginTooltip();
    text(row.name);
    dim_text(row.test ? "test view: not trained on" : "training view");
    dim_text(fmt::format("{} x {} px, focal length {:.1f} px", row.camera.width, row.camera.height,
                         row.camera.fx));
    if (!row.test) dim_text(fmt::format("used {} times", row.times_sampled));
    ImGui::EndTooltip();
}

void camera_line(const CameraRow& row, bool snapped, Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(row.view));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ImGui::Selectable("##camera", snapped, ImGuiSelectableFlags_SpanAllColumns))
        commands.push("view.capture", {std::to_string(row.view)});
    camera_tooltip(row);
    const float middle = at.y + 0.55F * em();
    ImGui::GetWindowDrawList()->AddCircleFilled(
        {at.x + 0.4F * em(), middle}, 0.22F * em(),
        row.test ? theme().test_camera : theme().train_camera);
    ImGui::SameLine(1.1F * em());
    text(fitted_path(row.name, ImGui::GetContentRegionAvail().x));
    ImGui::TableNextColumn();
    cell_right(std::isfinite(row.psnr) ? fmt::format("{:.2f}", row.psnr) : "-", theme().dim);
    ImGui::PopID();
}

}  // namespace

void CamerasPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty()) {
        empty_note(snapshot.scene ? "This scene came without photos" : "Nothing is open");
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
    std::vector<const CameraRow*> rows;
    for (const CameraRow& row : *snapshot.cameras)
        if ((split == 0 || row.test == (split == 2)) && contains_text(row.name, filter))
            rows.push_back(&row);
    const ImGuiTableFlags flags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
    if (!ImGui::BeginTable("##cameras", 2, flags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("photo", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("PSNR dB", ImGuiTableColumnFlags_WidthFixed, 4.4F * em());
    ImGui::TableHeadersRow();
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
            camera_line(row, static_cast<int>(row.view) == snapped, commands);
        }
    ImGui::EndTable();
}

}  // namespace gs
