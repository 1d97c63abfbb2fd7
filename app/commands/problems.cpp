// Commands that find where the model differs from its photos, show one point in every photo, and
// go there.
#include <optional>

#include <fmt/format.h>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/photo_problems.h"
#include "panels/state/photo_problems.h"

namespace gs {
namespace command::problems {

using namespace args;
using S = StudioState&;

Result<void> find(S state) {
    state.problems_settings.shows = ProblemsShow::regions;
    return send(state, [](Engine& e) { e.part<ProblemFinder>().find(); });
}
/// Without a pixel, the one under the mouse.
Result<void> point(S state, const ViewRequest& request,
                   std::optional<std::pair<double, double>> at) {
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    if (!at && !state.hovered_pixel)
        return fail(ErrorKind::usage, "", "no pixel is under the mouse",
                    "point at the picture or give the pixel: problems.point X Y");
    const Camera& shown = state.frame->camera;
    if (!at)
        at = {(state.hovered_pixel->first + 0.5) / shown.width,
              (state.hovered_pixel->second + 0.5) / shown.height};
    state.problems_settings.shows = ProblemsShow::place;
    return send(state, [request, at = *at](Engine& e) {
        e.part<ProblemFinder>().point(request, at.first, at.second);
    });
}

/// The photo of entry `index` of a list, if it has one; the engine reports missing entries.
std::optional<std::size_t> photo_of(const PhotoProblems& problems, ProblemKind kind,
                                    std::size_t index) {
    const auto in = [&](const auto& list) {
        return index < list.size() ? std::optional(list[index].view) : std::nullopt;
    };
    if (kind == ProblemKind::seen)
        return problems.point ? in(problems.point->photos) : std::nullopt;
    if (!problems.found) return std::nullopt;
    if (kind == ProblemKind::region) return in(problems.found->regions);
    if (kind == ProblemKind::hole) return in(problems.found->holes);
    return std::nullopt;
}

Result<void> go(S state, std::size_t number, ProblemKind which) {
    const std::size_t index = number - 1;
    if (state.problems)
        if (const auto photo = photo_of(*state.problems, which, index))
            GS_TRY_VOID(look_from(state, {"", static_cast<int>(*photo), state.navigation}));
    return send(state, [which, index](Engine& e) { e.part<ProblemFinder>().go(which, index); });
}
Result<void> select(S state, std::size_t number, ProblemKind which) {
    if (which != ProblemKind::gaussian && which != ProblemKind::floater)
        return fail(ErrorKind::usage, "",
                    fmt::format("a {} has no Gaussians of its own",
                                kProblemKindNames[static_cast<std::size_t>(which)]),
                    "problems.select N gaussian, or N floater");
    return send(state, [=](Engine& e) { e.part<ProblemFinder>().select(which, number - 1); });
}

// clang-format off
const CommandRow kRows[] = {
    {"problems.find",   "Find errors in photos",         "Doctor 3",
     "Search every photo for the worst regions, holes, floaters and the Gaussians that contribute to "
     "errors.", find},
    {"problems.point",  "This place in every photo",     "Doctor 3",
     "Show the point at a pixel of the picture (the one under the mouse) in every photo that sees "
     "it, worst first.", point, shown_view(), optional(both(pixel_x(), pixel_y()))},
    {"problems.go",     "Go to a problem",               "",
     "Go to number N of the regions found, or of hole, gaussian, floater, or seen (the point's "
     "photos).", go, whole("N", 1, kMost), or_first(choice("KIND", kProblemKindNames))},
    {"problems.select", "Select a problem's Gaussians",  "",
     "Select Gaussian N of the list, or the Gaussians of floater N.",
     select, whole("N", 1, kMost), choice("gaussian|floater", kProblemKindNames)},
    {"problems.show",   "Problems: show",                "",
     "time (each photo's error over the steps), regions, place, gaussians, floaters or holes.",
     &ProblemsSettings::shows, choice("WHAT", kProblemsShowNames)},
    {"problems.sort",   "Problems: sort the photos",     "",
     "Errors over time by name, split, psnr, ssim, loss, used or step.",
     set_order<ProblemsSettings>, choice("KEY", kPhotoKeyNames), or_first(choice("up|down"))},
    {"problems.history", "Problems: error over time",     "",
     "Colour the errors over time by psnr or loss.", &ProblemsSettings::loss, choice("psnr|loss")},
    {"problems.cancel", "Cancel looking for problems",   "",
     "Cancel problems.find or problems.point; earlier results stay.",
     &Engine::cancel, always(std::string("problems"))},
    {"problems.clear",  "Clear the problems",            "Doctor 3",
     "Clear the results and the mark in the picture.", &ProblemFinder::clear},
};
// clang-format on

}  // namespace command::problems

std::span<const CommandRow> problem_commands() { return command::problems::kRows; }

}  // namespace gs
