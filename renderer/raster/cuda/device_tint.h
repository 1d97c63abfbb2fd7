// DeviceTint: the words of a GaussianTint in device memory, for projection.
#pragma once

#include <memory>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/model_view.h"

namespace gs::cuda {

/// Sent again when they are others.
struct DeviceTint {
    std::shared_ptr<const GaussianTint> shown;  // keeps its address from being another's
    std::uint64_t serial = 0;
    DeviceBuffer<std::uint32_t> words{"tint of Gaussians"};

    TintView show(const std::shared_ptr<const GaussianTint>& tint, const Stream& stream) {
        if (tint && (tint != shown || tint->serial != serial))
            words.upload(tint->words.span(), stream);
        shown = tint;
        serial = tint ? tint->serial : 0;
        if (!tint) return {};
        return {words.data(), static_cast<std::uint32_t>(tint->words.size())};
    }
};

}  // namespace gs::cuda
