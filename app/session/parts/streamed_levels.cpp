#include "app/session/parts/streamed_levels.h"

#include <algorithm>

namespace gs {
namespace {

// Files that were read are kept while they hold no more Gaussians than this many budgets.
constexpr double kBudgetsKept = 3;

LevelWish wish_of(const ViewSettings& settings) {
    return {settings.lod_budget, settings.lod_pixels, settings.lod_level, settings.clip};
}

}  // namespace

void StreamedLevels::scene_changed(SceneChange change) {
    if (change != SceneChange::scene) return;
    ctx_.jobs.drop("levels");
    shown_ =
        ctx_.scene && ctx_.scene->levels ? coarsest_levels(*ctx_.scene->levels) : LevelChoice();
    refused_ = {};
    files_.clear();
    picture_.reset();
    publish();
}

StreamedLevels::For StreamedLevels::choose_for(const ViewRequest& picture) {
    if (!ctx_.scene || !ctx_.scene->levels) return For::ready;
    picture_ = picture;
    choose();
    if (ctx_.jobs.running("levels")) return For::reading;
    return wanted() == shown_ ? For::ready : For::refused;
}

void StreamedLevels::choose_for_viewport() {
    if (!picture_) return;
    picture_.reset();
    choose();
}

LevelChoice StreamedLevels::wanted() const {
    const ViewRequest& request = *decides();
    return choose_levels(*ctx_.scene->levels, camera_of(*ctx_.scene, request, 1.0, false),
                         wish_of(request.settings));
}

bool StreamedLevels::choose() {
    if (!decides() || !ctx_.scene || !ctx_.scene->levels || ctx_.jobs.running("levels"))
        return false;
    const LoadedScene& scene = *ctx_.scene;
    LevelChoice choice = wanted();
    if (choice == shown_ || choice == refused_) return false;
    refused_ = {};
    ctx_.jobs.start<Gathered>(
        {"levels", "reading levels", 0, true},
        [same = std::make_shared<LoadedScene>(same_scene(scene)), choice, files = files_,
         options = ctx_.options](const Progress& progress) -> Result<Gathered> {
            GS_TRY(auto gathered, gather_levels(*same->levels, choice, files, progress));
            Gathered out{std::move(*same), choice, std::move(gathered.files)};
            out.scene.level_runs = std::move(gathered.runs);
            auto model = std::make_shared<const GaussianModel>(std::move(gathered.model));
            GS_TRY_VOID(show_model(out.scene, std::move(model), options));
            return out;
        },
        [this](Gathered gathered) {
            show(std::move(gathered));
            choose();  // the camera may have moved on
            if (!ctx_.jobs.running("levels")) the<SceneDoctor>().start_first();
        },
        [this, choice](const Error& error) {
            refused_ = choice;
            if (error.kind != ErrorKind::cancelled) ctx_.events.error(error.text());
        });
    return true;
}

void StreamedLevels::show(Gathered gathered) {
    ctx_.replace_model(std::move(gathered.scene));
    shown_ = std::move(gathered.choice);
    files_ = std::move(gathered.files);
    const double budget = decides() ? decides()->settings.lod_budget : 0;
    drop_files(*ctx_.scene->levels, shown_, static_cast<std::uint64_t>(kBudgetsKept * budget),
               files_);
    publish();
}

void StreamedLevels::publish() {
    auto& levels = ctx_.events.changed().levels;
    levels = nullptr;
    if (ctx_.scene && ctx_.scene->levels)
        levels = std::make_shared<const LevelsState>(
            describe_levels(*ctx_.scene->levels, shown_, files_));
}

}  // namespace gs
