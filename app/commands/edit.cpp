// Commands that edit the selected Gaussians, and the undo history.
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
                    "make one with view.clip X0 Y0 Z0 X1 Y1 Z1 or view.clip.fit");
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
     "Undo the newest edit of Gaussians, by the doctor, or of a setting.", undo},
    {"redo",             "Redo",                     "Edit 1", "Ctrl+Shift+Z",  "",
     "Redo the edit that was undone last.", redo},
    {"edit.hide",        "Hide the selection",       "Edit 3", "Shift+H",       "[ROW,... STEP]",
     "Hide and deselect the selected Gaussians; with ROW, select these first.", hide},
    {"edit.show-all",    "Show all",                 "Edit 3", "Ctrl+H",        "",
     "Show the hidden Gaussians again.", show_all},
    {"edit.lock",        "Lock the selection",       "Edit 3", "",              "",
     "Protect the selected Gaussians from edits.", lock},
    {"edit.unlock",      "Unlock the selection",     "Edit 3", "",              "",
     "Allow edits of the selected Gaussians again.", unlock},
    {"edit.unlock-all",  "Unlock all",               "Edit 3", "",              "",
     "Allow edits of all Gaussians again.", unlock_all},
    {"edit.delete",      "Delete the selection",     "Edit 5", "Delete",        "[ROW,... STEP]",
     "Delete the selected Gaussians; undo restores them. With ROW, select these first; refused if the model "
     "has changed since STEP.", remove},
    {"edit.duplicate",   "Duplicate the selection",  "Edit 5", "Ctrl+D",        "",
     "Copy each selected Gaussian in place and select the copies.", duplicate},
    {"edit.move",        "Move the selection",       "Edit/Transform 5", "",    "X Y Z",
     "Moves the selected Gaussians along the world's axes (world units).", move},
    {"edit.rotate",      "Rotate the selection",     "Edit/Transform 5", "",    "AXIS DEGREES",
     "Rotate the selection about the centre of its bounds, around x, y, z, -x, -y or -z.", rotate},
    {"edit.scale",       "Scale the selection",      "Edit/Transform 5", "",    "FACTOR",
     "Scale the selection about the centre of its bounds.", scale},
    {"edit.recolor",     "Recolour the selection",   "Edit 5", "",              "multiply|set R G B",
     "multiply: each channel by a factor. set: this colour (0 to 1 each) from every direction.", recolor},
    {"edit.crop",        "Crop to the clip box",     "Edit/Whole scene 5", "",              "",
     "Delete every Gaussian whose centre is outside the clip box (view.clip).", crop},
    {"edit.simplify",    "Simplify the splats",      "Edit/Whole scene 5", "",              "N|P%",
     "Reduce the number of Gaussians with little visible change, by merging neighbours and fitting colours to the "
     "capture's photos or to views from all around. For example edit.simplify 50%.", simplify},
    {"edit.go-to",       "Go to a step of the history", "",    "",              "STEPS",
     "Undo or redo until STEPS edits are applied; 0 restores the original.", go_to},
    {"export.selection", "Export the selection...",  "File 3", "",              "PATH",
     "Write only the selected Gaussians as a splat file.", export_selection},
};
// clang-format on

}  // namespace

std::span<const CommandRow> edit_commands() { return kRows; }

}  // namespace gs
