// Commands for a lidar recording: the shown sweep, its colours and playback.
#include <optional>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/drive_part.h"
#include "app/studio/studio.h"
#include "panels/state/drive_state.h"

namespace gs {
namespace command::drive {

using namespace args;
using S = StudioState&;

Result<const DriveState*> drive_of(S state) {
    if (state.drive) return state.drive.get();
    return fail(ErrorKind::usage, "", "no lidar sweeps are open",
                "open a drive, or add a recording with drive.open PATH");
}

Result<void> open(S state, const std::string& path) {
    GS_TRY_VOID(ask(state, [](Studio& s) { return s.ui().show_panel("Drive", false); }));
    return send(state, [path](Engine& e) { e.part<DrivePart>().open(path); });
}
Result<void> sweep(S state, std::int64_t number) {
    GS_TRY(const DriveState* drive, drive_of(state));
    const std::size_t count = drive->sweeps.size();
    if (number > static_cast<std::int64_t>(count))
        return fail(ErrorKind::usage, "",
                    fmt::format("the sweep must be between 1 and {}, not {}", count, number));
    return send(state, [index = static_cast<std::size_t>(number - 1)](Engine& e) {
        e.part<DrivePart>().choose(index);
    });
}
Result<void> time(S state, double seconds) {
    GS_TRY(const DriveState* drive, drive_of(state));
    constexpr double kRounded = 0.01;  // s that a slider's end may be after the last sweep
    if (seconds > drive->length() + kRounded)
        return fail(ErrorKind::usage, "",
                    fmt::format("the time must be between 0 and {:g} s, not {:g}", drive->length(),
                                seconds));
    return send(state, [seconds](Engine& e) { e.part<DrivePart>().go(seconds); });
}
/// A switch of the open sweeps, its new state.
Parameter<bool> switched(bool DriveState::*now) {
    const auto given = toggle();
    return {given, [now, read = given.read](S state, Words& words) -> Result<bool> {
                GS_TRY(const DriveState* drive, drive_of(state));
                GS_TRY(const std::optional<bool> on, read(state, words));
                return on.value_or(!(drive->*now));
            }};
}
Result<void> score(S state) {
    GS_TRY_VOID(drive_of(state));
    return send(state, [](Engine& e) { e.part<DrivePart>().score(); });
}

// clang-format off
const CommandRow kRows[] = {
    {"drive.open",     "Read a lidar recording",    "",
     "Show the sweeps of a recording in the open scene's world; without a path, those of the open drive.",
     open, optional_word("PATH")},
    {"drive.sweep",    "Show a sweep",              "",
     "Choose a sweep by number, from 1, and render it from the current model.", sweep, whole("N", 1, kMost)},
    {"drive.next",     "Next sweep",                "View/Drive 3",
     "Show the sweep after the current one.", &DrivePart::step, when(drive_of, always(1))},
    {"drive.previous", "Previous sweep",            "View/Drive 3",
     "Show the sweep before the current one.", &DrivePart::step, when(drive_of, always(-1))},
    {"drive.time",     "Go to a time",              "",
     "Go to SECONDS after the first sweep and show the nearest sweep.", time, number("SECONDS", 0, 1e9)},
    {"drive.play",     "Play the drive",            "View/Drive 3",
     "Play sweeps in real time; with drive.follow, photos as well.", &DrivePart::play, switched(&DriveState::playing)},
    {"drive.follow",   "Follow by photos",          "View/Drive 3",
     "View through the photo taken at the shown time.", &DrivePart::follow_photos, switched(&DriveState::following)},
    {"drive.channel",  "Colour sweeps by",          "",
     "By range, intensity, height or time.", &DrivePart::show_channel, when(drive_of, choice("NAME", kSweepChannelNames))},
    {"drive.score",    "Score all sweeps",          "View/Drive 3",
     "Render every sweep from the model; report range errors, returns and what moved.", score},
    {"view.sweep",     "Sweep in the picture",      "View/Drive 3",
     "Draw the chosen sweep, the lidar's path and the axes of lidar and camera over the picture.",
     &DrivePart::show_in_picture, switched(&DriveState::in_picture)},
};
// clang-format on

}  // namespace command::drive

std::span<const CommandRow> drive_commands() { return command::drive::kRows; }

}  // namespace gs
