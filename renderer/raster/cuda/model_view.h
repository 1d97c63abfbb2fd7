// A model in device memory as kernels are given it: its parameters, and what brings them up to date
// where they lag behind. Made by DeviceModel and by training, read through model_reader.cuh.
#pragma once

#include <cstdint>

#include "renderer/raster/rasterizer.h"

namespace gs::cuda {

/// What a reader must apply to see a Gaussian as it is now, where an optimizer moves it only when
/// its gradients come (model_reader.cuh does, with math/adam.h). Neither moments nor codes:
/// parameters are current.
struct LazyClock {
    std::uint32_t base, steps;  ///< step of the tables' first entry, T
    std::int32_t planes;        ///< planes that have or had gradients; the others never moved, and
                                ///< their moments are 0
    std::uint32_t reserved;
};
struct LazyView {
    float* moments = nullptr;            ///< [block][planes of the model][2][16]
    std::uint32_t* last_step = nullptr;  ///< [row]
    const float* pending =
        nullptr;  ///< [step - base][8]: means, scales, quats, opacity, sh0, sh rest, -, -
    const float* decay = nullptr;  ///< [age][2]: beta1^age, beta2^age
    const LazyClock* clock = nullptr;
    std::int32_t model_planes = 0;
    const float* filter = nullptr;   ///< [row] of the 3D filter (math/mip_filter.h), or null: none
    std::uint16_t* codes = nullptr;  ///< [block][planes of the model][16] (math/adam_code.h), or
                                     ///< null: moments are floats
    const std::uint32_t* tags = nullptr;  ///< [row], and
    std::uint64_t seed = 0;               ///< that codes are rounded by
    GS_HD bool coded() const { return codes != nullptr; }
    GS_HD bool any() const { return moments != nullptr || coded(); }
    bool operator==(const LazyView&) const = default;
};

/// Parameters in device memory, laid out as GaussianModel lays them out.
struct ModelView {
    float* values = nullptr;  ///< [planes][stride]
    std::uint64_t stride = 0;
    std::uint32_t count = 0;
    std::int32_t sh_degree = 0;
    BlockBounds* bounds = nullptr;  ///< [blocks], or null: nothing is culled by block
    LazyView lazy;
    const Sky* sky = nullptr;  ///< or null: there is none
    bool operator==(const ModelView&) const = default;
};

/// The words of a GaussianTint in device memory. count 0: each Gaussian is drawn as it is.
struct TintView {
    const std::uint32_t* words = nullptr;  ///< [row]
    std::uint32_t count = 0;               ///< rows behind are as they are
    bool operator==(const TintView&) const = default;
};

}  // namespace gs::cuda
