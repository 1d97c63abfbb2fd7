#include "app/session/parts/lapse_state.h"

#include "trainer/run/time_lapse.h"

namespace gs {
namespace {

std::vector<TimeLapseState::View> shown(const std::vector<LapseView>& views) {
    std::vector<TimeLapseState::View> out;
    for (const LapseView& view : views) {
        TimeLapseState::View& one = out.emplace_back();
        one.name = view.name;
        for (const std::uint64_t step : view.steps)
            one.pictures.push_back({step, lapse_picture(view.folder, step).string()});
    }
    return out;
}

}  // namespace

std::vector<LapseView> lapse_views(const LoadedScene& scene) {
    if (scene.run) return scene.run->keeper().lapse().views();
    return scene.run_folder.empty() ? std::vector<LapseView>() : time_lapse_in(scene.run_folder);
}

std::shared_ptr<const TimeLapseState> lapse_state(const LoadedScene& scene) {
    TimeLapseState out;
    if (scene.run) {
        const TimeLapse& lapse = scene.run->keeper().lapse();
        out.pace = text_of(lapse.pace());
        out.goes = !scene.run->ended();
        out.views = shown(lapse.views());
        out.taken = lapse.pictures();
        const double seconds = scene.run->times().seconds;
        if (seconds > 0) out.share = lapse.seconds() / seconds;
    } else {
        if (scene.run_folder.empty()) return nullptr;
        out.views = shown(lapse_views(scene));
        out.pace = text_of(LapsePace());
    }
    return std::make_shared<const TimeLapseState>(std::move(out));
}

}  // namespace gs
