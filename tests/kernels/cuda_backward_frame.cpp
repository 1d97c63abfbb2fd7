#include "tests/kernels/cuda_backward_frame.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "renderer/math/sh.h"
#include "renderer/raster/cuda/log2_alpha.cuh"
#include "renderer/raster/cuda/pipeline.h"

namespace gs::test {
namespace {

using namespace gs::cuda;

constexpr std::uint32_t kUnused = 0xDEADBEEF;

Vec3f color_of(const GaussianModel& model, std::size_t i, const FrameConstants& c) {
    float basis[16];
    math::sh_basis(c.sh_degree, math::normalize(model.mean(i) - c.ray_origin), basis);
    float color[3] = {0.5f, 0.5f, 0.5f};
    for (int k = 0; k < sh_bases(c.sh_degree); ++k)
        for (int channel = 0; channel < 3; ++channel)
            color[channel] += basis[k] * model.at(kSh0 + 3 * k + channel, i);
    return {shown_channel(color[0]), shown_channel(color[1]), shown_channel(color[2])};
}

/// False when it draws nothing.
bool splat_of(const GaussianModel& model, std::size_t i, const FrameConstants& c, Splat& out) {
    const auto e = [&](int p) { return std::exp(model.at(p, i)) * c.scale_modifier; };
    const Quatf quat{model.at(kQuats, i), model.at(kQuats + 1, i), model.at(kQuats + 2, i),
                     model.at(kQuats + 3, i)};
    const auto projected = math::project(
        c.camera, model.mean(i), {e(kLogScales), e(kLogScales + 1), e(kLogScales + 2)}, quat);
    const auto conic = math::conic_of(projected.cov, projected.det, c.blur);
    float opacity = math::sigmoid(model.at(kOpacityLogits, i));
    if (c.antialiased != 0) opacity *= conic.compensation;
    const float limit = 2.0f * std::log(opacity / c.rules.alpha_min);
    if (!(projected.camera.z > c.rules.near_plane && limit > 0.0f && conic.det > 0.0f))
        return false;
    const Vec3f color = color_of(model, i, c);
    out = {projected.mean.x,
           projected.mean.y,
           0.5f * kLog2E * conic.inverse.xx,
           kLog2E * conic.inverse.xy,
           0.5f * kLog2E * conic.inverse.yy,
           std::log2(opacity),
           projected.camera.z,
           std::sqrt(limit * (projected.cov.xx + c.blur)) + 0.1f,
           color.x,
           color.y,
           color.z,
           std::sqrt(limit * (projected.cov.yy + c.blur)) + 0.1f};
    return out.x + out.extent_x > 0 && out.x - out.extent_x < static_cast<float>(c.width) &&
           out.y + out.extent_y > 0 && out.y - out.extent_y < static_cast<float>(c.height);
}

int clamped_tile(float px, int tiles) {
    return static_cast<int>(
        std::clamp(std::floor(px / kTileSize), 0.0f, static_cast<float>(tiles - 1)));
}

}  // namespace

HandMadeFrame::HandMadeFrame(const GaussianModel& model, const Camera& camera,
                             const RenderOptions& options, std::uint32_t item_isects,
                             bool all_contribute) {
    constants_ = FramePipeline::constants_of(camera, options, model.sh_degree);
    const int tiles = constants_.tiles_x * constants_.tiles_y;
    const std::size_t pixels =
        static_cast<std::size_t>(camera.width) * static_cast<std::size_t>(camera.height);
    color_.resize(3 * pixels);
    depth_.resize(pixels);
    final_transmittance_.resize(pixels);
    project(model);
    bin();
    split(item_isects);
    contributed_.assign(
        (isect_gradients_.size() / 32 + static_cast<std::size_t>(tiles) + 1) * kSubTiles, 0u);
    for (int tile = 0; tile < tiles; ++tile)
        blend(static_cast<std::uint32_t>(tile), all_contribute);
    limits_.gaussians = static_cast<std::uint32_t>(model.count);
    limits_.visible = counts_.visible;
    limits_.isects = counts_.isects + 100;
    limits_.width = camera.width;
    limits_.height = camera.height;
    limits_.tiles = tiles;
    limits_.gradients = limits_.depth = true;
    limits_.item_isects = item_isects;
    point();
}

void HandMadeFrame::project(const GaussianModel& model) {
    const std::size_t chunks = (model.count + kChunk - 1) / kChunk;
    splats_.resize(chunks * kChunk);
    gaussian_from_slot_.assign(chunks * kChunk, kUnused);
    isects_of_slot_.assign(chunks * kChunk, kUnused);
    first_emission_.assign(chunks * kChunk, kUnused);
    chunk_slots_.assign(chunks, 0);
    for (std::size_t i = 0; i < model.count; ++i) {
        Splat splat;
        if (!splat_of(model, i, constants_, splat)) continue;
        const std::size_t slot = i / kChunk * kChunk + chunk_slots_[i / kChunk]++;
        splats_[slot] = splat;
        gaussian_from_slot_[slot] = static_cast<std::uint32_t>(i);
        slot_from_rank_.push_back(static_cast<std::uint32_t>(slot));
    }
    std::stable_sort(
        slot_from_rank_.begin(), slot_from_rank_.end(),
        [&](std::uint32_t a, std::uint32_t b) { return splats_[a].depth < splats_[b].depth; });
    counts_.visible = static_cast<std::uint32_t>(slot_from_rank_.size());
}

void HandMadeFrame::bin() {
    const FrameConstants& c = constants_;
    std::vector<std::uint32_t> tile_of, slot_of;
    for (const std::uint32_t slot : slot_from_rank_) {
        const Splat& s = splats_[slot];
        first_emission_[slot] = static_cast<std::uint32_t>(tile_of.size());
        for (int y = clamped_tile(s.y - s.extent_y, c.tiles_y);
             y <= clamped_tile(s.y + s.extent_y, c.tiles_y); ++y)
            for (int x = clamped_tile(s.x - s.extent_x, c.tiles_x);
                 x <= clamped_tile(s.x + s.extent_x, c.tiles_x); ++x) {
                tile_of.push_back(static_cast<std::uint32_t>(y * c.tiles_x + x));
                slot_of.push_back(slot);
            }
        isects_of_slot_[slot] = static_cast<std::uint32_t>(tile_of.size()) - first_emission_[slot];
    }
    counts_.isects = static_cast<std::uint32_t>(tile_of.size());
    emission_.resize(tile_of.size());
    std::iota(emission_.begin(), emission_.end(), 0u);
    std::stable_sort(emission_.begin(), emission_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return tile_of[a] < tile_of[b]; });
    tile_begin_.assign(static_cast<std::size_t>(c.tiles_x * c.tiles_y) + 1, 0u);
    for (const std::uint32_t e : emission_) {
        slot_from_isect_.push_back(slot_of[e]);
        ++tile_begin_[tile_of[e] + 1];
    }
    std::partial_sum(tile_begin_.begin(), tile_begin_.end(), tile_begin_.begin());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    live_rows_.assign((tile_of.size() + 100) / 32 + 2, 0u);  // of the limits
    isect_gradients_.assign(tile_of.size(),
                            {nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan});
}

void HandMadeFrame::split(std::uint32_t item_isects) {
    const std::size_t tiles = tile_begin_.size() - 1;
    items_of_tile_.resize(tiles);
    std::uint32_t partials = 0;
    for (std::uint32_t tile = 0; tile < tiles; ++tile) {
        const std::uint32_t begin = tile_begin_[tile], end = tile_begin_[tile + 1];
        const bool several = end - begin > item_isects;
        std::uint32_t first = begin, index = 0;
        do {
            const std::uint32_t last = std::min(end, first + item_isects);
            items_of_tile_[tile].push_back(static_cast<std::uint32_t>(items_.size()));
            items_.push_back({tile, first, last, index++, several ? partials++ : ~0u});
            first = last;
        } while (first < end);
    }
    counts_.items = static_cast<std::uint32_t>(items_.size());
    partials_.resize(static_cast<std::size_t>(partials) * kPartialPlanes * kTilePixels);
    item_order_.resize(items_.size());
    std::iota(item_order_.begin(), item_order_.end(), 0u);
    std::stable_sort(item_order_.begin(), item_order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return items_[a].end - items_[a].first > items_[b].end - items_[b].first;
    });
}

void HandMadeFrame::blend(std::uint32_t tile, bool all_contribute) {
    const FrameConstants& c = constants_;
    const std::size_t plane = final_transmittance_.size();
    for (int pixel = 0; pixel < kTilePixels; ++pixel) {
        const int x = static_cast<int>(tile) % c.tiles_x * kTileSize + pixel % kTileSize,
                  y = static_cast<int>(tile) / c.tiles_x * kTileSize + pixel / kTileSize;
        const int sub_tile =
            pixel / kTileSize / kSubTileHeight * 2 + pixel % kTileSize / kSubTileWidth;
        const bool inside = x < c.width && y < c.height;
        float sum[5] = {0, 0, 0, 1, 0};  // r g b T depth
        bool ended = !inside;
        for (const std::uint32_t number : items_of_tile_[tile]) {
            const WorkItem& item = items_[number];
            for (int k = 0; item.partial != ~0u && k < kPartialPlanes; ++k)
                partials_[(item.partial * kPartialPlanes + static_cast<std::size_t>(k)) *
                              kTilePixels +
                          static_cast<std::size_t>(pixel)] = k == 3 && ended ? 0.0f : sum[k];
            for (std::uint32_t k = item.first; k < item.end; ++k) {
                std::uint32_t& word =
                    contributed_[contributed_word(tile, tile_begin_[tile], k, sub_tile)];
                const std::uint32_t bit = 1u << ((k - tile_begin_[tile]) % 32);
                if (all_contribute) word |= bit;
                if (ended) continue;
                const Splat& s = splats_[slot_from_isect_[k]];
                const float power = log2_alpha(s, static_cast<float>(x) + 0.5f - s.x,
                                               static_cast<float>(y) + 0.5f - s.y);
                if (!(power >= c.log2_alpha_min)) continue;
                word |= bit;
                const float weight = std::min(std::exp2(power), c.rules.alpha_max) * sum[3];
                ended = sum[3] - weight <= c.transmittance_min;
                if (ended) continue;
                sum[0] += weight * s.red;
                sum[1] += weight * s.green;
                sum[2] += weight * s.blue;
                sum[3] -= weight;
                sum[4] += weight * s.depth;
            }
        }
        if (!inside) continue;
        const std::size_t o = static_cast<std::size_t>(y * c.width + x);
        color_[o] = sum[0] + sum[3] * c.background.x;
        color_[plane + o] = sum[1] + sum[3] * c.background.y;
        color_[2 * plane + o] = sum[2] + sum[3] * c.background.z;
        final_transmittance_[o] = sum[3];
        depth_[o] = sum[4];
    }
}

void HandMadeFrame::point() {
    arrays_.constants = &constants_;
    arrays_.counts = &counts_;
    arrays_.splats = splats_.data();
    arrays_.gaussian_from_slot = gaussian_from_slot_.data();
    arrays_.isects_of_slot = isects_of_slot_.data();
    arrays_.first_emission = first_emission_.data();
    arrays_.chunk_slots = chunk_slots_.data();
    arrays_.payload[1] = emission_.data();
    arrays_.slot_from_isect = slot_from_isect_.data();
    arrays_.tile_begin = tile_begin_.data();
    arrays_.items = items_.data();
    arrays_.item_order = item_order_.data();
    arrays_.partials = partials_.data();
    arrays_.final_transmittance = final_transmittance_.data();
    arrays_.contributed = contributed_.data();
    arrays_.isect_gradients = isect_gradients_.data();
    arrays_.live_rows = live_rows_.data();
}

void HandMadeFrame::count_too_many(std::uint32_t rows) {
    const IsectGradient nobodys = isect_gradients_.back();
    isects_of_slot_[slot_from_rank_.back()] += rows;
    isect_gradients_.insert(isect_gradients_.end(), rows, nobodys);
    point();
}

PictureView HandMadeFrame::picture() { return {.color = color_.data(), .depth = depth_.data()}; }

HandMadeGradients::HandMadeGradients(const reference::PictureGradient& v)
    : color(v.color.size()),
      alpha(v.alpha.begin(), v.alpha.end()),
      depth(v.depth.begin(), v.depth.end()) {
    for (std::size_t i = 0; i < v.color.size() / 3; ++i)
        for (std::size_t channel = 0; channel < 3; ++channel)
            color[channel * (v.color.size() / 3) + i] =
                static_cast<float>(v.color[3 * i + channel]);
}
PictureGradientView HandMadeGradients::view() const {
    return {color.data(), alpha.empty() ? nullptr : alpha.data(),
            depth.empty() ? nullptr : depth.data()};
}

}  // namespace gs::test
