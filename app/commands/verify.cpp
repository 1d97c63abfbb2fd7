// Commands that check training and pictures: a frame against the reference, a step in a file,
// hashes of every step.
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/frame_verifier.h"
#include "app/session/training.h"

namespace gs {
namespace {

using namespace args;

constexpr double kMostSide = 65536;

Parameter<reference::Region> region() {
    const auto sides = numbers("X0 Y0 X1 Y1", 0, kMostSide);
    return {sides,
            [read = sides.read](StudioState& state, Words& words) -> Result<reference::Region> {
                GS_TRY(const auto v, read(state, words));
                const auto at = [&](std::size_t i) { return static_cast<int>(v[i]); };
                if (at(0) < at(2) && at(1) < at(3))
                    return reference::Region{at(0), at(1), at(2), at(3)};
                return fail(ErrorKind::usage, "", "the region is empty",
                            "X0 must be below X1, and Y0 below Y1");
            }};
}

// clang-format off
const CommandRow kRows[] = {
    {"verify.frame", "Verify this frame",           "View/Inspect 4", "Shift+F9",
     "Render the current view, or these pixels of it, with the double-precision reference, and "
     "list the differences stage by stage.", &FrameVerifier::verify, optional(region())},
    {"verify.clear", "Clear the verified frame",    "View/Inspect 4", "",
     "Remove the differences from the picture, or cancel the verification.", &FrameVerifier::clear},
    {"capture.step", "Capture a training step",     "Training 2", "F9",
     "Write the complete next training step to PATH or the run's folder, for gausscope replay; a paused "
     "run does that one step.", &Training::capture_step, optional_word("PATH")},
    {"train.hashes", "Hash every training step",    "",           "",
     "Write hashes of every stage of each step to the run's folder, for gausscope diff.",
     &Training::set_hashes, optional(on_off(), true)},
};
// clang-format on

}  // namespace

std::span<const CommandRow> verify_commands() { return kRows; }

}  // namespace gs
