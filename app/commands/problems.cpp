// Commands that find where the model differs from its photos, show one point in every photo, and
// go there.
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/photo_problems.h"
#include "app/studio/arguments.h"
#include "base/try.h"
#include "panels/state/photo_problems.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> show(S state, A a) {
    GS_TRY(const std::size_t which, choice_argument(a[0], kProblemsShowNames));
    state.problems_settings.shows = static_cast<ProblemsShow>(which);
    return {};
}
Result<void> sort(S state, A a) { return set_order(state.problems_settings, a); }
Result<void> history(S state, A a) {
    constexpr std::array<const char*, 2> kOf{"psnr", "loss"};
    GS_TRY(const std::size_t which, choice_argument(a[0], kOf));
    state.problems_settings.loss = which == 1;
    return {};
}
Result<void> find(S state, A) {
    state.problems_settings.shows = ProblemsShow::regions;
    return send(state, [](Engine& e) { e.part<ProblemFinder>().find(); });
}
/// Without a pixel, the one under the mouse.
Result<void> point(S state, A a) {
    if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
    const Camera& shown = state.frame->camera;
    double x = 0, y = 0;
    if (a.empty() && !state.hovered_pixel)
        return fail(ErrorKind::usage, "", "no pixel is under the mouse",
                    "point at the picture or give the pixel: problems.point X Y");
    if (a.size() == 1)
        return fail(ErrorKind::usage, "", "a pixel has two coordinates", "problems.point X Y");
    if (a.empty()) {
        x = state.hovered_pixel->first + 0.5;
        y = state.hovered_pixel->second + 0.5;
    } else {
        GS_TRY(x, number_argument(a[0], 0, shown.width, "X"));
        GS_TRY(y, number_argument(a[1], 0, shown.height, "Y"));
    }
    state.problems_settings.shows = ProblemsShow::place;
    return send(
        state, [request = view_request_of(state, state.width, state.height), x = x / shown.width,
                y = y / shown.height](Engine& e) { e.part<ProblemFinder>().point(request, x, y); });
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

Result<void> go(S state, A a) {
    GS_TRY(const auto number,
           integer_argument(a[0], 1, std::numeric_limits<std::int32_t>::max(), "the number"));
    std::size_t kind = 0;
    if (a.size() > 1) {
        GS_TRY(kind, choice_argument(a[1], kProblemKindNames));
    }
    const auto which = static_cast<ProblemKind>(kind);
    const auto index = static_cast<std::size_t>(number - 1);
    if (state.problems)
        if (const auto photo = photo_of(*state.problems, which, index))
            GS_TRY_VOID(look_from(state, {"", static_cast<int>(*photo), state.navigation}));
    return send(state, [which, index](Engine& e) { e.part<ProblemFinder>().go(which, index); });
}
Result<void> select(S state, A a) {
    GS_TRY(const auto number,
           integer_argument(a[0], 1, std::numeric_limits<std::int32_t>::max(), "the number"));
    GS_TRY(const std::size_t kind, choice_argument(a[1], kProblemKindNames));
    const auto which = static_cast<ProblemKind>(kind);
    if (which != ProblemKind::gaussian && which != ProblemKind::floater)
        return fail(ErrorKind::usage, "", fmt::format("a {} has no Gaussians of its own", a[1]),
                    "problems.select N gaussian, or N floater");
    return send(state, [which, index = static_cast<std::size_t>(number - 1)](Engine& e) {
        e.part<ProblemFinder>().select(which, index);
    });
}
Result<void> cancel(S state, A) {
    return send(state, [](Engine& e) { e.cancel("problems"); });
}
Result<void> clear(S state, A) {
    return send(state, [](Engine& e) { e.part<ProblemFinder>().clear(); });
}

// clang-format off
const CommandRow kRows[] = {
    {"problems.find",   "Find errors in photos",         "Doctor 3", "Ctrl+Shift+F", "",
     "Search every photo for the worst regions, holes, floaters and the Gaussians that contribute to "
     "errors.", find},
    {"problems.point",  "This place in every photo",     "Doctor 3", "Shift+I", "[X Y]",
     "Show the point at a pixel of the picture (the one under the mouse) in every photo that sees "
     "it, worst first.", point},
    {"problems.go",     "Go to a problem",               "",         "",        "N [KIND]",
     "Go to number N of the regions found, or of hole, gaussian, floater, or seen (the point's "
     "photos).", go},
    {"problems.select", "Select a problem's Gaussians",  "",         "",        "N gaussian|floater",
     "Select Gaussian N of the list, or the Gaussians of floater N.", select},
    {"problems.show",   "Problems: show",                "",         "",        "WHAT",
     "time (each photo's error over the steps), regions, place, gaussians, floaters or holes.", show},
    {"problems.sort",   "Problems: sort the photos",     "",         "",        "KEY [up|down]",
     "Errors over time by name, split, psnr, ssim, loss, used or step.", sort},
    {"problems.history", "Problems: error over time",     "",        "",        "psnr|loss",
     "Colour the errors over time by psnr or loss.", history},
    {"problems.cancel", "Cancel looking for problems",   "",         "",        "",
     "Cancel problems.find or problems.point; earlier results stay.", cancel},
    {"problems.clear",  "Clear the problems",            "Doctor 3", "",        "",
     "Clear the results and the mark in the picture.", clear},
};
// clang-format on

}  // namespace

std::span<const CommandRow> problem_commands() { return kRows; }

}  // namespace gs
