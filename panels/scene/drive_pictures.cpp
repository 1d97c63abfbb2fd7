#include "panels/scene/drive_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/format.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

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

}  // namespace

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

}  // namespace gs
