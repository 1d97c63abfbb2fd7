#include "renderer/scene/near_plane.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/nth.h"

namespace gs {

float near_plane_of(const GaussianModel& model) {
    constexpr std::size_t kEnough = 10'000;  // rows looked at
    const std::size_t stride = std::max<std::size_t>(1, model.count / kEnough);
    std::array<std::vector<float>, 3> axes;
    for (std::size_t row = 0; row < model.count; row += stride) {
        const Vec3f mean = model.mean(row);
        if (!std::isfinite(mean.x + mean.y + mean.z)) continue;
        axes[0].push_back(mean.x);
        axes[1].push_back(mean.y);
        axes[2].push_back(mean.z);
    }
    if (axes[0].empty()) return 0;
    std::vector<float> away(axes[0].size(), 0.0f);
    for (const std::vector<float>& axis : axes) {
        std::vector<float> copy = axis;
        const float middle = upper_median(copy);
        for (std::size_t i = 0; i < axis.size(); ++i)
            away[i] += (axis[i] - middle) * (axis[i] - middle);
    }
    return near_plane_for(std::sqrt(static_cast<double>(upper_median(away))));
}

}  // namespace gs
