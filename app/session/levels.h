// Levels of detail in the studio: chooses a level of a streamed set for each region, and gathers
// the model for the choice. Pure functions; StreamedLevels (streamed_levels.h) calls the choice for
// each new view and runs the gathering as a task.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "app/session/session_types.h"
#include "app/session/shown_tint.h"
#include "panels/state/scene_state.h"
#include "renderer/io/splats/level_set.h"

namespace gs {

/// The user's settings (ViewSettings).
struct LevelWish {
    double budget = 2e6;            ///< Gaussians at most
    double pixels = 2;              ///< most distance on the screen between a region's Gaussians
    int level = -1;                 ///< -1: by distance and budget; else this one everywhere
    std::optional<ClipBox> clip{};  ///< regions outside are invisible: use the coarsest
};

struct LevelChoice {
    std::vector<std::uint8_t> levels;  ///< by region: an index among its own pieces, 0 the finest
    std::uint64_t gaussians = 0;       ///< without the environment
    double pixels = 0;                 ///< the wish, widened until the budget was kept
    bool over_budget = false;          ///< even the coarsest is more
    bool operator==(const LevelChoice& other) const { return levels == other.levels; }
};

/// A region is drawn at the coarsest level whose Gaussians lie at most `pixels` apart on the
/// screen: its diagonal over the square root of their number, seen from the nearest point of its
/// box. When that is more than the budget, the pixels grow for all regions alike, so that the
/// farthest coarsen first.
LevelChoice choose_levels(const LevelSet& set, const Camera& camera, const LevelWish& wish);
/// The coarsest level everywhere, shown first.
LevelChoice coarsest_levels(const LevelSet& set);

/// Files that were read, by number; the environment has the number of files.
using LevelFiles = std::map<std::size_t, std::shared_ptr<const GaussianModel>>;

struct GatheredLevels {
    GaussianModel model;
    LevelFiles files;            ///< those given and those read for it
    std::vector<LevelRun> runs;  ///< of the model's rows, in their order
};
/// The Gaussians of a choice. Errors: of the files, cancelled.
Result<GatheredLevels> gather_levels(const LevelSet& set, const LevelChoice& choice,
                                     LevelFiles files, const Progress& progress);
/// Drops files that `choice` does not need, largest first, until at most `most` Gaussians are left.
void drop_files(const LevelSet& set, const LevelChoice& choice, std::uint64_t most,
                LevelFiles& files);

/// For the panels.
LevelsState describe_levels(const LevelSet& set, const LevelChoice& choice,
                            const LevelFiles& files);

}  // namespace gs
