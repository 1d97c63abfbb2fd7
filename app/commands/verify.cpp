// Commands that check training and pictures: a frame against the reference, a step in a file,
// hashes of every step.
#include "app/commands/settings.h"
#include "app/session/parts/frame_verifier.h"
#include "app/session/parts/run_recording.h"

namespace gs {
namespace command::verify {

using namespace args;

Parameter<reference::Region> region() {
    const auto side = [](const char* name) { return whole(name, 0, 65536); };
    const auto sides = both(both(side("X0"), side("Y0")), both(side("X1"), side("Y1")));
    return {
        sides, [read = sides.read](StudioState& state, Words& words) -> Result<reference::Region> {
            GS_TRY(const auto corners, read(state, words));
            const auto& [from, to] = corners;
            if (from.first < to.first && from.second < to.second)
                return reference::Region{static_cast<int>(from.first),
                                         static_cast<int>(from.second), static_cast<int>(to.first),
                                         static_cast<int>(to.second)};
            return fail(ErrorKind::usage, "", "the region is empty",
                        "X0 must be below X1, and Y0 below Y1");
        }};
}

// clang-format off
const CommandRow kRows[] = {
    {"verify.frame", "Verify this frame",           "View/Inspect 4",
     "Render the current view, or these pixels of it, with the double-precision reference, and "
     "list the differences stage by stage.", &FrameVerifier::verify, optional(region())},
    {"verify.clear", "Clear the verified frame",    "View/Inspect 4",
     "Remove the differences from the picture, or cancel the verification.", &FrameVerifier::clear},
    {"capture.step", "Capture a training step",     "Training 2",
     "Write the complete next training step to PATH or the run's folder, for gausscope replay; a paused "
     "run does that one step.", &RunRecording::capture_step, optional_word("PATH")},
    {"train.hashes", "Hash every training step",    "",
     "Write hashes of every stage of each step to the run's folder, for gausscope diff.",
     &RunRecording::set_hashes, optional(on_off(), true)},
};
// clang-format on

}  // namespace command::verify

std::span<const CommandRow> verify_commands() { return command::verify::kRows; }

}  // namespace gs
