// Pictures of a streamed set under a budget: each camera chooses its levels, as in the studio
// (renderer/io/splats/level_choice.h), and waits for them. For `gausscope render --lod-budget`.
#pragma once

#include "renderer/io/splats/level_store.h"

namespace gs::cli {

class LevelPictures {
  public:
    /// Reads the coarsest level. Errors: of the set and its files.
    static Result<LevelPictures> open(const fs::path& lod_meta, double budget);
    /// With notes, as read_splats() gives a level.
    SplatFile coarsest() const;
    /// Reads what the camera's choice lacks. True: model() is another one than before. Errors: of
    /// the files.
    Result<bool> choose(const Camera& camera);
    const GaussianModel& model() const { return model_; }
    /// Of the whole set at its finest level.
    std::uint64_t finest() const { return set_.gaussians(0) + store_.environment(); }

  private:
    LevelSet set_;
    double budget_ = 0;
    bool said_ = false;  // that even the coarsest level is more
    LevelStore store_;
    LevelChoice shown_;
    GaussianModel model_;  // of shown_; empty until a camera has chosen
};

}  // namespace gs::cli
