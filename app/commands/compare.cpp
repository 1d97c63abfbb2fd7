// Commands of the comparison: with the photo or with a second scene, and how both share the
// viewport.
#include "app/commands/settings.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> split(S state, A a) { return set_number(state.view.split, a[0], 0, 1, "the split"); }
Result<void> compare_scene(S state, A arguments) {
    return send(state, OpenCommand{arguments[0], "", false, false, true});
}
Result<void> end_compare(S state, A) { return send(state, EndCompareCommand{}); }

Result<void> with(S state, A arguments) {
    if (arguments[0] == "scene" && !state.other)
        return fail(ErrorKind::usage, "", "no second scene is open",
                    "scene.compare PATH opens one");
    return set_choice<&ViewSettings::with, kCompareWithNames>(state, arguments);
}
Result<void> swap(S state, A) {
    if (!state.other)
        return fail(ErrorKind::usage, "", "only one scene is open",
                    "scene.compare PATH opens another");
    state.view.swapped = !state.view.swapped;
    return {};
}

}  // namespace

void add_compare_commands(std::vector<CommandRow>& rows) {
    const auto add = [&](CommandInfo info, Result<void> (*run)(S, A), std::size_t least,
                         std::size_t most) {
        rows.push_back({std::move(info), run, {}, least, most});
    };
    add({"scene.compare", "Compare with another scene...", "File", "Ctrl+Shift+O", "PATH",
         "Opens splats, a checkpoint or a run's folder beside the open scene, seen from the same "
         "camera."},
        compare_scene, 1, 1);
    add({"scene.swap", "Swap the compared scenes", "View", "X", "",
         "Exchanges the sides of A and B."},
        swap, 0, 0);
    add({"scene.end-compare", "End the comparison", "File", "", "", "Closes the second scene."},
        end_compare, 0, 0);
    add({"view.compare", "Compare side by side or split", "", "", "MODE",
         "off, beside, split or toggle."},
        set_choice<&ViewSettings::compare, kCompareNames>, 1, 1);
    add({"view.with", "Compare with photo or scene", "", "", "WHAT",
         "photo or scene: what the picture is compared with while a second scene is open."},
        with, 1, 1);
    add({"view.split", "Where the split is", "", "", "SHARE",
         "0 (left) to 1 (right) of the picture."},
        split, 1, 1);
    add({"view.show-photo", "The other picture", "View", "P", "[on|off]",
         "Which of the two compare mode toggle shows: the photo or second scene when on."},
        set_switch<&ViewSettings::show_photo>, 0, 1);
    add({"view.signed", "Signed difference", "View", "Shift+E", "[on|off]",
         "Mode error shows this picture minus the other one instead of the size of the "
         "difference."},
        set_switch<&ViewSettings::signed_error>, 0, 1);
}

}  // namespace gs
