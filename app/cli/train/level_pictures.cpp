#include "app/cli/train/level_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/try.h"

namespace gs::cli {
namespace {

// Pieces that no picture needs are kept up to as many bytes as those of two budgets.
constexpr double kBudgetsKept = 2;

}  // namespace

Result<LevelPictures> LevelPictures::open(const fs::path& lod_meta, double budget) {
    LevelPictures out;
    GS_TRY(out.set_, read_level_set(lod_meta));
    out.budget_ = budget;
    GS_TRY_VOID(out.store_.read_all(out.set_, coarsest_levels(out.set_), {}));
    return out;
}

SplatFile LevelPictures::coarsest() const {
    std::vector<LevelRun> runs;
    return {store_.gather(set_, coarsest_levels(set_), runs),
            fmt::format("streamed SOG, {} levels", set_.levels),
            {}};
}

Result<bool> LevelPictures::choose(const Camera& camera) {
    // Only the budget counts, not how close Gaussians lie: a picture, not a frame in time.
    const double others = static_cast<double>(store_.environment());
    LevelChoice choice =
        choose_levels(set_, camera, {.budget = std::max(0.0, budget_ - others), .pixels = 0});
    if (choice.over_budget && !std::exchange(said_, true))
        log_warning(
            "the coarsest level with what belongs to every level has {} Gaussians, more "
            "than the budget of {}: all are drawn",
            choice.gaussians + store_.environment(), budget_);
    if (model_.count > 0 && choice == shown_) return false;
    for (const std::size_t file : store_.missing(set_, choice)) {
        GS_TRY_VOID(store_.read(set_, file, {}));
        store_.drop(set_, choice,
                    static_cast<std::uint64_t>(kBudgetsKept * budget_ * store_.bytes_each()));
    }
    std::vector<LevelRun> runs;
    model_ = store_.gather(set_, choice, runs);
    shown_ = std::move(choice);
    return true;
}

}  // namespace gs::cli
