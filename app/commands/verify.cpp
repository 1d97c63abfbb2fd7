// Commands that check training and pictures: a frame against the reference, a step in a file,
// hashes of every step.
#include "app/commands/commands.h"
#include "app/session/engine.h"
#include "app/session/frame_verifier.h"
#include "app/session/training.h"
#include "app/studio/arguments.h"
#include "base/try.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::int64_t kMostSide = 65536;

Result<void> verify_frame(S state, A a) {
    std::optional<reference::Region> region;
    if (!a.empty()) {
        if (a.size() != 4)
            return fail(ErrorKind::usage, "", "a region has four sides: verify.frame X0 Y0 X1 Y1");
        std::int64_t sides[4] = {};
        for (std::size_t i = 0; i < 4; ++i) {
            GS_TRY(sides[i], integer_argument(a[i], 0, kMostSide, "a side of the region"));
        }
        if (sides[0] >= sides[2] || sides[1] >= sides[3])
            return fail(ErrorKind::usage, "", "the region is empty",
                        "X0 must be below X1, and Y0 below Y1");
        region = reference::Region{static_cast<int>(sides[0]), static_cast<int>(sides[1]),
                                   static_cast<int>(sides[2]), static_cast<int>(sides[3])};
    }
    return send(state, [region](Engine& e) { e.part<FrameVerifier>().verify(region); });
}
Result<void> clear(S state, A) {
    return send(state, [](Engine& e) { e.part<FrameVerifier>().clear(); });
}
Result<void> capture_step(S state, A a) {
    return send(state, [path = a.empty() ? std::string() : a[0]](Engine& e) {
        e.part<Training>().capture_step(path);
    });
}
Result<void> hashes(S state, A a) {
    bool on = true;
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    return send(state, [on](Engine& e) { e.part<Training>().set_hashes(on); });
}

// clang-format off
const CommandRow kRows[] = {
    {"verify.frame", "Verify this frame",           "View/Inspect 4", "Shift+F9",     "[X0 Y0 X1 Y1]",
     "Render the current view, or these pixels of it, with the double-precision reference, and "
     "list the differences stage by stage.", verify_frame},
    {"verify.clear", "Clear the verified frame",    "View/Inspect 4", "",             "",
     "Remove the differences from the picture, or cancel the verification.", clear},
    {"capture.step", "Capture a training step",     "Training 2", "F9",           "[PATH]",
     "Write the complete next training step to PATH or the run's folder, for gausscope replay; a paused "
     "run does that one step.", capture_step},
    {"train.hashes", "Hash every training step",    "",           "",             "[on|off]",
     "Write hashes of every stage of each step to the run's folder, for gausscope diff.", hashes},
};
// clang-format on

}  // namespace

std::span<const CommandRow> verify_commands() { return kRows; }

}  // namespace gs
