#include "app/session/lapse_state.h"

#include "trainer/run_folder.h"
#include "trainer/time_lapse.h"

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

/// The folder of the run that was opened to be looked at; empty: it is none.
fs::path folder_of(const LoadedScene& scene) {
    if (run_in(scene.path)) return scene.path;
    const fs::path folder = folder_of_checkpoint(scene.path);
    return run_in(folder) ? folder : fs::path();
}

}  // namespace

std::vector<LapseView> lapse_views(const LoadedScene& scene) {
    if (scene.run) return scene.run->keeper().lapse().views();
    const fs::path folder = folder_of(scene);
    return folder.empty() ? std::vector<LapseView>() : time_lapse_in(folder);
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
        if (folder_of(scene).empty()) return nullptr;
        out.views = shown(lapse_views(scene));
        out.pace = text_of(LapsePace());
    }
    return std::make_shared<const TimeLapseState>(std::move(out));
}

}  // namespace gs
