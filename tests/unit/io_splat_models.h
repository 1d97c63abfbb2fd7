// Random Gaussians for the tests of splat formats: ordinary ones and extreme ones, the same on
// every machine.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "renderer/scene/gaussian_model.h"
#include "tests/support/random_scene.h"
#include "tests/unit/io_files.h"

namespace gs::test {

/// Row i lies at x = i / 100 to within a tenth of that, so that it is found again in any order.
/// Sizes, opacities and colours are what trained scenes have; a twentieth of the opacity logits is
/// infinite.
inline GaussianModel numbered_splats(std::size_t count, int degree, std::uint64_t seed) {
    GaussianModel m(count, degree);
    for (std::size_t i = 0; i < count; ++i) {
        const auto in = [&](std::uint64_t what, double lo, double hi) {
            return static_cast<float>(random_in(seed, what, i, lo, hi));
        };
        m.at(kMeans, i) = 0.01f * static_cast<float>(i) + in(0, -0.001, 0.001);
        for (int c = 0; c < 3; ++c) {
            if (c > 0) m.at(kMeans + c, i) = in(1 + static_cast<std::uint64_t>(c), -0.3, 0.3);
            m.at(kLogScales + c, i) = in(4 + static_cast<std::uint64_t>(c), -9, 2);
            m.at(kSh0 + c, i) = in(7 + static_cast<std::uint64_t>(c), -1.7, 1.7);
        }
        for (int c = 0; c < 4; ++c)
            m.at(kQuats + c, i) = in(10 + static_cast<std::uint64_t>(c), -2, 2);
        m.at(kOpacityLogits, i) = in(14, -7, 7);
        if (i % 20 == 3) m.at(kOpacityLogits, i) = std::numeric_limits<float>::infinity();
        if (i % 20 == 7) m.at(kOpacityLogits, i) = -std::numeric_limits<float>::infinity();
        for (int p = kShRest; p < m.planes(); ++p)
            m.at(p, i) = in(20 + static_cast<std::uint64_t>(p), -0.95, 0.95);
    }
    return m;
}

/// Positions over many orders of magnitude, sizes from nothing to huge, rotations of any length
/// (some of none), colours and harmonics far out of range.
inline GaussianModel extreme_splats(std::size_t count, int degree, std::uint64_t seed) {
    GaussianModel m = numbered_splats(count, degree, seed);
    for (std::size_t i = 0; i < count; ++i) {
        const auto in = [&](std::uint64_t what, double lo, double hi) {
            return random_in(seed + 1, what, i, lo, hi);
        };
        for (int c = 0; c < 3; ++c) {
            const auto what = static_cast<std::uint64_t>(c);
            m.at(kMeans + c, i) = static_cast<float>((in(what, -1, 1) < 0 ? -1 : 1) *
                                                     std::pow(10, in(3 + what, -5, 3)));
            m.at(kLogScales + c, i) = static_cast<float>(in(6 + what, -40, 15));
            m.at(kSh0 + c, i) = static_cast<float>(in(9 + what, -12, 12));
        }
        const double length = std::pow(10, in(12, -25, 18));
        for (int c = 0; c < 4; ++c)
            m.at(kQuats + c, i) =
                i % 50 == 0 ? 0.0f : static_cast<float>(length * m.at(kQuats + c, i));
        for (int p = kShRest; p < m.planes(); ++p) m.at(p, i) *= 8;
        if (i % 31 == 0) m.at(kLogScales, i) = -std::numeric_limits<float>::infinity();
    }
    return m;
}

/// A plain SPZ of version 2 with one Gaussian at (1, 2, 3), a size along each axis, and one
/// coefficient of degree 1 by direction; `axes`: 0: no extension.
inline std::string spz_with_axes(std::uint32_t axes, int degree = 1) {
    Packer out;
    out.add<std::uint32_t>(0x5053474E).add<std::uint32_t>(2).add<std::uint32_t>(1);
    out.add(static_cast<std::uint8_t>(degree)).add<std::uint8_t>(8);
    out.add<std::uint8_t>(axes > 0 ? 2 : 0).add<std::uint8_t>(0);
    for (const std::uint32_t x : {1u, 2u, 3u}) {
        const std::uint32_t fixed = x << 8;
        for (int byte = 0; byte < 3; ++byte) out.add(static_cast<std::uint8_t>(fixed >> 8 * byte));
    }
    out.add<std::uint8_t>(200);
    for (const int color : {100, 150, 200}) out.add(static_cast<std::uint8_t>(color));
    for (const int scale : {96, 112, 128}) out.add(static_cast<std::uint8_t>(scale));
    for (int q = 0; q < 3; ++q) out.add<std::uint8_t>(128);
    for (int k = 0; k < 3 && degree > 0; ++k)
        for (int c = 0; c < 3; ++c) out.add(static_cast<std::uint8_t>(k == c ? 192 : 128));
    if (axes > 0) out.add<std::uint32_t>(0xADBE0003).add<std::uint32_t>(4).add(axes);
    return out.bytes;
}

/// A glTF of two nodes that hold the SPZ in a.spz beside it; the second is moved by 10.
inline std::string gltf_of_spz(const std::string& extensions, std::size_t bytes) {
    return fmt::format(
        R"({{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0,1]}}],)"
        R"("nodes":[{{"mesh":0}},{{"mesh":0,"translation":[10,0,0]}}],)"
        R"("meshes":[{{"primitives":[{{"mode":0,"attributes":{{}},"extensions":{{{}}}}}]}}],)"
        R"("buffers":[{{"byteLength":{},"uri":"a.spz"}}],)"
        R"("bufferViews":[{{"buffer":0,"byteLength":{}}}]}})",
        extensions, bytes, bytes);
}

}  // namespace gs::test
