#include "renderer/doctor/activated.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "renderer/io/splats/values.h"

namespace gs::doctor {
namespace {

bool are_opacities(const GaussianModel& model) {
    float least = 1, most = 0;
    for (std::size_t i = 0; i < model.count; ++i) {
        const float value = model.at(kOpacityLogits, i);
        if (value < 0 || value > 1) return false;
        least = std::min(least, value);  // `least` where a value is not a number
        most = std::max(most, value);
    }
    return least < most;
}

bool are_sizes(const GaussianModel& model, double extent) {
    std::vector<float> largest;
    const std::size_t stride = (model.count >> 18) + 1;  // a sample of the rows is enough
    for (std::size_t i = 0; i < model.count; ++i) {
        float most = 0;
        for (int p = kLogScales; p < kQuats; ++p) {
            if (model.at(p, i) < 0) return false;
            most = std::max(most, model.at(p, i));
        }
        if (most > 0 && i % stride == 0) largest.push_back(most);
    }
    if (largest.empty()) return false;
    const double wide = kBlobSize * extent, median = static_cast<double>(quantile(largest, 0.5));
    if (median >= wide) return false;
    const float small = quantile(largest, 0.05), large = quantile(largest, 0.95);
    return std::exp(median) > wide || (large - small < std::log(2.0f) && large > 4 * small);
}

}  // namespace

Activated activated_values(const GaussianModel& model, const SceneBox& box) {
    if (model.count < kFewRows || !(box.extent > 0)) return {};
    return {are_opacities(model), are_sizes(model, box.extent)};
}

void undo_activation(GaussianModel& model, Activated which) {
    parallel_for(model.count, 16384, [&](std::size_t i) {
        if (which.opacities) {
            float& value = model.at(kOpacityLogits, i);
            value = logit_of(value);
        }
        if (which.sizes)
            for (int p = kLogScales; p < kQuats; ++p) model.at(p, i) = std::log(model.at(p, i));
    });
}

}  // namespace gs::doctor
