// The pieces of a set that are in memory, by bytes: what is read for a choice of levels, what of it
// can be drawn at once, and the model of what is drawn. The studio works on a copy in a task, and
// `gausscope render --lod-budget` reads whole choices.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "renderer/io/splats/level_choice.h"

namespace gs {

/// Consecutive rows of a gathered model that are of one level, up to row `end`.
struct LevelRun {
    std::size_t end = 0;
    std::size_t level = 0;
};
/// The level of what belongs to every level.
inline constexpr std::size_t kEveryLevel = ~std::size_t{0};

/// A value: copies share the pieces.
class LevelStore {
  public:
    std::uint64_t bytes() const { return bytes_; }
    /// Bytes of a Gaussian of the highest SH degree that was read.
    double bytes_each() const;
    std::uint64_t environment() const;  ///< Gaussians
    std::size_t pieces() const { return held_.size(); }

    /// The files of the choice's pieces that are missing, those that cover most first, with the
    /// environment's.
    std::vector<std::size_t> missing(const LevelSet& set, const LevelChoice& choice) const;
    /// Reads a file and keeps all its pieces. Errors: of the file; malformed, cancelled.
    Result<void> read(const LevelSet& set, std::size_t file, const Progress& progress);
    /// All that is missing(). Errors: of read().
    Result<void> read_all(const LevelSet& set, const LevelChoice& choice, const Progress& progress);
    /// What can be drawn now, where the coarsest levels are here: for a missing piece of `wanted`
    /// the next coarser one that is here, or the level of `shown` where that is finer than
    /// `wanted`, here and within `budget` Gaussians.
    LevelChoice at_hand(const LevelSet& set, const LevelChoice& wanted, const LevelChoice& shown,
                        double budget) const;
    /// The choice's Gaussians: region after region as read_splats() has them, then the environment.
    /// All have to be here. `runs` gets the levels of its rows.
    GaussianModel gather(const LevelSet& set, const LevelChoice& choice,
                         std::vector<LevelRun>& runs) const;
    /// Forgets the pieces unused for longest until at most `most` bytes are left, but none of
    /// `needed` and no region's coarsest.
    void drop(const LevelSet& set, const LevelChoice& needed, std::uint64_t most);

  private:
    struct Held {
        std::shared_ptr<const GaussianModel> rows;
        std::uint64_t used = 0;  ///< the turn of the last choice with it
    };
    bool has(std::size_t piece) const { return held_.count(piece) > 0; }

    std::map<std::size_t, Held> held_;  ///< by number in LevelSet::pieces
    std::shared_ptr<const GaussianModel> environment_;
    std::uint64_t bytes_ = 0, turn_ = 0;
    int sh_degree_ = 0;
};

}  // namespace gs
