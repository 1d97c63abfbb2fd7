// Floaters: what training put into the air to please a photo or two. A Gaussian floats when it
// makes up a pixel or more of the photos, few of them see it (a twentieth, two at least), and it is
// near a camera (nearer than kNear of the typical depth of a photo that sees it) or apart from
// everything. Apart: the Gaussians that are seen are put into cells, cells that touch are one
// cluster, and the cluster has fewer than a hundredth of the largest one's Gaussians. What floats
// in cells that touch is one floater. (The doctor's findings look at each Gaussian alone, without
// photos: renderer/doctor.)
#pragma once

#include <vector>

#include "renderer/problems/gaussian_blame.h"

namespace gs {

inline constexpr double kNear = 0.3;
inline constexpr float kLeastFloaterWeight = 1;  ///< pixels, over all photos

struct FloaterSearch {
    std::vector<Floater> floaters;  ///< the largest weight first
    unsigned few_photos = 0;
    double cell = 0;  ///< side of the cells: a fiftieth of the box that holds 98 % of the means
    std::uint64_t seen = 0;
};
/// `most` floaters at most.
FloaterSearch find_floaters(const GaussianModel& model,
                            const std::vector<GaussianBlame::Sums>& sums, std::size_t photos,
                            std::size_t most);

}  // namespace gs
