// Commands for a lidar recording: the shown sweep, its colours and playback.
#include <optional>

#include "app/commands/commands.h"
#include "app/session/drive_desk.h"
#include "app/session/engine.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"
#include "panels/state/drive_state.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<const DriveState*> drive_of(S state) {
    if (state.drive) return state.drive.get();
    return fail(ErrorKind::usage, "", "no lidar sweeps are open",
                "open a drive, or add a recording with drive.open PATH");
}
Result<bool> switched(A a, bool now) {
    if (a.empty()) return !now;
    return switch_argument(a[0]);
}

Result<void> open(S state, A a) {
    GS_TRY_VOID(ask(state, [](Studio& s) { return s.ui().show_panel("Drive", false); }));
    return send(state, [path = a.empty() ? std::string() : a[0]](Engine& e) {
        e.part<DriveDesk>().open(path);
    });
}
Result<void> sweep(S state, A a) {
    GS_TRY(const DriveState* drive, drive_of(state));
    GS_TRY(const auto number,
           integer_argument(a[0], 1, static_cast<std::int64_t>(drive->sweeps.size()), "the sweep"));
    return send(state, [index = static_cast<std::size_t>(number - 1)](Engine& e) {
        e.part<DriveDesk>().choose(index);
    });
}
Result<void> step_by(S state, int by) {
    GS_TRY_VOID(drive_of(state));
    return send(state, [by](Engine& e) { e.part<DriveDesk>().step(by); });
}
Result<void> next(S state, A) { return step_by(state, 1); }
Result<void> previous(S state, A) { return step_by(state, -1); }
Result<void> time(S state, A a) {
    GS_TRY(const DriveState* drive, drive_of(state));
    constexpr double kRounded = 0.01;  // s that a slider's end may lie behind the last sweep
    GS_TRY(const double seconds, number_argument(a[0], 0, drive->length() + kRounded, "the time"));
    return send(state, [seconds](Engine& e) { e.part<DriveDesk>().go(seconds); });
}
Result<void> channel(S state, A a) {
    GS_TRY_VOID(drive_of(state));
    GS_TRY(const std::size_t which, choice_argument(a[0], kSweepChannelNames));
    return send(state, [which](Engine& e) {
        e.part<DriveDesk>().show_channel(static_cast<SweepChannel>(which));
    });
}
Result<void> play(S state, A a) {
    GS_TRY(const DriveState* drive, drive_of(state));
    GS_TRY(const bool on, switched(a, drive->playing));
    return send(state, [on](Engine& e) { e.part<DriveDesk>().play(on); });
}
Result<void> follow(S state, A a) {
    GS_TRY(const DriveState* drive, drive_of(state));
    GS_TRY(const bool on, switched(a, drive->following));
    return send(state, [on](Engine& e) { e.part<DriveDesk>().follow_photos(on); });
}
Result<void> in_picture(S state, A a) {
    GS_TRY(const DriveState* drive, drive_of(state));
    GS_TRY(const bool on, switched(a, drive->in_picture));
    return send(state, [on](Engine& e) { e.part<DriveDesk>().show_in_picture(on); });
}
Result<void> score(S state, A) {
    GS_TRY_VOID(drive_of(state));
    return send(state, [](Engine& e) { e.part<DriveDesk>().score(); });
}

// clang-format off
const CommandRow kRows[] = {
    {"drive.open",     "Read a lidar recording",    "",             "", "[PATH]",
     "Show the sweeps of a recording in the open scene's world; without a path, those of the open drive.", open},
    {"drive.sweep",    "Show a sweep",              "",             "", "N",
     "Choose a sweep by number, from 1, and render it from the current model.", sweep},
    {"drive.next",     "Next sweep",                "View/Drive 3", "", "",
     "Show the sweep after the current one.", next},
    {"drive.previous", "Previous sweep",            "View/Drive 3", "", "",
     "Show the sweep before the current one.", previous},
    {"drive.time",     "Go to a time",              "",             "", "SECONDS",
     "Go to SECONDS after the first sweep and show the nearest sweep.", time},
    {"drive.play",     "Play the drive",            "View/Drive 3", "", "[on|off]",
     "Play sweeps in real time; with drive.follow, photos as well.", play},
    {"drive.follow",   "Follow by photos",          "View/Drive 3", "", "[on|off]",
     "View through the photo taken at the shown time.", follow},
    {"drive.channel",  "Colour sweeps by",          "",             "", "NAME",
     "By range, intensity, height or time.", channel},
    {"drive.score",    "Score all sweeps",          "View/Drive 3", "", "",
     "Render every sweep from the model; report range errors, returns and what moved.", score},
    {"view.sweep",     "Sweep in the picture",      "View/Drive 3", "", "[on|off]",
     "Draw the chosen sweep, the lidar's path and the axes of lidar and camera over the picture.", in_picture},
};
// clang-format on

}  // namespace

std::span<const CommandRow> drive_commands() { return kRows; }

}  // namespace gs
