#include "renderer/doctor/activated.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "renderer/io/splats/values.h"

namespace gs::doctor {
namespace {

bool are_opacities(const GaussianModel& model) {
    const float* values = model.plane(kOpacityLogits);
    const auto [least, most] = std::minmax_element(values, values + model.count);
    return *least >= 0 && *most <= 1 && *least < *most;
}

bool are_sizes(const GaussianModel& model, double extent) {
    constexpr std::size_t kSampled = 1u << 18;
    std::vector<float> largest;
    const std::size_t stride = model.count / kSampled + 1;
    for (std::size_t i = 0; i < model.count; ++i) {
        float most = 0;
        for (int p = kLogScales; p < kQuats; ++p) {
            const float value = model.at(p, i);
            if (!(value > 0) || !std::isfinite(value)) return false;
            most = std::max(most, value);
        }
        if (i % stride == 0) largest.push_back(most);
    }
    const auto middle = largest.begin() + static_cast<std::ptrdiff_t>(largest.size() / 2);
    std::nth_element(largest.begin(), middle, largest.end());
    const double wide = kBlobSize * extent, median = static_cast<double>(*middle);
    return std::exp(median) > wide && median < wide;
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
