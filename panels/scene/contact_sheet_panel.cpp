#include "panels/scene/contact_sheet_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/sheet_texture.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr int kParts = 3;  // of a full strip: photo, render, error

/// Layout of the cells: `columns` per row, each of `size` with a line of text below.
struct Grid {
    int columns = 1, parts = 1;
    ImVec2 picture{}, cell{};
};

Grid grid_of(const Snapshot& snapshot, float room) {
    Grid out;
    out.parts = snapshot.sheet_settings.shows == SheetShows::all ? kParts : 1;
    // Photos of one capture are nearly always of one shape: the first one's.
    const Camera& camera = snapshot.cameras->front().camera;
    const auto width =
        static_cast<float>(snapshot.sheet_settings.width * std::max(snapshot.ui_scale, 0.1));
    const float height = width * static_cast<float>(std::max(camera.height, 1)) /
                         static_cast<float>(std::max(camera.width, 1));
    out.picture = {width * static_cast<float>(out.parts), height};
    out.cell = {out.picture.x + 0.6F * em(), height + 1.9F * em()};
    out.columns = std::max(1, static_cast<int>(room / out.cell.x));
    return out;
}

/// The largest rectangle of the picture's shape in the middle of `corner` .. + `room`.
void draw_fitted(ImDrawList& list, const PanelPicture& picture, ImVec2 uv0, ImVec2 uv1,
                 ImVec2 corner, ImVec2 room) {
    const float width = static_cast<float>(picture.width) * (uv1.x - uv0.x),
                height = static_cast<float>(picture.height);
    if (!(width > 0) || !(height > 0)) return;
    const float scale = std::min(room.x / width, room.y / height);
    const ImVec2 a{corner.x + (room.x - width * scale) / 2,
                   corner.y + (room.y - height * scale) / 2};
    list.AddImage((ImTextureID)(std::uintptr_t)picture.id, a,
                  {a.x + width * scale, a.y + height * scale}, uv0, uv1);
}

/// In place of a photo that could not be read, and of the error against it.
void draw_unread(ImDrawList& list, ImVec2 a, ImVec2 b) {
    list.AddRectFilled(a, b, theme().field);
    list.AddLine(a, b, theme().warning, hairline());
    list.AddLine({a.x, b.y}, {b.x, a.y}, theme().warning, hairline());
    const std::string words = fitted("not read", b.x - a.x);
    const ImVec2 size = ImGui::CalcTextSize(words.c_str());
    const ImVec2 at{(a.x + b.x - size.x) / 2, (a.y + b.y - size.y) / 2};
    list.AddRectFilled(at, {at.x + size.x, at.y + size.y}, theme().field);
    list.AddText(at, theme().warning, words.c_str());
}

void draw_picture(ImDrawList& list, const Snapshot& snapshot, const CameraRow& row,
                  const Grid& grid, ImVec2 corner) {
    list.AddRectFilled(corner, {corner.x + grid.picture.x, corner.y + grid.picture.y},
                       theme().field);
    const SheetPicture* made = sheet_picture(snapshot, row);
    const PanelPicture picture = sheet_texture(snapshot, row);
    if (!made || picture.id == 0) return;
    const auto shows = snapshot.sheet_settings.shows;
    const int first = shows == SheetShows::render ? 1 : shows == SheetShows::error ? 2 : 0;
    if (made->parts == 1 && first > 0) return;
    const auto part = 1.0F / static_cast<float>(made->parts);
    const int parts = std::min(grid.parts, made->parts - first);
    const ImVec2 room{grid.picture.x * static_cast<float>(parts) / static_cast<float>(grid.parts),
                      grid.picture.y};
    draw_fitted(list, picture, {part * static_cast<float>(first), 0},
                {part * static_cast<float>(first + parts), 1}, corner, room);
    if (made->problem.empty()) return;
    const float wide = room.x / static_cast<float>(parts);
    for (int i = 0; i < parts; ++i)
        if (first + i != 1)  // the render
            draw_unread(list, {corner.x + static_cast<float>(i) * wide, corner.y},
                        {corner.x + static_cast<float>(i + 1) * wide, corner.y + room.y});
}

void cell_tooltip(const Snapshot& snapshot, const CameraRow& row, const PsnrOutliers& outlier) {
    if (!ImGui::IsItemHovered()) return;
    ImGui::BeginTooltip();
    text(row.name);
    dim_text(row.test ? "test view: not trained on"
                      : fmt::format("training view, used {} times", row.times_sampled));
    if (std::isfinite(row.psnr))
        dim_text(fmt::format("{:.2f} dB, SSIM {:.4f}, measured at step {}", row.psnr, row.ssim,
                             format_count(static_cast<double>(row.measured_step))));
    else
        dim_text("not measured yet");
    if (outlier(row)) colored_text(theme().warning, words_of_outlier(row, outlier));
    const SheetPicture* made = sheet_picture(snapshot, row);
    if (made && !made->problem.empty()) {
        ImGui::PushTextWrapPos(24 * em());
        colored_text(theme().warning, made->problem);
        ImGui::PopTextWrapPos();
    }
    if (made && made->parts == kParts) {
        dim_text(fmt::format("rendered at step {}", format_count(static_cast<double>(made->step))));
        dim_text(fmt::format("error: black is none, brightest is {:.0f} % or more",
                             100 * kSheetErrorRange));
    }
    ImGui::EndTooltip();
}

void draw_cell(const Snapshot& snapshot, const CameraRow& row, const Grid& grid,
               const PsnrOutliers& outlier, Commands& commands) {
    ImGui::PushID(static_cast<int>(row.view));
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 size{grid.picture.x, grid.cell.y - 0.4F * em()};
    if (ImGui::InvisibleButton("##photo", size))
        commands.push("view.capture", {std::to_string(row.view)});
    cell_tooltip(snapshot, row, outlier);
    const bool snapped = static_cast<int>(row.view) == snapshot.view.capture_view;
    const bool pointed = ImGui::IsItemHovered() || ImGui::IsItemFocused();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_picture(list, snapshot, row, grid, corner);
    if (snapped || pointed)
        list.AddRect(corner, {corner.x + size.x, corner.y + size.y},
                     snapped ? theme().accent : theme().dim, 0, 0, 2 * hairline());
    const std::string score =
        std::isfinite(row.psnr) ? fmt::format("{:.2f} dB", row.psnr) : std::string("-");
    const float wide = ImGui::CalcTextSize(score.c_str()).x, y = corner.y + grid.picture.y + 2;
    list.AddText({corner.x + size.x - wide - 0.2F * em(), y},
                 outlier(row) ? theme().warning : theme().text, score.c_str());
    const std::string name = fitted_path(row.name, size.x - wide - 1.2F * em());
    list.AddText({corner.x + 0.2F * em(), y}, row.test ? theme().test_camera : theme().train_camera,
                 name.c_str());
    ImGui::PopID();
}

}  // namespace

void ContactSheetPanel::draw_choices(const Snapshot& snapshot, Commands& commands) {
    const SheetSettings& now = snapshot.sheet_settings;
    const float room = ImGui::GetContentRegionAvail().x;
    ImGui::SetNextItemWidth(10 * em());
    ImGui::InputTextWithHint("##filter", "Filter by name", &filter);
    ImGui::SameLine();
    ImGui::Checkbox("Test only", &test_only);
    if (room > 44 * em()) ImGui::SameLine();
    choice_command(commands, "##shows", "sheet.show", kSheetShowsNames,
                   static_cast<std::size_t>(now.shows), 5.5F,
                   "Show photo, render and error side by side, or one of them");
    ImGui::SameLine();
    order_choice(commands, "sheet.sort", now.key, now.descending);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(6 * em());
    auto width = static_cast<float>(now.width);
    if (drag_bar("##width", width, 60.0F, 480.0F, "%.0f px"))
        commands.push("sheet.width", {argument(std::round(static_cast<double>(width)))});
    tooltip("Width of each picture");
}

void ContactSheetPanel::draw_cells(const Snapshot& snapshot, Commands& commands) {
    const SheetSettings& now = snapshot.sheet_settings;
    const auto rows = sorted_rows(*snapshot.cameras, filter, test_only, now.key, now.descending);
    if (rows.empty()) return empty_note("No photo name matches the filter");
    const PsnrOutliers outlier(*snapshot.cameras);
    const Grid grid = grid_of(snapshot, ImGui::GetContentRegionAvail().x);
    const auto columns = static_cast<std::size_t>(grid.columns);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>((rows.size() + columns - 1) / columns), grid.cell.y);
    while (clipper.Step())
        for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line) {
            const ImVec2 corner = ImGui::GetCursorPos();
            for (std::size_t i = 0; i < columns; ++i) {
                const std::size_t at = static_cast<std::size_t>(line) * columns + i;
                if (at >= rows.size()) break;
                ImGui::SetCursorPos({corner.x + static_cast<float>(i) * grid.cell.x, corner.y});
                draw_cell(snapshot, *rows[at], grid, outlier, commands);
                seen.push_back(rows[at]->view);
            }
            ImGui::SetCursorPos({corner.x, corner.y + grid.cell.y});
        }
}

void ContactSheetPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty()) {
        empty_note(snapshot.scene ? "This scene has no photos"
                                  : "Open a capture to see photos, renders and errors here");
        return;
    }
    draw_choices(snapshot, commands);
    if (ImGui::BeginChild("##cells", {0, 0}, false, ImGuiWindowFlags_NavFlattened))
        draw_cells(snapshot, commands);
    ImGui::EndChild();
}

}  // namespace gs
