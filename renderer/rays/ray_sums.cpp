#include "renderer/rays/ray_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "renderer/math/along_ray.h"
#include "renderer/math/scalar.h"

namespace gs {
namespace {

/// Where each Gaussian of the lists is in them, in the order of tiles.
struct Places {
    std::vector<std::uint32_t> begin, of_gaussian;

    explicit Places(const RayLists& lists) {
        const std::size_t n = lists.chunks.size() * kListChunk;
        begin.assign(n + 1, 0);
        for (const std::uint32_t g : lists.of_tile) ++begin[g + 1];
        for (std::size_t g = 0; g < n; ++g) begin[g + 1] += begin[g];
        std::vector<std::uint32_t> fill(begin.begin(), begin.end() - 1);
        of_gaussian.resize(lists.of_tile.size());
        for (std::uint32_t i = 0; i < lists.of_tile.size(); ++i)
            of_gaussian[fill[lists.of_tile[i]]++] = i;
    }
};

/// All that the tiles gave one Gaussian.
struct RayTotal {
    Vec3f arm, signal;
    Mat3f whitening;
    float logit = 0;
};
RayTotal total_of(const Buffer<cpu::RaySums>& sums, std::span<const std::uint32_t> places) {
    double all[16] = {};
    for (const std::uint32_t place : places) {
        const cpu::RaySums& s = sums[place];
        for (int k = 0; k < 3; ++k) all[k] += static_cast<double>(s.arm[k]);
        for (int k = 0; k < 9; ++k) all[3 + k] += static_cast<double>(s.whitening[k]);
        all[12] += static_cast<double>(s.logit);
        for (int k = 0; k < 3; ++k) all[13 + k] += static_cast<double>(s.signal[k]);
    }
    const auto at = [&](int k) { return static_cast<float>(all[k]); };
    RayTotal out{{at(0), at(1), at(2)}, {at(13), at(14), at(15)}, {}, at(12)};
    for (int k = 0; k < 9; ++k) out.whitening.m[k / 3][k % 3] = at(3 + k);
    return out;
}

/// The gradients of one Gaussian's parameters into its lane. False: it has none.
bool write_lane(const GaussianModel& model, const RayGaussian& g, const RayTotal& total,
                BlockGradients& out) {
    const std::size_t lane = g.row % kBlock;
    const Vec3f scale{std::exp(model.at(kLogScales, g.row)),
                      std::exp(model.at(kLogScales + 1, g.row)),
                      std::exp(model.at(kLogScales + 2, g.row))};
    const Quatf quat{model.at(kQuats, g.row), model.at(kQuats + 1, g.row),
                     model.at(kQuats + 2, g.row), model.at(kQuats + 3, g.row)};
    Mat3f m;
    for (int k = 0; k < 9; ++k) m.m[k / 3][k % 3] = g.whitening[k];
    const auto v = math::whitening_vjp(scale, quat, m, total.whitening);
    const Vec3f mean = -(transpose(m) * total.arm);
    const float opacity = math::sigmoid(model.at(kOpacityLogits, g.row));
    const float values[kGeometryPlanes] = {mean.x,
                                           mean.y,
                                           mean.z,
                                           v.log_scale.x,
                                           v.log_scale.y,
                                           v.log_scale.z,
                                           v.quat.w,
                                           v.quat.x,
                                           v.quat.y,
                                           v.quat.z,
                                           total.logit * (1 - opacity)};
    bool any = false;
    for (std::size_t p = 0; p < kGeometryPlanes; ++p) {
        out.planes[p][lane] = values[p];
        any |= values[p] != 0;
    }
    return any;
}

}  // namespace

void give_gradients(const GaussianModel& model, const RayLists& lists,
                    const Buffer<cpu::RaySums>& sums, GradientSink& sink,
                    std::vector<Vec3f>& signals) {
    const Places places(lists);
    static_assert(kListChunk % kBlock == 0, "a block's Gaussians are in one chunk");
    parallel_for(lists.chunks.size(), 1, [&](std::size_t chunk) {
        BlockGradients block{};
        const auto send = [&] {
            if (block.mask != 0) sink.take(block);
            block.mask = 0;
            for (int p = 0; p < kGeometryPlanes; ++p) std::fill_n(block.planes[p], kBlock, 0.0f);
        };
        for (std::size_t i = 0; i < lists.chunks[chunk].size(); ++i) {
            const RayGaussian& g = lists.chunks[chunk][i];
            if (g.row / kBlock != block.block) send();
            block.block = g.row / kBlock;
            const std::size_t index = chunk * kListChunk + i;
            const RayTotal total = total_of(
                sums,
                std::span(places.of_gaussian)
                    .subspan(places.begin[index], places.begin[index + 1] - places.begin[index]));
            if (!signals.empty()) signals[g.row] = total.signal;
            if (write_lane(model, g, total, block)) block.mask |= 1u << (g.row % kBlock);
        }
        send();
    });
}

}  // namespace gs
