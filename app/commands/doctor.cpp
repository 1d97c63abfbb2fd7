// Commands for the doctor and for background work: examine, fix, undo, look at a Gaussian, cancel.

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/scene_doctor.h"

namespace gs {
namespace command::doctor {

using namespace args;

void fix(SceneDoctor& doctor, const std::string& name) { doctor.fix(name == "all" ? "" : name); }
void dismiss(StudioState& state, std::optional<std::uint64_t> serial) {
    std::erase_if(state.notices,
                  [&](const TimedNotice& n) { return !serial || n.notice.serial == *serial; });
}

// clang-format off
const CommandRow kRows[] = {
    {"doctor.examine", "Examine the scene",          "Doctor 1",
     "Look for problems again; for a training run, in the current model as well.", &SceneDoctor::examine},
    {"doctor.fix",     "Fix the splats",             "Doctor 1",
     "Fix one finding of the doctor, or everything that can be fixed; the file does not "
     "change.", fix, optional_word("NAME")},
    {"doctor.undo",    "Undo the last fix",          "Doctor 1",
     "Undo the last doctor.fix.", &SceneDoctor::undo},
    {"view.gaussian",  "Look at a Gaussian",         "",
     "Turn to the Gaussian with this id and mark it.", &SceneDoctor::mark, gaussian()},
    {"view.unmark",    "Remove the mark",            "View 4",
     "Clear the marker of the Gaussian.", &SceneDoctor::unmark},
    {"cancel",         "Cancel running work",        "Doctor 2",
     "Cancel loading, examining, fixing or exporting: all, or load, compare, doctor, mend, "  // style: ok
     "export, levels, problems.", &Engine::cancel, optional_word("NAME")},
    {"notice.dismiss", "Dismiss notices",            "",
     "Remove one notice from the picture, or all.", dismiss, optional(whole("NUMBER", 0, kMost))},
};
// clang-format on

}  // namespace command::doctor

std::span<const CommandRow> doctor_commands() { return command::doctor::kRows; }

}  // namespace gs
