// A model's harmonics rounded to half precision, for pictures that may be a little off
// (Precision::fast): half of the bytes that projection reads most of. Made once by DeviceModel for
// a model at rest, read by projection. A coefficient keeps 11 bits; one beyond 65504 becomes
// infinite, and its Gaussian draws nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"

namespace gs::cuda {

/// In device memory: [groups of eight coefficients][stride][4 words of two]. A Gaussian's group is
/// one load of 16 bytes, and two Gaussians share the 32 bytes that memory is read in.
struct HalfColors {
    const std::uint32_t* words = nullptr;  ///< null: none, colours are read as they are
    std::uint64_t stride = 0;              ///< Gaussians
    bool operator==(const HalfColors&) const = default;
};
/// Groups of eight that hold all coefficients of a degree: 1, 2, 4, 6.
constexpr int half_groups(int sh_degree) { return (3 * (sh_degree + 1) * (sh_degree + 1) + 7) / 8; }
constexpr std::size_t half_words(int sh_degree, std::size_t count) {
    return static_cast<std::size_t>(half_groups(sh_degree)) * count * 4;
}

/// Rounds to nearest even. `words`: half_words(model.sh_degree, model.count); their stride is
/// model.count. `model` must be current: its lazy steps are not applied.
void run_round_colors(const Stream& stream, const ModelView& model, std::uint32_t* words);

/// run_project() (stages.h) with these colours in place of the model's, which must also be current.
void run_project(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                 const ModelView& model, const TintView& tint, const HalfColors& colors);

}  // namespace gs::cuda
