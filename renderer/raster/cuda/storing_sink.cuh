// StoringSink: what projection backward ends in where gradients are fetched by the host.
#pragma once

#include "renderer/raster/cuda/project_backward.cuh"

namespace gs::cuda {

struct StoringSink {
    using Motion = std::true_type;
    StoredGradients out;
    std::int32_t sh_degree;  ///< of the model

    GS_DEVICE void take(const ModelView&, std::uint32_t gaussian,
                        const GaussianGradient& gradient) const {
        float* to = out.values + gaussian;
        for (int p = 0; p < kGeometryPlanes; ++p, to += out.stride) *to = gradient.geometry[p];
        GS_UNROLL
        for (int k = 0; k < 16; ++k) {
            if (k >= sh_bases(sh_degree)) break;
            for (int channel = 0; channel < 3; ++channel, to += out.stride)
                *to = gradient.basis[k] * gradient.color[channel];
        }
        to = out.mean2d() + gaussian;
        to[0] = gradient.mean2d[0];
        to[out.stride] = gradient.mean2d[1];
        out.radius_px()[gaussian] = gradient.radius_px;
        if (out.motion)
            for (int i = 0; i < 3; ++i)
                out.turn()[static_cast<std::uint64_t>(i) * out.stride + gaussian] =
                    gradient.turn[i];
    }
};

}  // namespace gs::cuda
