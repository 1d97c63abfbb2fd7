// The Training panel's growth part: the number of Gaussians against the strategy's target, and
// the changes of each of its rounds.
#include <fmt/format.h>

#include <algorithm>

#include "panels/training/training_panel.h"

namespace gs {
namespace {

constexpr float kMostSteepTarget = 3;  // times the current number: above this, shown as text

float highest(const std::vector<CurvePoint>& curve) {
    float out = 0;
    for (const CurvePoint& point : curve) out = std::max(out, point.value);
    return out;
}

struct RoundLine {
    const char* name;
    ImU32 color;
    std::vector<CurvePoint> RoundCurves::*points;
};
constexpr RoundLine kRoundLines[] = {{"cloned", color_rgb(0x56b4e9), &RoundCurves::cloned},
                                     {"split", color_rgb(0xe6d84f), &RoundCurves::split},
                                     {"added", color_rgb(0x2fb58c), &RoundCurves::added},
                                     {"relocated", color_rgb(0xcc79a7), &RoundCurves::relocated},
                                     {"pruned", color_rgb(0xd55e00), &RoundCurves::pruned}};

}  // namespace

void TrainingPanel::draw_growth(const Snapshot& snapshot) {
    if (!snapshot.curves || snapshot.curves->rounds.target.empty())
        return empty_note("The number of Gaussians appears here after the first density control");
    const Curves& curves = *snapshot.curves;
    wrapped_text(theme().dim, snapshot.training.strategy);
    std::vector<PlotLine> growth{{"Gaussians", color_rgb(0x2fb58c), curves.gaussians}};
    if (highest(curves.rounds.target) <= kMostSteepTarget * highest(curves.gaussians))
        growth.push_back({"target", theme().warning, curves.rounds.target});
    std::vector<PlotLine> rounds;
    for (const RoundLine& line : kRoundLines)
        if (const auto& points = curves.rounds.*line.points; highest(points) > 0)
            rounds.push_back({line.name, line.color, points, true});
    const float room = ImGui::GetContentRegionAvail().x;
    const bool beside = room > 34 * em();
    growth_range.begin(0, static_cast<double>(snapshot.training.step));
    PlotLook look{.title = "Gaussians",
                  .from_zero = true,
                  .legend = growth.size() > 1,
                  .width = beside ? 0.5F * room - 0.5F * em() : room,
                  .height = 9 * em()};
    plot("##growth", growth, look, growth_range);
    if (rounds.empty()) return;
    if (beside) ImGui::SameLine();
    look.title = "per round";
    look.legend = true;
    plot("##rounds", rounds, look, growth_range);
}

}  // namespace gs
