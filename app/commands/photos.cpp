// Commands for the capture's photos: the cameras in the viewport, the contact sheet.
#include <optional>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/training.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "panels/state/photo_looks.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

const auto photos = set_switch<&ViewSettings::frusta_photos>;
const auto color = set_choice<&ViewSettings::frusta_color, kFrustaColorNames>;
Result<void> size(S state, A a) {
    return set_number(state.view.frusta_size, a[0], 0.05, 20, "the size");
}

Result<void> pose_arrows(S state, A a) {
    std::optional<bool> on;
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    return send(state, [on](Engine& e) { e.part<Training>().show_pose_arrows(on); });
}
const auto appearance = set_switch<&ViewSettings::photo_look>;
Result<void> copy_looks(S state, A) {
    if (!state.looks || state.looks->photos.empty())
        return fail(ErrorKind::usage, "", "the run does not learn the photos' exposure and colour",
                    "train.set appearance exposure before the first step");
    return ask(state, [looks = state.looks](Studio& studio) {
        studio.copy_text(looks_csv(*looks));
        return Result<void>();
    });
}

Result<void> show(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kSheetShowsNames));
    state.sheet_settings.shows = static_cast<SheetShows>(which);
    return {};
}
Result<void> sort(S state, A a) { return set_order(state.sheet_settings, a); }
Result<void> width(S state, A a) {
    return set_number(state.sheet_settings.width, a[0], 40, 640, "the width");
}

// clang-format off
const CommandRow kRows[] = {
    {"view.frusta.photos", "Photos in the cameras",    "View 2", "Shift+C", "[on|off]",
     "Draw each capture camera with its photo.", photos},
    {"view.frusta.color",  "Colours of the cameras",   "",     "",        "WHAT",
     "Colour the capture cameras by split (train or test), psnr, ssim, loss or used.", color},
    {"view.frusta.size",   "Size of the cameras",      "",     "",        "FACTOR",
     "Size of the drawn capture cameras, relative to the default for the scene.", size},
    {"view.poses.arrows",  "Pose corrections",         "View/Camera 3", "", "[on|off]",
     "Draw arrows at the capture cameras for the run's pose corrections, magnified many times.", pose_arrows},
    {"view.appearance",    "As the photo shows it",    "View/Camera 3", "", "[on|off]",
     "At a photo's camera, draw the scene with that photo's learned exposure and colour, or without.", appearance},
    {"appearance.copy",    "Copy exposures of photos", "",     "",        "",
     "Copy the learned exposures and white balances to the clipboard as CSV, one line per photo.", copy_looks},
    {"sheet.show",         "Contact sheet: show",      "",     "",        "WHAT",
     "all (photo, render, error), photo, render or error.", show},
    {"sheet.sort",         "Contact sheet: sort",      "",     "",        "KEY [up|down]",
     "By name, split, psnr, ssim, loss, used or step; psnr puts the worst first.", sort},
    {"sheet.width",        "Contact sheet: width",     "",     "",        "PIXELS",
     "Width of each picture, 40 to 640 pixels.", width},
};
// clang-format on

}  // namespace

std::span<const CommandRow> photo_commands() { return kRows; }

}  // namespace gs
