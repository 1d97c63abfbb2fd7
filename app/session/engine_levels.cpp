// The engine's half of streamed sets: for each new view it is decided which region is drawn at
// which level; where that differs from what is shown, files are read and the model is gathered as a
// task, and shown when it is ready.
#include <algorithm>

#include "app/session/engine.h"

namespace gs {
namespace {

// Files that were read are kept while they hold no more Gaussians than this many budgets.
constexpr double kBudgetsKept = 3;

LevelWish wish_of(const ViewSettings& settings) {
    return {settings.lod_budget, settings.lod_pixels, settings.lod_level};
}

}  // namespace

void Engine::choose_levels_for(const ViewRequest& request) {
    if (!scene_ || !scene_->levels || jobs_.running("levels")) return;
    const LevelSet& set = *scene_->levels;
    LevelChoice choice =
        choose_levels(set, camera_of(*scene_, request, 1.0, false), wish_of(request.settings));
    if (choice == levels_.shown || choice == levels_.refused) return;
    levels_.wanted = choice;
    levels_.refused = {};
    jobs_.start<ShownLevels>(
        {"levels", "reading levels"},
        [scene = std::make_shared<LoadedScene>(same_scene(*scene_)), choice = std::move(choice),
         files = levels_.files,
         options = options_](const Progress& progress) -> Result<ShownLevels> {
            GS_TRY(auto gathered, gather_levels(*scene->levels, choice, files, progress));
            ShownLevels out{std::move(*scene), choice, std::move(gathered.files)};
            auto model = std::make_shared<const GaussianModel>(std::move(gathered.model));
            GS_TRY_VOID(show_model(out.scene, std::move(model), options));
            return out;
        },
        [this](ShownLevels shown) {
            show_levels(std::move(shown));
            if (viewer_.request())
                choose_levels_for(*viewer_.request());  // the camera may have moved on
            if (!jobs_.running("levels")) doctor_.start_first();
            last_status_ = {};
        },
        [this](const Error& error) {
            levels_.refused = levels_.wanted;
            if (error.kind != ErrorKind::cancelled) tell_.error(error.text());
            last_status_ = {};
        });
    publish_status();  // before the picture of this request, so that who waits for both waits long
                       // enough
}

void Engine::show_levels(ShownLevels shown) {
    replace_model(std::move(shown.scene));
    levels_.shown = std::move(shown.choice);
    levels_.files = std::move(shown.files);
    const double budget = viewer_.request() ? viewer_.request()->settings.lod_budget : 0;
    drop_files(*scene_->levels, levels_.shown, static_cast<std::uint64_t>(kBudgetsKept * budget),
               levels_.files);
    publish_levels();
    doctor_.forget_rows();
}

void Engine::publish_levels() {
    tell_.changed().levels = scene_ && scene_->levels
                                 ? std::make_shared<const LevelsState>(describe_levels(
                                       *scene_->levels, levels_.shown, levels_.files))
                                 : nullptr;
}

}  // namespace gs
