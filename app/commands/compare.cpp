// Commands for comparing with the photo or a second scene, and how both share
// the viewport.
#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> compare_scene(S state, A a) {
    OpenRequest request{a[0]};
    request.beside = true;
    return send(state, [request](Engine& e) { e.open(request); });
}
Result<void> end_compare(S state, A) {
    return send(state, [](Engine& e) { e.end_compare(); });
}
Result<void> with(S state, A a) {
    if (a[0] == "scene" && !state.other)
        return fail(ErrorKind::usage, "", "no second scene is open",
                    "open one with scene.compare PATH");
    return set_choice<&ViewSettings::with, kCompareWithNames>(state, a);
}
Result<void> swap(S state, A) {
    if (!state.other)
        return fail(ErrorKind::usage, "", "only one scene is open",
                    "open another with scene.compare PATH");
    state.view.swapped = !state.view.swapped;
    return {};
}
Result<void> split(S state, A a) { return set_number(state.view.split, a[0], 0, 1, "the split"); }
const auto compare = set_choice<&ViewSettings::compare, kCompareNames>;
const auto show_photo = set_switch<&ViewSettings::show_photo>;
const auto signed_error = set_switch<&ViewSettings::signed_error>;

// clang-format off
const CommandRow kRows[] = {
    {"scene.compare",     "Compare with another scene...", "File 1", "Ctrl+Shift+O", "PATH",
     "Open splats, a checkpoint or a run's folder next to the open scene, seen from the same "
     "camera.", compare_scene},
    {"scene.swap",        "Swap the compared scenes",      "View 4", "X",            "",
     "Swap the sides of A and B.", swap},
    {"scene.end-compare", "End the comparison",            "File 4", "",             "",
     "Close the second scene.", end_compare},
    {"view.compare",      "Compare side by side or split", "",     "",             "MODE",
     "off, beside, split or toggle.", compare},
    {"view.with",         "Compare with photo or scene",   "",     "",             "WHAT",
     "Compare the picture with the photo or the second scene, if one is open.", with},
    {"view.split",        "Position of the split",         "",     "",             "SHARE",
     "0 (left) to 1 (right).", split},
    {"view.show-photo",   "The other picture",             "View 4", "P",            "[on|off]",
     "In compare mode toggle, show the photo or second scene when on.", show_photo},
    {"view.signed",       "Signed difference",             "View 4", "Shift+E",      "[on|off]",
     "In mode error, show this picture minus the other instead of the absolute "
     "difference.", signed_error},
};
// clang-format on

}  // namespace

std::span<const CommandRow> compare_commands() { return kRows; }

}  // namespace gs
