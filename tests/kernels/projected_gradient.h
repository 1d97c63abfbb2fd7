// The oracle's gradient of one projected Gaussian against finite differences. For the tests of
// every way to project.
#pragma once

#include <vector>

#include "renderer/reference/project.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"

namespace gs::test {

/// relative_l2 of the gradients of row `i`, visible, of some mix of all that project() gives, with
/// respect to everything but colour. `scene` is as it was afterwards.
inline double projected_gradient_error(reference::Parameters& scene, std::size_t i,
                                       const reference::DrawnCamera& camera,
                                       const reference::Options& options, std::uint64_t seed) {
    const auto r = [&](std::uint64_t k) { return random_in(seed, i, k, -1, 1); };
    const reference::ProjectedGradient up{
        {r(0), r(1)}, {r(2), r(3), r(4)}, r(5), r(6), {r(7), r(8), r(9)}};
    reference::Parameters gradients(scene.count, scene.sh_degree);
    reference::project_backward(scene, i, camera, options, up, gradients);
    const auto value = [&] {
        const auto p = reference::project(scene, i, camera, options);
        return up.mean.x * p.mean.x + up.mean.y * p.mean.y + up.conic.xx * p.conic.xx +
               up.conic.xy * p.conic.xy + up.conic.yy * p.conic.yy + up.opacity * p.opacity +
               up.depth * p.depth + dot(up.color, p.color);
    };
    std::vector<double> own, expected;
    for (int plane = kMeans; plane < kOpacityLogits + 1; ++plane) {
        double& x = scene.at(plane, i);
        const double before = x, h = 2e-6;
        x = before + h;
        const double ahead = value();
        x = before - h;
        const double behind = value();
        x = before;
        own.push_back(gradients.at(plane, i));
        expected.push_back((ahead - behind) / (2 * h));
    }
    return relative_l2(own, expected);
}

}  // namespace gs::test
