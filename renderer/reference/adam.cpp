#include "renderer/reference/adam.h"

#include <cmath>

namespace gs::reference {

double AdamRates::of_plane(int plane) const {
    if (plane < kLogScales) return means;
    if (plane < kQuats) return log_scales;
    if (plane < kOpacityLogits) return quats;
    if (plane < kSh0) return opacity_logits;
    return plane < kShRest ? sh0 : sh_rest;
}

void Adam::step(Parameters& parameters, const Parameters& gradient, const AdamRates& rates) {
    ++steps;
    const double correct1 = 1 - std::pow(beta1, steps), correct2 = 1 - std::pow(beta2, steps);
    for (int p = 0; p < parameters.planes(); ++p)
        for (std::size_t i = 0; i < parameters.count; ++i) {
            const double g = gradient.at(p, i);
            double& m = first.at(p, i);
            double& v = second.at(p, i);
            m = beta1 * m + (1 - beta1) * g;
            v = beta2 * v + (1 - beta2) * g * g;
            parameters.at(p, i) -=
                rates.of_plane(p) * (m / correct1) / (std::sqrt(v / correct2) + epsilon);
        }
}

}  // namespace gs::reference
