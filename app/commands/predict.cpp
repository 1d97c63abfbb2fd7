// Commands that predict the picture's time on other GPUs.
#include <cmath>

#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/predictor.h"
#include "app/studio/studio.h"

namespace gs {
namespace command::predict {

using namespace args;
using S = StudioState&;

constexpr double kMostGaussians = 1e9;
constexpr int kMostSide = 32768, kMostBatch = 1024;

Result<void> measure(S state, const ViewRequest& request) {
    GS_TRY_VOID(ask(state, [](Studio& s) { return s.ui().show_panel("Stages", false); }));
    return send(state, [request](Engine& e) {
        if (const auto shown = e.open_scene()) e.part<Predictor>().measure(*shown, request);
    });
}
constexpr std::array kWhatIfNames{"gaussians", "size", "sh-degree", "batch"};
Result<void> what_if(S state, std::size_t name, double value, std::optional<int> height) {
    constexpr double kLeast[] = {1, 1, 0, 1}, kMosts[] = {kMostGaussians, kMostSide, 3, kMostBatch};
    if ((name == 1) != height.has_value())
        return fail(ErrorKind::usage, "",
                    fmt::format("{} takes {}", kWhatIfNames[name],
                                name == 1 ? "two numbers, WIDTH and HEIGHT" : "one number"));
    if (value < kLeast[name] || value > kMosts[name] || (name > 0 && value != std::floor(value)))
        return fail(
            ErrorKind::usage, "",
            fmt::format("{} must be a {} between {:g} and {:g}, not {:g}", kWhatIfNames[name],
                        name > 0 ? "whole number" : "number", kLeast[name], kMosts[name], value));
    WhatIf change;
    const int whole_value = static_cast<int>(value);
    if (name == 0) change.gaussians = value;
    if (name == 1) change.width = whole_value, change.height = *height;
    if (name == 2) change.sh_degree = whole_value;
    if (name == 3) change.batch = whole_value;
    return send(state, [change](Engine& e) { e.part<Predictor>().what_if(change); });
}

// clang-format off
const CommandRow kPredictRows[] = {
    {"predict.measure",  "Predict times on other GPUs", "View/Costs 4",
     "Count the picture's work and predict how long it and a training step would take on other GPUs.",
     measure, shown_view()},
    {"predict.gpus",     "GPUs to predict for",         "",
     "Names from `gausscope predict --list`, separated by commas; the map shows the first.",
     &Predictor::gpus, word("LIST")},
    {"predict.what-if",  "Predict a what-if",           "",
     "Predict the same scene with gaussians N, size WIDTH HEIGHT, sh-degree D or batch N.",
     what_if, choice("NAME", kWhatIfNames), number("VALUE", 0, kMostGaussians),
     optional(whole("HEIGHT", 1, kMostSide))},
    {"predict.as-drawn", "Predict it as drawn",         "",
     "Clear every what-if.", &Predictor::as_drawn},
    {"predict.of",       "Predict a frame or a step",   "",
     "Predict a rendered frame or a training step.", &Predictor::step, choice("frame|step")},
    {"predict.map",      "Colour tiles by predicted time", "",
     "Over the counted picture, show the microseconds of blending per tile on the first GPU.",
     &Predictor::map, on_off()},
};
// clang-format on

}  // namespace command::predict

std::span<const CommandRow> predict_commands() { return command::predict::kPredictRows; }

}  // namespace gs
