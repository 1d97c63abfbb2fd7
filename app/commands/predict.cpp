// Commands that predict the picture's time on other GPUs.
#include "app/commands/commands.h"
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/predictor.h"
#include "app/studio/studio.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr double kMostGaussians = 1e9;
constexpr int kMostSide = 32768, kMostBatch = 1024;

Result<void> measure(S state, A) {
    GS_TRY_VOID(ask(state, [](Studio& s) { return s.ui().show_panel("Stages", false); }));
    return send(state, [request = view_request_of(state, state.width, state.height)](Engine& e) {
        if (const auto shown = e.open_scene()) e.part<Predictor>().measure(*shown, request);
    });
}
Result<void> gpus(S state, A a) {
    return send(state, [list = a[0]](Engine& e) { e.part<Predictor>().gpus(list); });
}
Result<void> set_change(WhatIf& change, const std::string& name, A a) {
    if (name == "size") {
        if (a.size() != 3)
            return fail(ErrorKind::usage, "", "size takes two numbers, WIDTH and HEIGHT");
        GS_TRY(const auto width, integer_argument(a[1], 1, kMostSide, "the width"));
        GS_TRY(const auto height, integer_argument(a[2], 1, kMostSide, "the height"));
        change.width = static_cast<int>(width), change.height = static_cast<int>(height);
        return {};
    }
    if (a.size() != 2) return fail(ErrorKind::usage, "", name + " takes one number");
    if (name == "gaussians")
        return set_number(change.gaussians, a[1], 1, kMostGaussians, "the number of Gaussians");
    const bool batch = name == "batch";
    GS_TRY(const auto value, integer_argument(a[1], batch ? 1 : 0, batch ? kMostBatch : 3,
                                              batch ? "the number of views" : "the SH degree"));
    (batch ? change.batch : change.sh_degree) = static_cast<int>(value);
    return {};
}
Result<void> what_if_so(S state, A a) {
    constexpr std::array<const char*, 4> kNames{"gaussians", "size", "sh-degree", "batch"};
    GS_TRY(const std::size_t which, choice_argument(a[0], kNames));
    WhatIf change;
    GS_TRY_VOID(set_change(change, kNames[which], a));
    return send(state, [change](Engine& e) { e.part<Predictor>().what_if(change); });
}
Result<void> as_drawn(S state, A) {
    return send(state, [](Engine& e) { e.part<Predictor>().as_drawn(); });
}
Result<void> of_what(S state, A a) {
    constexpr std::array<const char*, 2> kWhat{"frame", "step"};
    GS_TRY(const std::size_t what, choice_argument(a[0], kWhat));
    return send(state, [step = what == 1](Engine& e) { e.part<Predictor>().step(step); });
}
Result<void> map_tiles(S state, A a) {
    GS_TRY(const bool on, switch_argument(a[0]));
    return send(state, [on](Engine& e) { e.part<Predictor>().map(on); });
}

// clang-format off
const CommandRow kPredictRows[] = {
    {"predict.measure",  "Predict times on other GPUs", "View/Costs 4", "", "",
     "Count the picture's work and predict how long it and a training step would take on other GPUs.",
     measure},
    {"predict.gpus",     "GPUs to predict for",         "",             "", "LIST",
     "Names from `gausscope predict --list`, separated by commas; the map shows the first.", gpus},
    {"predict.what-if",  "Predict a what-if",           "",             "", "NAME VALUE [HEIGHT]",
     "Predict the same scene with gaussians N, size WIDTH HEIGHT, sh-degree D or batch N.", what_if_so},
    {"predict.as-drawn", "Predict it as drawn",         "",             "", "",
     "Clear every what-if.", as_drawn},
    {"predict.of",       "Predict a frame or a step",   "",             "", "frame|step",
     "Predict a rendered frame or a training step.", of_what},
    {"predict.map",      "Colour tiles by predicted time", "",          "", "on|off",
     "Over the counted picture, show the microseconds of blending per tile on the first GPU.", map_tiles},
};
// clang-format on

}  // namespace

std::span<const CommandRow> predict_commands() { return kPredictRows; }

}  // namespace gs
