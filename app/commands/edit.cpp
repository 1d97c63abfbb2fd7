// Commands that edit the selected Gaussians, and the history that takes edits back.
#include <cmath>
#include <numbers>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/editor.h"
#include "app/session/engine.h"
#include "app/session/exporter.h"
#include "app/session/simplifier.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr double kFarthest = 1e9;  // world units that commands take
constexpr Mat3d kSame{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

/// Flags that change, of rows that have all of `of`.
Result<void> mark(S state, const char* verb, std::uint8_t of, std::uint8_t set,
                  std::uint8_t clear) {
    return send(state, [=](Engine& e) { e.part<Editor>().mark(verb, of, set, clear); });
}
Result<void> hide(S state, A a) {
    GS_TRY(const RowsArgument which, rows_of_step_argument(a));
    return send(state, [which](Engine& e) {
        if (e.part<Editor>().choose(which.rows, which.step))
            e.part<Editor>().mark("hidden", kSelected, kHidden, kSelected);
    });
}
Result<void> show_all(S state, A) { return mark(state, "shown", kHidden, 0, kHidden); }
Result<void> lock(S state, A) { return mark(state, "locked", kSelected, kLocked, 0); }
Result<void> unlock(S state, A) { return mark(state, "unlocked", kSelected | kLocked, 0, kLocked); }
Result<void> unlock_all(S state, A) { return mark(state, "unlocked", kLocked, 0, kLocked); }

Result<void> remove(S state, A a) {
    GS_TRY(const RowsArgument which, rows_of_step_argument(a));
    return send(state, [which](Engine& e) {
        if (e.part<Editor>().choose(which.rows, which.step)) e.part<Editor>().remove();
    });
}
Result<void> duplicate(S state, A) {
    return send(state, [](Engine& e) { e.part<Editor>().duplicate(); });
}
Result<void> move(S state, A a) {
    double v[3] = {};
    for (std::size_t i = 0; i < 3; ++i)
        GS_TRY_VOID(set_number(v[i], a[i], -kFarthest, kFarthest, "a distance"));
    return send(state, [shift = Vec3d{v[0], v[1], v[2]}](Engine& e) {
        e.part<Editor>().transform("moved", kSame, shift);
    });
}
Result<void> rotate(S state, A a) {
    GS_TRY(const Vec3d axis, axis_argument(a[0]));
    GS_TRY(const double degrees, number_argument(a[1], -36000, 36000, "the angle"));
    const double half = degrees * std::numbers::pi / 360, s = std::sin(half);
    const Mat3d turn = rotation_from_quat({std::cos(half), s * axis.x, s * axis.y, s * axis.z});
    return send(state, [turn](Engine& e) { e.part<Editor>().transform("turned", turn, {}); });
}
Result<void> scale(S state, A a) {
    GS_TRY(const double factor, number_argument(a[0], 1e-3, 1e3, "the factor"));
    Mat3d larger = kSame;
    for (int i = 0; i < 3; ++i) larger.m[i][i] = factor;
    return send(state, [larger](Engine& e) { e.part<Editor>().transform("scaled", larger, {}); });
}
Result<void> recolor(S state, A a) {
    constexpr std::array kWays{"multiply", "set"};
    GS_TRY(const std::size_t way, choice_argument(a[0], kWays));
    float rgb[3];
    for (std::size_t i = 0; i < 3; ++i) {
        GS_TRY(const double channel, number_argument(a[i + 1], 0, way == 0 ? 100 : 1, "a colour"));
        rgb[i] = static_cast<float>(channel);
    }
    return send(state, [way, color = Vec3f{rgb[0], rgb[1], rgb[2]}](Engine& e) {
        e.part<Editor>().recolor(static_cast<Recolor>(way), color);
    });
}
Result<void> crop(S state, A) {
    if (!state.view.clip)
        return fail(ErrorKind::usage, "", "there is no clip box to crop to",
                    "view.clip X0 Y0 Z0 X1 Y1 Z1 or view.clip.fit makes one");
    return send(state, [box = *state.view.clip](Engine& e) { e.part<Editor>().crop(box); });
}
Result<void> simplify(S state, A a) {
    return send(state, [to = a[0]](Engine& e) { e.part<Simplifier>().start(to); });
}
Result<void> go_to(S state, A a) {
    GS_TRY(const auto done, integer_argument(a[0], 0, 1'000'000, "the step of the history"));
    return send(state,
                [done](Engine& e) { e.part<Editor>().go_to(static_cast<std::size_t>(done)); });
}
Result<void> undo(S state, A) {
    return send(state, [](Engine& e) { e.undo(); });
}
Result<void> redo(S state, A) {
    return send(state, [](Engine& e) { e.redo(); });
}
Result<void> export_selection(S state, A a) {
    return send(state, [path = a[0]](Engine& e) { e.part<Exporter>().selection(path); });
}

// clang-format off
const CommandRow kRows[] = {
    {"undo",             "Undo",                     "Edit 1", "Ctrl+Z",        "",
     "Takes back the newest edit: of Gaussians, by the doctor, or of a setting.", undo},
    {"redo",             "Redo",                     "Edit 1", "Ctrl+Shift+Z",  "",
     "Makes the edit again that was taken back last.", redo},
    {"edit.hide",        "Hide the selection",       "Edit 3", "Shift+H",       "[ROW,... STEP]",
     "The selected Gaussians are not drawn any more, and not selected; with ROW, selects these first.", hide},
    {"edit.show-all",    "Show all",                 "Edit 3", "Ctrl+H",        "",
     "Hidden Gaussians are drawn again.", show_all},
    {"edit.lock",        "Lock the selection",       "Edit 3", "",              "",
     "The selected Gaussians stay as they are: no edit changes them.", lock},
    {"edit.unlock",      "Unlock the selection",     "Edit 3", "",              "",
     "The selected Gaussians can be changed again.", unlock},
    {"edit.unlock-all",  "Unlock all",               "Edit 3", "",              "",
     "All Gaussians can be changed again.", unlock_all},
    {"edit.delete",      "Delete the selection",     "Edit 5", "Delete",        "[ROW,... STEP]",
     "Takes the selected Gaussians away; undo brings them back. With ROW, selects these first; refused where the model "
     "is not the one after STEP any more.", remove},
    {"edit.duplicate",   "Duplicate the selection",  "Edit 5", "Ctrl+D",        "",
     "A copy of each selected Gaussian at the same place; the copies are selected then.", duplicate},
    {"edit.move",        "Move the selection",       "Edit/Transform 5", "",    "X Y Z",
     "Moves the selected Gaussians along the world's axes (world units).", move},
    {"edit.rotate",      "Rotate the selection",     "Edit/Transform 5", "",    "AXIS DEGREES",
     "Turns the selection about the middle of its bounds, around x, y, z, -x, -y or -z.", rotate},
    {"edit.scale",       "Scale the selection",      "Edit/Transform 5", "",    "FACTOR",
     "Makes the selection larger or smaller about the middle of its bounds.", scale},
    {"edit.recolor",     "Recolour the selection",   "Edit 5", "",              "multiply|set R G B",
     "multiply: each channel by a factor. set: this colour (0 to 1 each) from every direction.", recolor},
    {"edit.crop",        "Crop to the clip box",     "Edit/Whole scene 5", "",              "",
     "Deletes every Gaussian whose centre lies outside of the clip box (view.clip).", crop},
    {"edit.simplify",    "Simplify the splats",      "Edit/Whole scene 5", "",              "N|P%",
     "Fewer Gaussians that look much the same from the capture's photos, or from all around: neighbours are merged, "
     "colours fitted. For example edit.simplify 50%.", simplify},
    {"edit.go-to",       "Go to a step of the history", "",    "",              "STEPS",
     "Takes edits back, or makes them again, until so many are in force; 0: as it was.", go_to},
    {"export.selection", "Export the selection...",  "File 3", "",              "PATH",
     "Writes the selected Gaussians alone as a splat file.", export_selection},
};
// clang-format on

}  // namespace

std::span<const CommandRow> edit_commands() { return kRows; }

}  // namespace gs
