// Commands for the doctor and for background work: examine, fix, undo, look at a
// Gaussian, cancel.
#include <limits>

#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/scene_doctor.h"
#include "app/studio/arguments.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Result<void> examine(S state, A) {
    return send(state, [](Engine& e) { e.part<SceneDoctor>().examine(); });
}
Result<void> fix(S state, A a) {
    const std::string name = a.empty() || a[0] == "all" ? "" : a[0];
    return send(state, [name](Engine& e) { e.part<SceneDoctor>().fix(name); });
}
Result<void> undo_fix(S state, A) {
    return send(state, [](Engine& e) { e.part<SceneDoctor>().undo(); });
}
Result<void> look_at_gaussian(S state, A a) {
    const std::string row_text = a[0].starts_with('#') ? a[0].substr(1) : a[0];
    GS_TRY(const auto row, integer_argument(row_text, 0, kMost, "the Gaussian's row"));
    return send(state,
                [row](Engine& e) { e.part<SceneDoctor>().mark(static_cast<std::uint64_t>(row)); });
}
Result<void> unmark(S state, A) {
    return send(state, [](Engine& e) { e.part<SceneDoctor>().unmark(); });
}
Result<void> cancel(S state, A a) {
    return send(state, [name = a.empty() ? "" : a[0]](Engine& e) { e.cancel(name); });
}
Result<void> dismiss(S state, A a) {
    if (a.empty()) {
        state.notices.clear();
        return {};
    }
    GS_TRY(const auto serial, integer_argument(a[0], 0, kMost, "the notice's number"));
    std::erase_if(state.notices, [&](const TimedNotice& n) {
        return n.notice.serial == static_cast<std::uint64_t>(serial);
    });
    return {};
}

// clang-format off
const CommandRow kRows[] = {
    {"doctor.examine", "Examine the scene",          "Doctor 1", "",       "",
     "Look for problems again; for a training run, in the current model as well.", examine},
    {"doctor.fix",     "Fix the splats",             "Doctor 1", "",       "[NAME]",
     "Fix one finding of the doctor, or everything that can be fixed; the file does not "
     "change.", fix},
    {"doctor.undo",    "Undo the last fix",          "Doctor 1", "",       "",
     "Undo the last doctor.fix.", undo_fix},
    {"view.gaussian",  "Look at a Gaussian",         "",       "",       "ROW",
     "Turn to the Gaussian with this id and mark it.", look_at_gaussian},
    {"view.unmark",    "Remove the mark",            "View 4",   "U",      "",
     "Clear the marker of the Gaussian.", unmark},
    {"cancel",         "Cancel running work",        "Doctor 2", "",       "[NAME]",
     "Cancel loading, examining, fixing or exporting: all, or load, compare, doctor, mend, "  // style: ok
     "export, levels, problems.", cancel},
    {"notice.dismiss", "Dismiss notices",            "",       "",       "[NUMBER]",
     "Remove one notice from the picture, or all.", dismiss},
};
// clang-format on

}  // namespace

std::span<const CommandRow> doctor_commands() { return kRows; }

}  // namespace gs
