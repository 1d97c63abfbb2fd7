// One step towards the most likely values of a few numbers that photos tell: given all that their
// steps have said, and that the numbers are known to be about right. A normal distribution whose
// prior has mean zero (pose_refinement.h says why).
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/poses/pose_information.h"

namespace gs {

/// What one step said.
template <std::size_t N>
struct StepSaid {
    math::Row<N> gradient;  ///< of the loss by the numbers
    double residual = 0;    ///< residual_of(), 0..1
    double forgets = 0;     ///< the share of what is known that counts no longer, 0..1
};

/// What one step forgets where several photos tell the same numbers, each once in a pass over them:
/// together as much as one alone would.
inline double forgets_of_one(double forgets, double photos) {
    return photos > 1 ? 1 - std::pow(1 - forgets, 1 / photos) : forgets;
}

/// Where the numbers go from `now`: to the lowest place of a loss as curved as the photo promises
/// (Gauss and Newton), drawn to zero by the prior of widths `sigma`. `known`: what steps have said
/// and is not forgotten, in the photo's information; takes in this step. 2 % of the picture's width
/// at most.
template <std::size_t N>
math::Row<N> likely_step(const Information<N>& photo, const StepSaid<N>& said,
                         const math::Row<N>& now, const math::Row<N>& sigma, double& known) {
    // A photo's pixels do not differ by chance alone, each for itself: all of them say as much as
    // this many independent ones would.
    constexpr double kPixelsWorth = 100;
    // Added to the diagonal of what a photo says, x itself: numbers that nearly undo each other
    // show less than points and photo promise, and ran away.
    const double damping = photo.scene_follows ? 0.01 : 0.1;
    // The scene follows slower than the numbers could go: a step is at most this share of one that
    // leaves the scene behind.
    constexpr double kFollows = 1 / 3.0;
    constexpr double kLeastResidual = 0.005;  // one below this is not believed
    constexpr double kLongestStep = 0.02;     // of what is seen, x picture width, root mean square
    // - log likelihood of Laplace's distribution: this many pixels x mean |difference| / b.
    const double b = std::max(said.residual, kLeastResidual), slope = kPixelsWorth / b;
    known = (1 - said.forgets) * known + slope / b;
    math::Square<N> precision = photo.change;
    math::Row<N> pull;
    for (std::size_t i = 0; i < N; ++i) {
        const double own = 1 / (sigma[i] * sigma[i]);
        for (double& x : precision[i]) x *= known;
        for (std::size_t j = 0; j < N; ++j)
            precision[i][j] += slope / (b * kFollows) * photo.held[i][j];
        precision[i][i] += damping * precision[i][i] + own;
        pull[i] = -slope * said.gradient[i] - said.forgets * own * now[i];
    }
    const math::Square<N> root = math::inverse_root(precision, 0);
    math::Row<N> by = math::times(root, math::times_transposed(root, pull));
    const math::Row<N> seen = math::times(photo.way, by);
    const double way =
        std::sqrt(std::max(0.0, std::inner_product(by.begin(), by.end(), seen.begin(), 0.0)));
    if (way > kLongestStep * photo.width)
        for (double& x : by) x *= kLongestStep * photo.width / way;
    return by;
}

}  // namespace gs
