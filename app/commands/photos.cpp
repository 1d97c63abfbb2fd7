// Commands for the capture's photos: the cameras in the viewport, the contact sheet.
#include <imgui.h>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/parts/run_progress.h"
#include "app/studio/studio.h"
#include "panels/state/photo_looks.h"

namespace gs {
namespace command::photos {

using namespace args;

Result<void> copy_looks(StudioState& state) {
    if (!state.looks || state.looks->photos.empty())
        return fail(ErrorKind::usage, "", "the run does not learn the photos' exposure and colour",
                    "train.set appearance exposure before the first step");
    return ask(state, [looks = state.looks](Studio&) {
        ImGui::SetClipboardText(looks_csv(*looks).c_str());
        return Result<void>();
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"view.frusta.photos", "Photos in the cameras",    "View 2",
     "Draw each capture camera with its photo.", &ViewSettings::frusta_photos, toggle()},
    {"view.frusta.color",  "Colours of the cameras",   "",
     "Colour the capture cameras by split (train or test), psnr, ssim, loss or used.",
     &ViewSettings::frusta_color, choice("WHAT", kFrustaColorNames)},
    {"view.frusta.size",   "Size of the cameras",      "",
     "Size of the drawn capture cameras, relative to the default for the scene.",
     &ViewSettings::frusta_size, number("FACTOR", 0.05, 20)},
    {"view.poses.arrows",  "Pose corrections",         "View/Camera 3",
     "Draw arrows at the capture cameras for the run's pose corrections, magnified many times.",
     &RunProgress::show_pose_arrows, toggle()},
    {"view.appearance",    "As the photo shows it",    "View/Camera 3",
     "At a photo's camera, draw the scene with that photo's learned exposure and colour, or without.",
     &ViewSettings::photo_look, toggle()},
    {"appearance.copy",    "Copy exposures of photos", "",
     "Copy the learned exposures and white balances to the clipboard as CSV, one line per photo.", copy_looks},
    {"sheet.show",         "Contact sheet: show",      "",
     "all (photo, render, error), photo, render or error.",
     &SheetSettings::shows, choice("WHAT", kSheetShowsNames)},
    {"sheet.sort",         "Contact sheet: sort",      "",
     "By name, split, psnr, ssim, loss, used or step; psnr puts the worst first.",
     set_order<SheetSettings>, choice("KEY", kPhotoKeyNames), or_first(choice("up|down"))},
    {"sheet.width",        "Contact sheet: width",     "",
     "Width of each picture, 40 to 640 pixels.", &SheetSettings::width, number("PIXELS", 40, 640)},
};
// clang-format on

}  // namespace command::photos

std::span<const CommandRow> photo_commands() { return command::photos::kRows; }

}  // namespace gs
