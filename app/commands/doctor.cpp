// Commands of the doctor and of what runs in the background: examine, fix, take back, look at a
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
     "Looks again for what is wrong; of a training run, also in the model as it is now.", examine},
    {"doctor.fix",     "Mend the splats",            "Doctor 1", "",       "[NAME]",
     "Mends one finding of the doctor, or everything that can be mended; the file stays as it "
     "is.", fix},
    {"doctor.undo",    "Take the last mending back", "Doctor 1", "",       "",
     "The splats are as they were before the last doctor.fix.", undo_fix},
    {"view.gaussian",  "Look at a Gaussian",         "",       "",       "ROW",
     "Turns to the Gaussian of this row and marks it.", look_at_gaussian},
    {"view.unmark",    "Remove the mark",            "View 4",   "U",      "",
     "The Gaussian that was looked at is marked no longer.", unmark},
    {"cancel",         "Cancel what goes on",        "Doctor 2", "",       "[NAME]",
     "Ends loading, examining, mending or exporting: all, or load, compare, doctor, mend, "
     "export, levels, problems.", cancel},
    {"notice.dismiss", "Dismiss notices",            "",       "",       "[NUMBER]",
     "Takes one notice off the picture, or all.", dismiss},
};
// clang-format on

}  // namespace

std::span<const CommandRow> doctor_commands() { return kRows; }

}  // namespace gs
