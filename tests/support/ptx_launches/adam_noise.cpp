#include "tests/support/ptx_launches/adam_noise.h"

#include <algorithm>
#include <cstring>

#include "renderer/raster/cuda/project_backward.cuh"
#include "trainer/cuda/adam_sink.cuh"

namespace gs::ptx {
namespace {

/// Second moments of gradients below some 1e-8, those of photos being a thousand times as large, or
/// of less than a millionth of the largest gradient of the same Gaussian.
constexpr float kNoise = 1e-19f, kOfLargest = 1e-12f;

}  // namespace

AdamNoise::AdamNoise(const std::string& kernel, std::span<const std::byte> parameters) {
    using Params = cuda::ProjectBackwardParams<cuda::AdamSink>;
    const bool adam = kernel.starts_with("project_backward<AdamSink") ||
                      kernel.starts_with("project_backward_lens<AdamSink") ||
                      kernel.starts_with("project_backward_unscented<AdamSink");
    if (adam && parameters.size() == sizeof(Params))
        std::memcpy(&model_, parameters.data() + offsetof(Params, model), sizeof model_);
}

bool AdamNoise::is_noise(std::uint64_t row, std::uint64_t plane) const {
    const auto planes = static_cast<std::uint64_t>(model_.lazy.model_planes);
    if (row >= model_.count || plane >= planes) return false;
    const float* const second =
        model_.lazy.moments + row / kBlock * planes * 2 * kBlock + kBlock + row % kBlock;
    float largest = 0;
    for (std::uint64_t p = 0; p < planes; ++p) largest = std::max(largest, second[p * 2 * kBlock]);
    return second[plane * 2 * kBlock] < std::max(kNoise, kOfLargest * largest);
}

std::optional<AdamNoise::Place> AdamNoise::find(std::uintptr_t address) const {
    const auto values = reinterpret_cast<std::uintptr_t>(model_.values),
               moments = reinterpret_cast<std::uintptr_t>(model_.lazy.moments);
    if (values == 0 || moments == 0) return std::nullopt;
    const auto planes = static_cast<std::uint64_t>(model_.lazy.model_planes);
    if (address >= values && address < values + planes * model_.stride * sizeof(float)) {
        const std::uint64_t word = (address - values) / sizeof(float), plane = word / model_.stride;
        return Place{word % model_.stride, plane, 1 + 3 * plane};
    }
    const std::uint64_t blocks = (model_.count + kBlock - 1) / kBlock;
    if (address < moments || address >= moments + blocks * planes * 2 * kBlock * sizeof(float))
        return std::nullopt;
    const std::uint64_t word = (address - moments) / sizeof(float),
                        plane = word / (2 * kBlock) % planes;
    return Place{word / (planes * 2 * kBlock) * kBlock + word % kBlock, plane,
                 2 + 3 * plane + word / kBlock % 2};
}

bool AdamNoise::excuses(std::uintptr_t address) const {
    const auto place = find(address);
    return place && is_noise(place->row, place->plane);
}
std::size_t AdamNoise::kind_of(std::uintptr_t address) const {
    const auto place = find(address);
    return place ? place->kind : 0;
}

}  // namespace gs::ptx
