#include "panels/scene/cameras_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "base/format.h"
#include "panels/scene/photo_rows.h"
#include "panels/state/photo_looks.h"
#include "panels/widgets/table_view.h"
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

Table cameras_table(const std::vector<const CameraRow*>& rows, std::span<const PoseChange> changes,
                    bool corrected) {
    std::vector<ColumnOf<CameraRow>> columns{
        {"", "photo", nullptr, &CameraRow::name, -1},
        {"", "PSNR dB", fixed<2>,
         [](const CameraRow& row) { return TableCell(row.psnr, Tone::dim); }, 4.4F}};
    const auto add = [&](const char* title, CellFormat format, float width, auto value) {
        const auto cell = [=](const CameraRow& row) {
            const PoseChange* const change = change_of(changes, row.view);
            return TableCell(change ? std::invoke(value, *change) : NAN, Tone::dim);
        };
        columns.push_back({"", title, format, cell, width, {}, SortOrder::descending});
    };
    if (corrected) add("turned deg", fixed<3>, 5, &PoseChange::degrees);
    if (corrected) add("moved", significant<2>, 4, &PoseChange::length);
    return table_of<CameraRow>(std::span(rows), std::move(columns));
}

void camera_item(const CameraRow& row, const PoseChange* change) {
    camera_tooltip(row, change);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddCircleFilled(
        {at.x - 0.7F * em(), at.y + 0.55F * em()}, 0.22F * em(),
        row.test ? theme().test_camera : theme().train_camera);
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
    ImGui::InputTextWithHint("##filter", "Filter", &filter);
    std::span<const PoseChange> changes;
    if (snapshot.looks) changes = snapshot.looks->poses;
    // In a narrow panel, only the tooltip shows the corrections.
    const bool corrected = !changes.empty() && ImGui::GetContentRegionAvail().x >= 18 * em();
    auto rows = sorted_rows(*snapshot.cameras, filter, false, PhotoKey::name, false);
    if (split != 0)
        std::erase_if(rows, [this](const CameraRow* row) { return row->test != (split == 2); });
    const int snapped = snapshot.view.capture_view;
    TableView view{.id = corrected ? "##corrected" : "##cameras"};
    view.flags |= ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_Sortable;
    view.indent = 1.1F;
    view.click = [&](std::size_t i) {
        commands.push("view.capture", {std::to_string(rows[i]->view)});
    };
    view.item = [&](std::size_t i) { camera_item(*rows[i], change_of(changes, rows[i]->view)); };
    view.chosen = [&](std::size_t i) { return static_cast<int>(rows[i]->view) == snapped; };
    view.sort_by = view.path = "photo";
    if (snapped != last_snapped && snapped >= 0)  // the list follows the viewport
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (view.chosen(i)) view.follow = i;
    last_snapped = snapped;
    draw_table(cameras_table(rows, changes, corrected), view);
}

}  // namespace gs
