// Commands for comparing with the photo or a second scene, and how both share the viewport.
#include "app/commands/commands.h"
#include "app/session/engine.h"

namespace gs {
namespace command::compare {

using namespace args;
using S = StudioState&;

void compare_scene(Engine& engine, const std::string& path) {
    engine.open({.contents = {.path = path}, .beside = true});
}
Result<void> with(S state, CompareWith what) {
    if (what == CompareWith::scene && !state.other)
        return fail(ErrorKind::usage, "", "no second scene is open",
                    "open one with scene.compare PATH");
    state.view.with = what;
    return {};
}
Result<void> swap(S state) {
    if (!state.other)
        return fail(ErrorKind::usage, "", "only one scene is open",
                    "open another with scene.compare PATH");
    state.view.swapped = !state.view.swapped;
    return {};
}

// clang-format off
const CommandRow kRows[] = {
    {"scene.compare",     "Compare with another scene…", "File 1",
     "Open splats, a checkpoint or a run's folder next to the open scene, seen from the same "
     "camera.", compare_scene, word("PATH")},
    {"scene.swap",        "Swap the compared scenes",      "View 4",
     "Swap the sides of A and B.", swap},
    {"scene.end-compare", "End the comparison",            "File 4",
     "Close the second scene.", &Engine::end_compare},
    {"view.compare",      "Compare side by side or split", "",
     "off, beside, split or toggle.", &ViewSettings::compare, choice("MODE", kCompareNames)},
    {"view.with",         "Compare with photo or scene",   "",
     "Compare the picture with the photo or the second scene, if one is open.",
     with, choice("WHAT", kCompareWithNames)},
    {"view.split",        "Position of the split",         "",
     "0 (left) to 1 (right).", &ViewSettings::split, number("SHARE", 0, 1)},
    {"view.show-photo",   "The other picture",             "View 4",
     "In compare mode toggle, show the photo or second scene when on.", &ViewSettings::show_photo, toggle()},
    {"view.signed",       "Signed difference",             "View 4",
     "In mode error, show this picture minus the other instead of the absolute "
     "difference.", &ViewSettings::signed_error, toggle()},
};
// clang-format on

}  // namespace command::compare

std::span<const CommandRow> compare_commands() { return command::compare::kRows; }

}  // namespace gs
