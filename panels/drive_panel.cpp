#include "panels/drive_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "panels/drive_pictures.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr float kTable = 25, kWide = 66, kNarrow = 34;  // em
enum DriveColumn {
    kDriveName,
    kDriveTime,
    kDriveReturns,
    kDriveMoving,
    kDriveMedian,
    kDriveWithin,
    kDriveColumns
};

const Activity* scoring(const Snapshot& snapshot) {
    for (const Activity& activity : snapshot.activities)
        if (activity.name == "drive score") return &activity;
    return nullptr;
}

void draw_moment(const DriveState& drive, Commands& commands) {
    const bool many = drive.sweeps.size() > 1;
    if (icon_button("##previous", Icon::previous, "Previous sweep", drive.chosen > 0))
        commands.push("drive.previous");
    ImGui::SameLine(0, 2);
    if (icon_button("##play", drive.playing ? Icon::pause : Icon::play,
                    drive.playing ? "Stop" : "Play sweeps in real time", many))
        commands.push("drive.play", {drive.playing ? "off" : "on"});
    ImGui::SameLine(0, 2);
    if (icon_button("##next", Icon::next, "Next sweep", drive.chosen + 1 < drive.sweeps.size()))
        commands.push("drive.next");
    ImGui::SameLine();
    const DriveRow& row = drive.sweeps[drive.chosen];
    const float room = ImGui::GetContentRegionAvail().x;
    ImGui::SetNextItemWidth(std::clamp(room - 26 * em(), std::min(room, 9 * em()), 40 * em()));
    ImGui::BeginDisabled(!many);
    auto seconds = static_cast<float>(drive.seconds);
    if (ImGui::SliderFloat("##time", &seconds, 0,
                           static_cast<float>(std::max(drive.length(), 1e-3)),
                           fmt::format("%.2f s: sweep {}", row.name).c_str(),
                           ImGuiSliderFlags_NoInput | ImGuiSliderFlags_AlwaysClamp))
        commands.push("drive.time",
                      {argument(std::min(static_cast<double>(seconds), drive.length()))});
    ImGui::EndDisabled();
    tooltip("Seconds after the first sweep; the nearest sweep is shown");
}

void draw_sweep_choices(const DriveState& drive, const Snapshot& snapshot, Commands& commands) {
    beside_if_fits("intensity         ");
    choice_command(commands, "##channel", "drive.channel", kSweepChannelNames,
                   static_cast<std::size_t>(drive.channel), 5.5F,
                   "Colour the sweep by this value, here, in the map and in the picture");
    beside_if_fits("in the picture");
    toggle_command(
        commands, "in the picture", "view.sweep", drive.in_picture,
        "Draw the sweep's points, the path and the axes of lidar and camera in the viewport");
    beside_if_fits("follow");
    toggle_command(commands, "follow", "drive.follow", drive.following,
                   "View through the photo taken at the shown time");
    beside_if_fits("Score all");
    if (const Activity* running = scoring(snapshot)) {
        if (ImGui::Button(fmt::format("Stop ({:.0f} %)##score", 100 * running->share).c_str()))
            commands.push("cancel", {"drive score"});
        tooltip("Rendering sweeps from the model");
    } else {
        if (ImGui::Button("Score all##score")) commands.push("drive.score");
        tooltip("Render every sweep from the model and fill the table");
    }
}

void draw_row_cells(const DriveRow& row) {
    const auto cell = [](const std::string& words) {
        ImGui::TableNextColumn();
        cell_right(words, theme().dim);
    };
    const auto count = [](const std::optional<std::size_t>& n) {
        return n ? format_short(static_cast<double>(*n)) : std::string("-");
    };
    cell(fmt::format("{:.2f}", row.seconds));
    cell(count(row.returns));
    cell(count(row.moving));
    cell(std::isfinite(row.median_m) ? fmt::format("{:.1f}", 100 * row.median_m) : "-");
    cell(std::isfinite(row.within_10cm) ? fmt::format("{:.0f} %", 100 * row.within_10cm) : "-");
}

/// `few`: only the columns that fit a narrow table.
void set_up_drive_columns(bool few) {
    constexpr ImGuiTableColumnFlags fixed = ImGuiTableColumnFlags_WidthFixed;
    const ImGuiTableColumnFlags spare = few ? fixed | ImGuiTableColumnFlags_DefaultHide : fixed;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("sweep", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("s", spare, 2.6F * em());
    ImGui::TableSetupColumn("returns", fixed, 3.4F * em());
    ImGui::TableSetupColumn("moving", spare, 3.4F * em());
    ImGui::TableSetupColumn("cm", fixed, 2.6F * em());
    ImGui::TableSetupColumn("10 cm", fixed, 3 * em());
    constexpr std::array<const char*, kDriveColumns> hints{
        "The sweep's name",
        "Seconds after the first sweep",
        "Beams with a return",
        "Points that this sweep was the first to see but other sweeps saw through: they are "
        "not used as initial points",
        "Median error of the rendered ranges, over all returns",
        "Returns whose rendered range is within 10 cm"};
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int column = 0; column < kDriveColumns; ++column) {
        table_heading(ImGui::TableGetColumnName(column), column != kDriveName);
        if ((ImGui::TableGetColumnFlags(column) & ImGuiTableColumnFlags_IsVisible) != 0)
            tooltip(hints[static_cast<std::size_t>(column)]);
    }
}

}  // namespace

void DrivePanel::draw_table(const DriveState& drive, float width, float height,
                            Commands& commands) {
    constexpr ImGuiTableFlags flags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV;
    const float room = width > 0 ? width : ImGui::GetContentRegionAvail().x;
    const bool few = room < kTable * em() - 1;
    if (!ImGui::BeginTable(few ? "##few" : "##sweeps", kDriveColumns,
                           few ? flags | ImGuiTableFlags_Hideable : flags, {width, height}))
        return;
    set_up_drive_columns(few);
    if (std::exchange(last_chosen, drive.chosen) != drive.chosen)  // the list follows
        ImGui::SetScrollY(std::max(0.0F, static_cast<float>(drive.chosen) - 3) *
                          ImGui::GetTextLineHeightWithSpacing());
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(drive.sweeps.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const auto index = static_cast<std::size_t>(i);
            const DriveRow& row = drive.sweeps[index];
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            ImGui::PushID(i);
            if (ImGui::Selectable("##sweep", index == drive.chosen,
                                  ImGuiSelectableFlags_SpanAllColumns))
                commands.push("drive.sweep", {std::to_string(index + 1)});
            if (!row.problem.empty()) tooltip(row.problem);
            ImGui::SameLine(0.3F * em());
            const std::string name = fitted_path(row.name, ImGui::GetContentRegionAvail().x);
            colored_text(row.problem.empty() ? theme().text : theme().error, name);
            draw_row_cells(row);
            ImGui::PopID();
        }
    ImGui::EndTable();
}

void DrivePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.drive || snapshot.drive->sweeps.empty())
        return empty_note(
            "Open a drive to see lidar sweeps here, or add a recording to the open scene with "
            "drive.open PATH");
    const DriveState& drive = *snapshot.drive;
    draw_moment(drive, commands);
    draw_sweep_choices(drive, snapshot, commands);
    if (!drive.posed) {
        ImGui::PushTextWrapPos(0);
        colored_text(theme().warning, "Lidar pose unknown: placed at the world's origin");
        ImGui::PopTextWrapPos();
    }
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (room.x > kWide * em())
        draw_wide(drive, snapshot, room, commands);
    else if (room.x > kNarrow * em() && room.y < room.x)
        draw_middling(drive, snapshot, room, commands);
    else
        draw_narrow(drive, snapshot, commands);
}

/// Table, pictures and map side by side.
void DrivePanel::draw_wide(const DriveState& drive, const Snapshot& snapshot, ImVec2 room,
                           Commands& commands) {
    const float gap = ImGui::GetStyle().ItemSpacing.x, table = kTable * em(),
                side = std::min(room.y, 0.3F * room.x);
    draw_table(drive, table, room.y, commands);
    ImGui::SameLine();
    ImGui::BeginGroup();
    draw_sweep_pictures(drive, snapshot, {room.x - table - side - 2 * gap, room.y});
    ImGui::EndGroup();
    ImGui::SameLine();
    ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMax().x - side);
    map.draw(drive, snapshot, {side, room.y}, commands);
}

/// The pictures, and beside them the map or the table.
void DrivePanel::draw_middling(const DriveState& drive, const Snapshot& snapshot, ImVec2 room,
                               Commands& commands) {
    const float side = (with_table ? 0.45F : 0.38F) * room.x;
    ImGui::BeginGroup();
    draw_sweep_pictures(drive, snapshot, {room.x - side - ImGui::GetStyle().ItemSpacing.x, room.y});
    ImGui::EndGroup();
    ImGui::SameLine();
    ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMax().x - side);
    ImGui::BeginGroup();
    if (ImGui::SmallButton(with_table ? "show the map" : "show the table"))
        with_table = !with_table;
    const float height = ImGui::GetContentRegionAvail().y;
    if (with_table)
        draw_table(drive, side, height, commands);
    else
        map.draw(drive, snapshot, {side, height}, commands);
    ImGui::EndGroup();
}

/// All below each other.
void DrivePanel::draw_narrow(const DriveState& drive, const Snapshot& snapshot,
                             Commands& commands) {
    if (ImGui::BeginChild("##all", {0, 0}, false, ImGuiWindowFlags_NavFlattened)) {
        const float width = ImGui::GetContentRegionAvail().x;
        draw_sweep_pictures(drive, snapshot, {width, 0.8F * width});
        map.draw(drive, snapshot, {width, 0.7F * width}, commands);
        draw_table(drive, 0, 14 * em(), commands);
    }
    ImGui::EndChild();
}

}  // namespace gs
