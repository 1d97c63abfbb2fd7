#include "panels/scene/images_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr float kWideTable = 42, kMiddle = 32;  // em

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

/// `rows`: CameraRow or pointers to them.
template <class Rows>
Table images_table(const Rows& rows, const PsnrOutliers& outlier) {
    using Row = CameraRow;
    const auto split = [](const Row& row) { return row.test ? "test" : "train"; };
    const auto psnr = [=](const Row& row) {
        if (!outlier(row)) return TableCell(row.psnr);
        return TableCell(row.psnr, Tone::warning, words_of_outlier(row, outlier));
    };
    const auto used = [](const Row& row) { return TableCell(row.times_sampled, Tone::dim); };
    const auto step = [](const Row& row) {
        return TableCell(value_of(row, PhotoKey::step), Tone::dim);
    };
    const auto drawn = [](const Row&) { return TableCell(); };
    return table_of<Row>(std::span(rows),
                         {{"name", "photo", nullptr, &Row::name, -1.4F},
                          {"split", "split", nullptr, split, 3},
                          {"psnr_db", "PSNR dB", fixed<2>, psnr, 4.6F},
                          {"ssim", "SSIM", fixed<4>, &Row::ssim, 4},
                          {"loss", "loss", fixed<5>, &Row::loss, 4.4F},
                          {"times_sampled", "used", format_count, used, 3.4F},
                          {"measured_step", "at step", format_count, step, 4.2F},
                          {"", "PSNR history", nullptr, drawn, -1, {}, SortOrder::none}});
}

}  // namespace

std::string images_csv(const std::vector<CameraRow>& rows) {
    return table_csv(images_table(rows, PsnrOutliers(rows)));
}

void ImagesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty()) {
        empty_note(snapshot.scene ? "This scene has no photos"
                                  : "Open a capture to see its photos and their quality");
        return;
    }
    ImGui::SetNextItemWidth(14 * em());
    ImGui::InputTextWithHint("##filter", "Filter by name", &filter);
    ImGui::SameLine();
    ImGui::Checkbox("Test only", &test_only);
    ImGui::SameLine();
    if (ImGui::Button("Copy CSV")) ImGui::SetClipboardText(images_csv(*snapshot.cameras).c_str());
    const auto rows = sorted_rows(*snapshot.cameras, filter, test_only, PhotoKey::name, false);
    const auto color = [&](std::size_t i) {
        return rows[i]->test ? theme().test_camera : theme().train_camera;
    };
    TableView view{.id = "##images", .indent = 0.3F};
    // In a narrow panel names and curves keep their space.
    const float width = ImGui::GetContentRegionAvail().x / em();
    if (width < kWideTable) view.dropped = {"used", "loss"};
    if (width < kMiddle) view.dropped.insert(view.dropped.end(), {"split", "SSIM"});
    view.flags |=
        ImGuiTableFlags_Sortable | ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    view.click = [&](std::size_t i) {
        commands.push("view.capture", {std::to_string(rows[i]->view)});
    };
    view.chosen = [&](std::size_t i) {
        return static_cast<int>(rows[i]->view) == snapshot.view.capture_view;
    };
    view.sort_by = "PSNR dB";  // the worst first
    view.path = "photo";
    view.draw = {
        {"split", [&](std::size_t i) { colored_text(color(i), rows[i]->test ? "test" : "train"); }},
        {"PSNR history", [&](std::size_t i) { sparkline(rows[i]->psnr_history, color(i)); }}};
    draw_table(images_table(rows, PsnrOutliers(*snapshot.cameras)), view);
}

}  // namespace gs
