// Commands that edit the selected Gaussians, and the undo history.
#include <cmath>
#include <numbers>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/exporter.h"
#include "app/session/parts/row_edits.h"
#include "app/session/parts/selector.h"
#include "app/session/parts/simplifier.h"

namespace gs {
namespace command::edit {

using namespace args;

constexpr double kFarthest = 1e9;  // world units that commands take
constexpr std::size_t kLongestHistory = 1'000'000;
constexpr Mat3d kSame{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

void undo(History& history) { history.undo(); }
void redo(History& history) { history.redo(); }

using Rows = std::vector<std::uint64_t>;
using Step = std::optional<std::uint64_t>;

void hide(Selector& selector, const Rows& rows, Step step) {
    if (selector.choose(rows, step))
        selector.mark({"hide", "hidden"}, kSelected, kHidden, kSelected);
}
void show_all(Selector& selector) { selector.mark({"show", "shown"}, kHidden, 0, kHidden); }
void lock(Selector& selector) { selector.mark({"lock", "locked"}, kSelected, kLocked, 0); }
constexpr Verb kUnlock{"unlock", "unlocked"};
void unlock(Selector& selector) { selector.mark(kUnlock, kSelected | kLocked, 0, kLocked); }
void unlock_all(Selector& selector) { selector.mark(kUnlock, kLocked, 0, kLocked); }
void remove(Engine& engine, const Rows& rows, Step step) {
    if (engine.part<Selector>().choose(rows, step)) engine.part<RowEdits>().remove();
}
void move(RowEdits& edits, Vec3d shift) { edits.transform({"move", "moved"}, kSame, shift); }
void rotate(RowEdits& edits, Vec3d axis, double degrees) {
    const double half = degrees * std::numbers::pi / 360, s = std::sin(half);
    const Mat3d turn = rotation_from_quat({std::cos(half), s * axis.x, s * axis.y, s * axis.z});
    edits.transform({"rotate", "turned"}, turn, {});
}
void scale(RowEdits& edits, double factor) {
    Mat3d larger = kSame;
    for (int i = 0; i < 3; ++i) larger.m[i][i] = factor;
    edits.transform({"scale", "scaled"}, larger, {});
}
Result<void> recolor(StudioState& state, Recolor way, Vec3d color) {
    if (way == Recolor::set && std::max({color.x, color.y, color.z}) > 1)
        return fail(ErrorKind::usage, "", "the channels of a colour are between 0 and 1",
                    "multiply takes larger factors");
    return send(state, [way, color](Engine& e) { e.part<RowEdits>().recolor(way, narrow(color)); });
}
Result<void> crop(StudioState& state) {
    GS_TRY(const ClipBox box, clip_box(state));
    return send(state, [box](Engine& e) { e.part<RowEdits>().crop(box); });
}

// clang-format off
const CommandRow kRows[] = {
    {"undo",             "Undo",                     "Edit 1",
     "Undo the newest edit: of Gaussians, settings, the camera path, measurements or notes.", undo},
    {"redo",             "Redo",                     "Edit 1",
     "Redo the edit that was undone last.", redo},
    {"edit.hide",        "Hide the selection",       "Edit 3",
     "Hide and deselect the selected Gaussians; with ROW, select these first.",
     hide, some_gaussians(), optional(whole("STEP", 0, kMost))},
    {"edit.show-all",    "Show all",                 "Edit 3",
     "Show the hidden Gaussians again.", show_all},
    {"edit.lock",        "Lock the selection",       "Edit 3",
     "Protect the selected Gaussians from edits.", lock},
    {"edit.unlock",      "Unlock the selection",     "Edit 3",
     "Allow edits of the selected Gaussians again.", unlock},
    {"edit.unlock-all",  "Unlock all",               "Edit 3",
     "Allow edits of all Gaussians again.", unlock_all},
    {"edit.delete",      "Delete the selection",     "Edit 5",
     "Delete the selected Gaussians; undo restores them. With ROW, select these first; refused if the model "
     "has changed since STEP.", remove, some_gaussians(), optional(whole("STEP", 0, kMost))},
    {"edit.duplicate",   "Duplicate the selection",  "Edit 5",
     "Copy each selected Gaussian in place and select the copies.", &RowEdits::duplicate},
    {"edit.move",        "Move the selection",       "Edit/Transform 5",
     "Moves the selected Gaussians along the world's axes (world units).",
     move, vector("X Y Z", -kFarthest, kFarthest)},
    {"edit.rotate",      "Rotate the selection",     "Edit/Transform 5",
     "Rotate the selection about the centre of its bounds, around x, y, z, -x, -y or -z.",
     rotate, axis(), number("DEGREES", -36000, 36000)},
    {"edit.scale",       "Scale the selection",      "Edit/Transform 5",
     "Scale the selection about the centre of its bounds.", scale, number("FACTOR", 1e-3, 1e3)},
    {"edit.recolor",     "Recolour the selection",   "Edit 5",
     "multiply: each channel by a factor. set: this colour (0 to 1 each) from every direction.",
     recolor, choice("multiply|set"), vector("R G B", 0, 100)},
    {"edit.crop",        "Crop to the clip box",     "Edit/Whole scene 5",
     "Delete every Gaussian whose centre is outside the clip box (view.clip).", crop},
    {"edit.simplify",    "Simplify the splats",      "Edit/Whole scene 5",
     "Reduce the number of Gaussians with little visible change, by merging neighbours and fitting colours to the "
     "capture's photos or to views from all around. For example edit.simplify 50%.",
     &Simplifier::start, word("N|P%")},
    {"edit.go-to",       "Go to a step of the history", "",
     "Undo or redo until STEPS edits are applied; 0 restores the original.",
     &History::go_to, whole("STEPS", 0, kLongestHistory)},
    {"export.selection", "Export the selection…",  "File 3",
     "Write only the selected Gaussians as a splat file.", &Exporter::selection, word("PATH")},
};
// clang-format on

}  // namespace command::edit

std::span<const CommandRow> edit_commands() { return command::edit::kRows; }

}  // namespace gs
