// A dense Adam step over every parameter (Kingma and Ba 2015), epsilon after the square root,
// bias-corrected.
#pragma once

#include "renderer/reference/parameters.h"

namespace gs::reference {

struct AdamRates {
    double means = 0, quats = 0, log_scales = 0, opacity_logits = 0, sh0 = 0, sh_rest = 0;
    double of_plane(int plane) const;
};
struct Adam {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-15;
    int steps = 0;
    Parameters first, second;  ///< moments

    explicit Adam(const Parameters& like)
        : first(like.count, like.sh_degree), second(like.count, like.sh_degree) {}
    void step(Parameters& parameters, const Parameters& gradient, const AdamRates& rates);
};

}  // namespace gs::reference
