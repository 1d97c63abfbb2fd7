#include "panels/scene/drive_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

// ---- the current sweep as range images, one below the other: measured, rendered from the model,
// and their difference, with the color scale and the agreement

constexpr std::array<const char*, 3> kSweepParts{"drawn", "measured", "difference"};
constexpr std::array<int, 3> kPartsDown{1, 0, 2};  // measured first: it is there before the others
enum DrivePlane { kDrawnPlane = 0, kMeasuredPlane = 3 };

/// Tooltip with the values at a place of the pictures.
void part_tooltip(const ShownSweep& sweep, ImVec2 corner, ImVec2 size) {
    if (!ImGui::IsItemHovered() || sweep.planes.width < 1 || sweep.planes.height < 1) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto cell = [](float share, int count) {
        return std::clamp(static_cast<int>(share * static_cast<float>(count)), 0, count - 1);
    };
    const int x = cell((mouse.x - corner.x) / size.x, sweep.planes.width),
              y = cell((mouse.y - corner.y) / size.y, sweep.planes.height);
    const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(sweep.planes.width) +
                    static_cast<std::size_t>(x);
    const auto metres = [&](int plane) {
        const auto range = static_cast<double>(sweep.planes.plane(plane)[at]);
        return range > 0 ? fmt::format("{:.2f} m", range) : std::string("no return");
    };
    ImGui::BeginTooltip();
    dim_text(fmt::format("row {}, column {}{}", y, x, x % 4 == 3 ? ", held out" : ""));
    text("measured: " + metres(kMeasuredPlane));
    if (sweep.drawn) text("drawn: " + metres(kDrawnPlane));
    ImGui::EndTooltip();
}

/// Draws one of the three range images at the full width.
void draw_part(const ShownSweep& sweep, const PanelPicture& picture, int part, ImVec2 size) {
    const float rows = static_cast<float>(std::max(sweep.planes.height, 1)), all = 3 * rows + 2,
                first = static_cast<float>(part) * (rows + 1);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton(kSweepParts[static_cast<std::size_t>(part)], size);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{corner.x + size.x, corner.y + size.y};
    list.AddRectFilled(corner, end, IM_COL32_BLACK);
    if (picture.id != 0 && (part == 1 || sweep.drawn))
        list.AddImage((ImTextureID)(std::uintptr_t)picture.id, corner, end, {0, first / all},
                      {1, (first + rows) / all});
    std::string words = kSweepParts[static_cast<std::size_t>(part)];
    if (part != 1 && !sweep.drawn) words += ": no model yet";
    if (part == 0 && sweep.drawn && sweep.colors.channel == SweepChannel::intensity)
        words += ": models have no intensities";
    const ImVec2 wide = ImGui::CalcTextSize(words.c_str());
    list.AddRectFilled(corner, {corner.x + wide.x + 0.6F * em(), corner.y + wide.y + 2},
                       with_alpha(theme().window, 190));
    list.AddText({corner.x + 0.3F * em(), corner.y + 1}, theme().text, words.c_str());
    part_tooltip(sweep, corner, size);
}

/// Draws the colour scale, then a legend of the difference's colours.
void draw_scale_line(const ShownSweep& sweep, float width) {
    const float end = ImGui::GetCursorPosX() + width;
    const SweepColors& colors = sweep.colors;
    const auto value = [&](double v) {
        return format_number(v, 2) + (*colors.unit == '\0' ? "" : std::string(" ") + colors.unit);
    };
    dim_text(std::string(kSweepChannelNames[static_cast<std::size_t>(colors.channel)]) + " " +
             value(colors.lo));
    ImGui::SameLine(0, 0.4F * em());
    constexpr int kSteps = 24;
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 step{0.25F * em(), 0.8F * em()};
    for (int i = 0; i < kSteps; ++i) {
        const Rgb8 c =
            colors(colormap_value((i + 0.5) / kSteps, colors.lo, colors.hi, colors.logarithmic));
        const float x = corner.x + static_cast<float>(i) * step.x, y = corner.y + 0.15F * em();
        ImGui::GetWindowDrawList()->AddRectFilled({x, y}, {x + step.x, y + step.y},
                                                  IM_COL32(c.r, c.g, c.b, 255));
    }
    ImGui::Dummy({kSteps * step.x, ImGui::GetTextLineHeight()});
    ImGui::SameLine(0, 0.4F * em());
    dim_text(value(colors.hi));
    if (!sweep.drawn) return;
    ImGui::SameLine(0, em());
    const std::string words =
        fmt::format("difference: bright {} m, magenta: no hit", kSweepErrorShown);
    dim_text(fitted(words, end - ImGui::GetCursorPosX()));
    tooltip(
        fmt::format("Black: rendered as measured. Bright: {} m off or more. Magenta: the beam "
                    "hits nothing in the model",
                    kSweepErrorShown));
}

/// Draws at the width of `room`, and its height if that is enough to see anything.
void draw_sweep_pictures(const DriveState& drive, const Snapshot& snapshot, ImVec2 room) {
    const DriveRow& row = drive.sweeps[drive.chosen];
    if (!drive.shown) {
        if (row.problem.empty()) return dim_text("reading sweep " + row.name);
        ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + room.x);
        colored_text(theme().error, row.problem);
        ImGui::PopTextWrapPos();
        return;
    }
    const ShownSweep& sweep = *drive.shown;
    PanelPicture picture{};
    if (snapshot.pictures && !sweep.picture.empty())
        picture = snapshot.pictures->of("drive", sweep.serial, sweep.picture);
    const float gap = ImGui::GetStyle().ItemSpacing.y;
    const float lines = 2 * ImGui::GetTextLineHeightWithSpacing();
    const float height =
        std::clamp((room.y - lines) / 3 - gap, 2.5F * em(), std::max(2.5F * em(), room.x / 6));
    for (const int part : kPartsDown) draw_part(sweep, picture, part, {room.x, height});
    draw_scale_line(sweep, room.x);
    std::string words = fmt::format("{} returns", format_count(static_cast<double>(*row.returns)));
    if (*row.returns == 0) words = "this sweep has no returns";
    if (sweep.drawn && std::isfinite(row.within_10cm))
        words += fmt::format("; drawn at step {}: {}, {:.0f} % within 10 cm",
                             format_count(static_cast<double>(sweep.step)),
                             std::isfinite(row.median_m)
                                 ? fmt::format("median {:.1f} cm off", 100 * row.median_m)
                                 : std::string("most beams hit nothing"),
                             100 * row.within_10cm);
    dim_text(fitted(words, room.x));
    if (!sweep.notes.empty()) tooltip(fmt::format("{}", fmt::join(sweep.notes, "\n")));
}

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
