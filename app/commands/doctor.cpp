// Commands of the doctor and of what runs in the background: examine, mend, take back, look at a
// Gaussian, cancel.
#include <algorithm>
#include <limits>

#include "app/commands/commands.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> examine_again(S state, A) { return send(state, ExamineCommand{}); }
Result<void> fix_finding(S state, A arguments) {
    const bool all = arguments.empty() || arguments[0] == "all";
    return send(state, MendCommand{all ? "" : arguments[0]});
}
Result<void> undo_fix(S state, A) { return send(state, UndoMendCommand{}); }
Result<void> look_at_gaussian(S state, A arguments) {
    const std::string& text = arguments[0];
    const auto row =
        integer_argument(text.starts_with('#') ? text.substr(1) : text, 0,
                         std::numeric_limits<std::int64_t>::max(), "the Gaussian's row");
    if (!row) return tl::unexpected<Error>(row.error());
    return send(state, MarkCommand{static_cast<std::uint64_t>(*row)});
}
Result<void> unmark(S state, A) {
    state.marked.reset();
    return {};
}
Result<void> cancel(S state, A arguments) {
    return send(state, CancelCommand{arguments.empty() ? std::string() : arguments[0]});
}
Result<void> dismiss(S state, A arguments) {
    if (arguments.empty()) {
        state.notices.clear();
        return {};
    }
    const auto serial = integer_argument(arguments[0], 0, std::numeric_limits<std::int64_t>::max(),
                                         "the notice's number");
    if (!serial) return tl::unexpected<Error>(serial.error());
    std::erase_if(state.notices, [&](const TimedNotice& n) {
        return n.notice.serial == static_cast<std::uint64_t>(*serial);
    });
    return {};
}

}  // namespace

void add_doctor_commands(std::vector<CommandRow>& rows) {
    const auto add = [&](CommandInfo info, Result<void> (*run)(S, A), std::size_t least,
                         std::size_t most) {
        rows.push_back({std::move(info), run, {}, least, most});
    };
    add({"doctor.examine", "Examine the scene", "Doctor", "", "",
         "Looks again for what is wrong; of a training run, also in the model as it is now."},
        examine_again, 0, 0);
    add({"doctor.fix", "Mend the splats", "Doctor", "", "[NAME]",
         "Mends one finding of the doctor, or everything that can be mended; the file stays as it "
         "is."},
        fix_finding, 0, 1);
    add({"doctor.undo", "Take the last mending back", "Doctor", "Ctrl+Z", "",
         "The splats are as they were before the last doctor.fix."},
        undo_fix, 0, 0);
    add({"view.gaussian", "Look at a Gaussian", "", "", "ROW",
         "Turns to the Gaussian of this row and marks it."},
        look_at_gaussian, 1, 1);
    add({"view.unmark", "Remove the mark", "View", "U", "",
         "The Gaussian that was looked at is marked no longer."},
        unmark, 0, 0);
    add({"cancel", "Cancel what goes on", "Doctor", "", "[NAME]",
         "Ends loading, examining, mending or exporting: all, or load, compare, doctor, mend, "
         "export, levels."},
        cancel, 0, 1);
    add({"notice.dismiss", "Dismiss notices", "", "", "[NUMBER]",
         "Takes one notice off the picture, or all."},
        dismiss, 0, 1);
}

}  // namespace gs
