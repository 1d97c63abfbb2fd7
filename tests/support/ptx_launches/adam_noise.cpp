#include "tests/support/ptx_launches/adam_noise.h"

#include <algorithm>
#include <cmath>
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
    for (const char* const of :
         {"project_backward<", "project_backward_lens<", "project_backward_unscented<"})
        for (const char* const sink : {"AdamSink", "CodedAdamSink", "CodedAdamMotionSink"})
            adam_ |= kernel.starts_with(std::string(of) + sink);
    // The parameters of these begin with the model.
    const bool codes = kernel == "settle_all<true>" || kernel == "step_batch<true>";
    const std::size_t at = adam_ ? offsetof(Params, model) : 0;
    if ((adam_ || codes) && parameters.size() >= at + sizeof model_)
        std::memcpy(&model_, parameters.data() + at, sizeof model_);
}

float AdamNoise::second_moment(std::uint64_t row, std::uint64_t plane) const {
    const auto planes = static_cast<std::uint64_t>(model_.lazy.model_planes);
    const std::uint64_t at = (row / kBlock * planes + plane) * kBlock;
    return model_.lazy.coded() ? math::decode_moments(model_.lazy.codes[at + row % kBlock]).v
                               : model_.lazy.moments[2 * at + kBlock + row % kBlock];
}

bool AdamNoise::is_noise(std::uint64_t row, std::uint64_t plane) const {
    const auto planes = static_cast<std::uint64_t>(model_.lazy.model_planes);
    if (!adam_ || row >= model_.count || plane >= planes) return false;
    float largest = 0;
    for (std::uint64_t p = 0; p < planes; ++p) largest = std::max(largest, second_moment(row, p));
    return second_moment(row, plane) < std::max(kNoise, kOfLargest * largest);
}

std::optional<AdamNoise::Place> AdamNoise::find(std::uintptr_t address) const {
    const auto values = reinterpret_cast<std::uintptr_t>(model_.values),
               moments = reinterpret_cast<std::uintptr_t>(model_.lazy.moments);
    if (values == 0 || !model_.lazy.any()) return std::nullopt;
    const auto planes = static_cast<std::uint64_t>(model_.lazy.model_planes);
    if (address >= values && address < values + planes * model_.stride * sizeof(float)) {
        const std::uint64_t word = (address - values) / sizeof(float), plane = word / model_.stride;
        return Place{word % model_.stride, plane, 1 + 3 * plane};
    }
    const std::uint64_t blocks = (model_.count + kBlock - 1) / kBlock;
    if (moments == 0 || address < moments ||
        address >= moments + blocks * planes * 2 * kBlock * sizeof(float))
        return std::nullopt;
    const std::uint64_t word = (address - moments) / sizeof(float),
                        plane = word / (2 * kBlock) % planes;
    return Place{word / (planes * 2 * kBlock) * kBlock + word % kBlock, plane,
                 2 + 3 * plane + word / kBlock % 2};
}

bool AdamNoise::codes_alike(std::uintptr_t address, std::uint32_t expected,
                            std::uint32_t got) const {
    const auto first = reinterpret_cast<std::uintptr_t>(model_.lazy.codes);
    const auto planes = static_cast<std::uint64_t>(model_.lazy.model_planes);
    const std::uint64_t codes = (model_.count + kBlock - 1) / kBlock * planes * kBlock;
    if (first == 0 || address < first || address >= first + codes * sizeof(std::uint16_t))
        return false;
    for (std::uint64_t half = 0; half < 2; ++half) {
        const std::uint64_t at = (address - first) / sizeof(std::uint16_t) + half;
        const std::uint32_t a = expected >> 16 * half & 0xffffu, b = got >> 16 * half & 0xffffu;
        if (a == b || is_noise(at / (planes * kBlock) * kBlock + at % kBlock, at / kBlock % planes))
            continue;
        const auto [m, v] = math::decode_moments(a);
        const auto [m_got, v_got] = math::decode_moments(b);
        const float root = std::sqrt(std::max(v, v_got));
        // A code of v is an eighth of it, one of the ratio an eighth, or 1/256 where it is small.
        if (std::abs(v - v_got) > 0.13f * std::max(v, v_got) ||
            std::abs(m - m_got) > 0.13f * std::max(std::abs(m), std::abs(m_got)) + 0.008f * root)
            return false;
    }
    return true;
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
