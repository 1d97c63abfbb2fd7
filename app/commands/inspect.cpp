// Commands that inspect a pixel of the picture: its Gaussians, its tile's cost, which tiles
// cost most.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/inspector.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"
#include "panels/state/inspection.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> need_picture(const StudioState& state) {
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    return {};
}

/// Pixels of the shown picture, which may be smaller than the inspected one.
Result<void> pixel(S state, A a) {
    if (a.empty()) return send(state, [](Engine& e) { e.part<Inspector>().again(); });
    if (a.size() != 2)
        return fail(ErrorKind::usage, "", "a pixel has two coordinates: inspect.pixel X Y");
    GS_TRY_VOID(need_picture(state));
    const Camera& shown = state.frame->camera;
    GS_TRY(const double x, number_argument(a[0], 0, shown.width, "X"));
    GS_TRY(const double y, number_argument(a[1], 0, shown.height, "Y"));
    const auto request = view_request_of(state, state.width, state.height);
    return send(state, [request, x = x / shown.width, y = y / shown.height](Engine& e) {
        e.part<Inspector>().pixel(request, x, y);
    });
}
Result<void> tile(S state, A a) {
    GS_TRY(const auto column, integer_argument(a[0], 0, 1 << 16, "the tile's column"));
    GS_TRY(const auto row, integer_argument(a[1], 0, 1 << 16, "the tile's row"));
    const int x = static_cast<int>(column), y = static_cast<int>(row);
    if (a.size() > 2) {
        if (a[2] != "listed")
            return fail(ErrorKind::usage, "",
                        fmt::format("after a tile only \"listed\" may follow, not \"{}\"", a[2]));
        return send(state, [x, y](Engine& e) { e.part<Inspector>().listed_tile(x, y); });
    }
    const auto request = view_request_of(state, state.width, state.height);
    return send(state, [request, x, y](Engine& e) { e.part<Inspector>().tile(request, x, y); });
}
Result<void> tiles(S state, A) {
    const auto request = view_request_of(state, state.width, state.height);
    return send(state, [request](Engine& e) { e.part<Inspector>().tiles(request); });
}
Result<void> clear(S state, A) {
    state.marked_entry = {};
    return send(state, [](Engine& e) { e.part<Inspector>().clear(); });
}

Result<const PixelAnswer*> answered(const StudioState& state) {
    if (!state.inspection || !state.inspection->pixel)
        return fail(ErrorKind::usage, "", "no pixel is inspected yet", "inspect.pixel X Y");
    return state.inspection->pixel.get();
}
Result<const PixelEntry*> entry_of(const PixelAnswer& answer, const std::string& text) {
    GS_TRY(const auto row,
           integer_argument(text.starts_with('#') ? text.substr(1) : text, 0,
                            std::numeric_limits<std::int64_t>::max(), "the Gaussian's row"));
    for (const PixelEntry& entry : answer.report.entries)
        if (entry.row == static_cast<std::uint64_t>(row)) return &entry;
    return fail(ErrorKind::usage, "",
                fmt::format("Gaussian #{} is not in the list of this pixel's tile", row));
}
Result<void> mark(S state, A a) {
    state.marked_entry = {};
    if (a.empty()) return {};
    GS_TRY(const PixelAnswer* answer, answered(state));
    if (a[0] == "most") {
        const auto& all = answer->report.entries;
        const auto most = std::max_element(
            all.begin(), all.end(),
            [](const PixelEntry& x, const PixelEntry& y) { return x.weight < y.weight; });
        if (most == all.end()) return fail(ErrorKind::usage, "", "this pixel's tile is empty");
        state.marked_entry = {state.inspection->pixel, most->row};
        return {};
    }
    GS_TRY(const PixelEntry* entry, entry_of(*answer, a[0]));
    state.marked_entry = {state.inspection->pixel, entry->row};
    return {};
}

std::string tsv_line(const PixelEntry& e) {
    const Vec3d added = e.contribution();
    return fmt::format(
        "{}\t{}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t"
        "{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\n",
        e.row, kPixelFateNames[static_cast<std::size_t>(e.fate)], e.depth, e.opacity, e.alpha,
        e.before, e.weight, e.color.x, e.color.y, e.color.z, added.x, added.y, added.z, e.running.x,
        e.running.y, e.running.z, e.v_alpha, e.share);
}
Result<void> copy(S state, A a) {
    GS_TRY(const PixelAnswer* answer, answered(state));
    std::string lines =
        "row\tfate\tdepth\topacity\talpha\ttransmittance\tweight\tred\tgreen\tblue\t"
        "added_red\tadded_green\tadded_blue\trunning_red\trunning_green\trunning_blue\t"
        "loss_by_alpha\tgradient_share\n";
    if (!a.empty()) {
        GS_TRY(const PixelEntry* entry, entry_of(*answer, a[0]));
        lines += tsv_line(*entry);
    } else {
        for (const PixelEntry& entry : answer->report.entries) lines += tsv_line(entry);
    }
    return ask(state, [lines](Studio& studio) {
        studio.copy_text(lines);
        return Result<void>();
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"inspect.pixel", "Inspect the pixel again",    "View/Inspect 4", "I", "[X Y]",
     "List the Gaussians in this pixel of the picture, front to back; without X and Y, the last pixel in the current "
     "model.", pixel},
    {"inspect.tile",  "Inspect a tile",             "",       "",        "COLUMN ROW [listed]",
     "Inspect the pixel in the middle of a 16 x 16 tile; listed: of the picture whose tiles are listed.", tile},
    {"inspect.tiles", "Find the most expensive tiles", "View/Inspect 4", "Ctrl+Shift+I", "",
     "List the tiles of this picture by their blending time.", tiles},
    {"inspect.mark",  "Mark a Gaussian of the pixel", "",     "",        "[ROW|most]",
     "Outline a Gaussian of the inspected pixel's list in the picture; most: the one with the largest weight; without ROW, none.", mark},
    {"inspect.copy",  "Copy the pixel's list",      "",       "",        "[ROW]",
     "Copy the inspected pixel's list to the clipboard as tab-separated lines, one per Gaussian; or only line ROW.", copy},
    {"inspect.clear", "Clear the inspected pixel",  "View/Inspect 4", "", "",
     "Clear the inspected pixel and its marks in the picture.", clear},
};
// clang-format on

}  // namespace

std::span<const CommandRow> inspect_commands() { return kRows; }

}  // namespace gs
