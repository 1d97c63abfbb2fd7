// Commands of a lidar's recording: which sweep is shown, by what it is coloured, how time goes on.
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
    return fail(ErrorKind::usage, "", "no sweeps of a lidar are open",
                "open a drive, or read a recording beside what is open with drive.open PATH");
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
    {"drive.open",     "Read a lidar's recording",  "",             "", "[PATH]",
     "Shows the sweeps of a recording in the world of what is open; without a path those of the drive that is open.", open},
    {"drive.sweep",    "Show a sweep",              "",             "", "N",
     "Chooses a sweep by its number, from 1, and draws it from the model as it is now.", sweep},
    {"drive.next",     "Next sweep",                "View/Drive 3", "", "",
     "Shows the sweep after the chosen one.", next},
    {"drive.previous", "Previous sweep",            "View/Drive 3", "", "",
     "Shows the sweep before the chosen one.", previous},
    {"drive.time",     "Moment of the drive",       "",             "", "SECONDS",
     "Goes so many seconds past the first sweep, and shows the nearest one.", time},
    {"drive.play",     "Play the drive",            "View/Drive 3", "", "[on|off]",
     "Lets time go on: sweep after sweep, as fast as they were measured; with drive.follow the photos, too.", play},
    {"drive.follow",   "Follow by photos",          "View/Drive 3", "", "[on|off]",
     "The viewport looks through the photo of the moment that is shown.", follow},
    {"drive.channel",  "Colour sweeps by",          "",             "", "NAME",
     "By range, intensity, height or time.", channel},
    {"drive.score",    "Score all sweeps",          "View/Drive 3", "", "",
     "Draws every sweep from the model: how far ranges are from the measured ones, returns, and what moved.", score},
    {"view.sweep",     "Sweep in the picture",      "View/Drive 3", "", "[on|off]",
     "Draws the chosen sweep over the picture, where the lidar went, and the axes of lidar and camera.", in_picture},
};
// clang-format on

}  // namespace

std::span<const CommandRow> drive_commands() { return kRows; }

}  // namespace gs
