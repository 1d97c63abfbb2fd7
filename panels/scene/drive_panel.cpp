#include "panels/scene/drive_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/format.h"
#include "panels/scene/drive_pictures.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr float kTable = 25, kWide = 66, kNarrow = 34;  // em
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
    beside_if_fits("In the picture");
    toggle_command(
        commands, "In the picture", "view.sweep", drive.in_picture,
        "Draw the sweep's points, the path and the axes of lidar and camera in the viewport");
    beside_if_fits("follow");
    toggle_command(commands, "Follow", "drive.follow", drive.following,
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

Table sweeps_table(const std::vector<DriveRow>& sweeps) {
    using Row = DriveRow;
    const auto column = [](const char* title, CellFormat format, float width, const char* help,
                           auto value) {
        const auto cell = [=](const Row& row) { return TableCell(value(row), Tone::dim); };
        return ColumnOf<Row>{"", title, format, cell, width, help};
    };
    const auto name = [](const Row& row) {
        return TableCell(row.name, row.problem.empty() ? Tone::normal : Tone::error);
    };
    const auto count = [](std::optional<std::size_t> Row::*of) {
        return [=](const Row& row) { return row.*of ? static_cast<double>(*(row.*of)) : NAN; };
    };
    const CellFormat percent = [](double v) { return format_fixed(100 * v, 0) + " %"; };
    return table_of<Row>(
        std::span(sweeps),
        {{"", "sweep", nullptr, name, -1, "The sweep's name"},
         column("s", fixed<2>, 2.6F, "Seconds after the first sweep",
                [](const Row& row) { return row.seconds; }),
         column("returns", format_short, 3.4F, "Beams with a return", count(&Row::returns)),
         column("moving", format_short, 3.4F,
                "Points that this sweep was the first to see but other sweeps saw through: they "
                "are not used as initial points",
                count(&Row::moving)),
         column("cm", fixed<1>, 2.6F, "Median error of the rendered ranges, over all returns",
                [](const Row& row) { return 100 * row.median_m; }),
         column("10 cm", percent, 3, "Returns whose rendered range is within 10 cm",
                [](const Row& row) { return row.within_10cm; })});
}

}  // namespace

void DrivePanel::draw_table(const DriveState& drive, float width, float height,
                            Commands& commands) {
    const float room = width > 0 ? width : ImGui::GetContentRegionAvail().x;
    const bool few = room < kTable * em() - 1;
    TableView view{.id = few ? "##few" : "##sweeps", .size = {width, height}};
    view.flags |= ImGuiTableFlags_BordersInnerV | (few ? ImGuiTableFlags_Hideable : 0);
    view.tight = true;
    view.indent = 0.3F;
    view.click = [&](std::size_t i) { commands.push("drive.sweep", {std::to_string(i + 1)}); };
    view.item = [&](std::size_t i) { tooltip(drive.sweeps[i].problem); };
    view.chosen = [&](std::size_t i) { return i == drive.chosen; };
    view.path = "sweep";
    if (few) view.hidden = {"s", "moving"};
    if (std::exchange(last_chosen, drive.chosen) != drive.chosen) view.follow = drive.chosen;
    gs::draw_table(sweeps_table(drive.sweeps), view);
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
        wrapped_text(theme().warning, "Lidar pose unknown: placed at the world's origin");
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
    if (ImGui::SmallButton(with_table ? "Show the map" : "Show the table"))
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
