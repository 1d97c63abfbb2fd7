// Commands that inspect a pixel of the picture: its Gaussians, its tile's cost, which tiles
// cost most.
#include <imgui.h>

#include <fmt/format.h>

#include <algorithm>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/inspector.h"
#include "app/studio/studio.h"
#include "panels/state/inspection.h"

namespace gs {
namespace command::inspect {

using namespace args;
using S = StudioState&;

/// A pixel of the shown picture, which may be smaller than the inspected one.
void pixel(Inspector& inspector, const ViewRequest& request,
           const std::optional<std::pair<double, double>>& at) {
    if (at)
        inspector.pixel(request, at->first, at->second);
    else
        inspector.again();
}
void tile(Inspector& inspector, const ViewRequest& request, int column, int row, bool listed) {
    if (listed)
        inspector.listed_tile(column, row);
    else
        inspector.tile(request, column, row);
}
Result<void> clear(S state) {
    state.marked_entry = {};
    return send(state, [](Engine& e) { e.part<Inspector>().clear(); });
}

Result<const PixelAnswer*> answered(const StudioState& state) {
    if (!state.inspection || !state.inspection->pixel)
        return fail(ErrorKind::usage, "", "no pixel is inspected yet", "inspect.pixel X Y");
    return state.inspection->pixel.get();
}
Result<const PixelEntry*> entry_of(const PixelAnswer& answer, std::uint64_t row) {
    for (const PixelEntry& entry : answer.report.entries)
        if (entry.row == row) return &entry;
    return fail(ErrorKind::usage, "",
                fmt::format("Gaussian #{} is not in the list of this pixel's tile", row));
}
/// No argument: none; no row: the one with the largest weight.
Result<void> mark(S state, const std::optional<std::optional<std::uint64_t>>& row) {
    state.marked_entry = {};
    if (!row) return {};
    GS_TRY(const PixelAnswer* answer, answered(state));
    if (*row) {
        GS_TRY(const PixelEntry* entry, entry_of(*answer, **row));
        state.marked_entry = {state.inspection->pixel, entry->row};
        return {};
    }
    const auto& all = answer->report.entries;
    const auto most = std::ranges::max_element(all, {}, &PixelEntry::weight);
    if (most == all.end()) return fail(ErrorKind::usage, "", "this pixel's tile is empty");
    state.marked_entry = {state.inspection->pixel, most->row};
    return {};
}

std::string tsv_line(const PixelEntry& e) {
    const Vec3d added = e.contribution();
    return fmt::format(
        "{}\t{}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:"
        ".9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\n",
        e.row, kPixelFateNames[static_cast<std::size_t>(e.fate)], e.depth, e.opacity, e.alpha,
        e.before, e.weight, e.color.x, e.color.y, e.color.z, added.x, added.y, added.z, e.running.x,
        e.running.y, e.running.z, e.v_alpha, e.share);
}
Result<void> copy(S state, std::optional<std::uint64_t> row) {
    GS_TRY(const PixelAnswer* answer, answered(state));
    std::string lines =
        "row\tfate\tdepth\topacity\talpha\ttransmittance\tweight\tred\tgreen\tblue\tadded_"
        "red\tadded_green\tadded_blue\trunning_red\trunning_green\trunning_blue\tloss_by_"
        "alpha\tgradient_share\n";
    if (row) {
        GS_TRY(const PixelEntry* entry, entry_of(*answer, *row));
        lines += tsv_line(*entry);
    } else {
        for (const PixelEntry& entry : answer->report.entries) lines += tsv_line(entry);
    }
    return ask(state, [lines](Studio&) {
        ImGui::SetClipboardText(lines.c_str());
        return Result<void>();
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"inspect.pixel", "Inspect the pixel again",    "View/Inspect 4",
     "List the Gaussians in this pixel of the picture, front to back; without X and Y, the last pixel in the current "
     "model.", pixel, shown_view(), optional(both(pixel_x(), pixel_y()))},
    {"inspect.tile",  "Inspect a tile",             "",
     "Inspect the pixel in the middle of a 16 x 16 tile; listed: of the picture whose tiles are listed.",
     tile, shown_view(), whole("COLUMN", 0, 1 << 16), whole("ROW", 0, 1 << 16), flag("listed")},
    {"inspect.tiles", "Find the most expensive tiles", "View/Inspect 4",
     "List the tiles of this picture by their blending time.", &Inspector::tiles, shown_view()},
    {"inspect.mark",  "Mark a Gaussian of the pixel", "",
     "Outline a Gaussian of the inspected pixel's list in the picture; most: the one with the largest weight; without ROW, none.",
     mark, optional(either(gaussian(), "most"))},
    {"inspect.copy",  "Copy the pixel's list",      "",
     "Copy the inspected pixel's list to the clipboard as tab-separated lines, one per Gaussian; or only line ROW.",
     copy, optional(gaussian())},
    {"inspect.clear", "Clear the inspected pixel",  "View/Inspect 4",
     "Clear the inspected pixel and its marks in the picture.", clear},
};
// clang-format on

}  // namespace command::inspect

std::span<const CommandRow> inspect_commands() { return command::inspect::kRows; }

}  // namespace gs
