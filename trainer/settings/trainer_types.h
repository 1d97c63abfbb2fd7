// Plain values that a training run reports. The trainer and its backends fill them, app shows them.
// A number that could not be measured is NaN, never 0.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/memory_use.h"
#include "renderer/scene/photo_source.h"

namespace gs {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// How close a picture is to its photo; not measured where a mask leaves nothing of it.
struct ImageScore {
    std::size_t view = 0;
    std::string name;
    double psnr = kNotMeasured, ssim = kNotMeasured, l1 = kNotMeasured;
    double psnr_fitted = kNotMeasured;  ///< PictureScore::psnr_fitted
    double counted = 1;                 ///< share of its pixels that no mask hides
};
struct Evaluation {
    std::uint64_t step = 0;
    double psnr = kNotMeasured, ssim = kNotMeasured,
           psnr_fitted = kNotMeasured;  ///< means over the images that were measured
    double seconds = 0;
    std::vector<ImageScore> images;
    UnreadPhotos unread{};  ///< of the images: without scores

    /// Appends the images of `more`, of the same step, and recomputes the means.
    void add(const Evaluation& more);
};

/// What a round of density control did (trainer/density/density.h, trainer/density/relocation.h).
struct DensityReport {
    std::size_t cloned = 0, split = 0, pruned = 0;
    std::size_t wanted = 0;  ///< clones and splits there would have been without a limit
    std::size_t dead = 0, relocated = 0,
                added = 0;    ///< of a round that relocates: too faint; of these, moved; new ones
    std::size_t reduced = 0;  ///< of `pruned`: at the end of growth, by RoundPlan::keep
    std::size_t target = 0;   ///< Gaussians the strategy is heading for; 0: none is set
    bool out_of_memory = false;  ///< storage could not grow
    std::string why;             ///< the device's reason
};

}  // namespace gs
