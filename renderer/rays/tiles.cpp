#include <algorithm>
#include <cmath>
#include <numbers>

#include "renderer/rays/rays.h"
#include "renderer/scene/beam_angles.h"
#include "renderer/scene/trajectory.h"

namespace gs {
namespace {

constexpr std::size_t kRaysPerTile = 128, kSlotLanes = 16;
constexpr double kWidest = 0.35;  // radians: of a bin, so that slopes stay near elevations

double length_of(Vec3d v) { return std::sqrt(dot(v, v)); }
Vec2<float> facing(double azimuth) {
    return {static_cast<float>(std::cos(azimuth)), static_cast<float>(std::sin(azimuth))};
}

template <class Number>
void sort_by(std::span<AimedRay> rays, Number&& number) {
    std::sort(rays.begin(), rays.end(), [&](const AimedRay& a, const AimedRay& b) {
        return number(a) != number(b) ? number(a) < number(b) : a.ray < b.ray;
    });
}

// Bits of two numbers in turn: what lies close together stays so.
std::uint32_t interleaved(std::uint32_t x, std::uint32_t y) {
    const auto spread = [](std::uint32_t v) {
        v &= 0xFFFF;
        v = (v | v << 8) & 0x00FF00FF;
        v = (v | v << 4) & 0x0F0F0F0F;
        v = (v | v << 2) & 0x33333333;
        return (v | v << 1) & 0x55555555;
    };
    return spread(x) | spread(y) << 1;
}

/// For tiles about as wide as high.
std::size_t rays_per_bin(std::span<const AimedRay> rays) {
    double low = 10, high = -10;
    for (const AimedRay& a : rays) {
        low = std::min(low, a.elevation);
        high = std::max(high, a.elevation);
    }
    const double wide = std::max(rays.back().azimuth - rays.front().azimuth, 1e-6),
                 tall = std::max(high - low, 1e-6), count = static_cast<double>(rays.size()),
                 tiles = std::max(1.0, count / kRaysPerTile),
                 bins = std::clamp(std::sqrt(tiles * wide / tall), 1.0, count);
    return static_cast<std::size_t>(std::ceil(count / bins));
}

// Neighbours in both angles share a vector: along a curve that fills the tile.
void sort_within(std::span<AimedRay> tile) {
    const auto [left, right] = std::minmax_element(
        tile.begin(), tile.end(),
        [](const AimedRay& a, const AimedRay& b) { return a.azimuth < b.azimuth; });
    const double azimuth = left->azimuth, elevation = tile.front().elevation,
                 across = 15 / std::max(right->azimuth - azimuth, 1e-9),
                 up = 15 / std::max(tile.back().elevation - elevation, 1e-9);
    std::vector<std::pair<std::uint32_t, AimedRay>> placed;
    placed.reserve(tile.size());
    for (const AimedRay& a : tile)
        placed.push_back({interleaved(static_cast<std::uint32_t>(across * (a.azimuth - azimuth)),
                                      static_cast<std::uint32_t>(up * (a.elevation - elevation))),
                          a});
    std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second.ray < b.second.ray;
    });
    for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = placed[i].second;
}

Buffer<float> planes_of(const std::vector<Vec3d>& vectors) {
    const std::size_t n = vectors.size();
    Buffer<float> out(3 * n);
    for (std::size_t i = 0; i < n; ++i) {
        out.data()[i] = static_cast<float>(vectors[i].x);
        out.data()[n + i] = static_cast<float>(vectors[i].y);
        out.data()[2 * n + i] = static_cast<float>(vectors[i].z);
    }
    return out;
}

}  // namespace

RayTiles::RayTiles(std::span<const CameraRay> rays, const Pose& frame_from_world)
    : rays_(rays.size()), frame_(frame_from_world) {
    const Vec3d place = inverse_of(frame_).translation;
    std::vector<AimedRay> aimed;
    for (std::size_t i = 0; i < rays.size(); ++i) {
        const Vec3d o = rays[i].origin, d = rays[i].direction;
        if (!rays[i].valid || !std::isfinite(dot(o, o)) || !(std::abs(dot(d, d) - 1) < 1e-3))
            continue;
        const BeamAngles a = angles_of(frame_.rotation * d);
        aimed.push_back({a.azimuth, a.elevation, static_cast<std::uint32_t>(i)});
        spread_ = std::max(spread_, static_cast<float>(length_of(o - place)));
    }
    if (aimed.empty()) return;
    sort_by(aimed, [](const AimedRay& a) { return a.azimuth; });
    const std::size_t per_bin = rays_per_bin(aimed);
    for (std::size_t begin = 0, end = 0; begin < aimed.size(); begin = end) {
        end = std::min(begin + per_bin, aimed.size());
        while (aimed[end - 1].azimuth - aimed[begin].azimuth > kWidest) end = (begin + end + 1) / 2;
        add_bin(rays, std::span(aimed).subspan(begin, end - begin));
    }
    direction_off_ = planes_of(directions_);
    origin_off_ = planes_of(origins_);
    directions_ = origins_ = {};
}

void RayTiles::add_bin(std::span<const CameraRay> rays, std::span<AimedRay> all) {
    const double low = std::max(all.front().azimuth - 1e-6, -std::numbers::pi),
                 high = std::min(all.back().azimuth + 1e-6, std::numbers::pi);
    RayBin bin;
    bin.low = quarter_turns(facing(low));
    bin.high = quarter_turns(facing(high));
    bin.ahead = facing(0.5 * (low + high));
    bin.inward_low = facing(low + 0.5 * std::numbers::pi);
    bin.inward_high = facing(high - 0.5 * std::numbers::pi);
    bin.first_tile = static_cast<std::uint32_t>(tiles_.size());
    for (const AimedRay& a : all)
        bin.origin += (1.0 / static_cast<double>(all.size())) * rays[a.ray].origin;
    for (const AimedRay& a : all)
        bin.spread =
            std::max(bin.spread, static_cast<float>(length_of(rays[a.ray].origin - bin.origin)));
    sort_by(all, [](const AimedRay& a) { return a.elevation; });
    const std::size_t pieces = (all.size() + kRaysPerTile - 1) / kRaysPerTile;
    for (std::size_t t = 0; t < pieces; ++t) {
        const std::size_t from = t * all.size() / pieces, to = (t + 1) * all.size() / pieces;
        add_tile(rays, all.subspan(from, to - from), 0.5 * (high - low));
    }
    bin.tiles = static_cast<std::uint32_t>(tiles_.size()) - bin.first_tile;
    bins_.push_back(bin);
}

void RayTiles::add_tile(std::span<const CameraRay> rays, std::span<AimedRay> of, double half_bin) {
    // An elevation's slope is steeper over the bin's middle than beside it.
    const double low = std::tan(std::clamp(of.front().elevation, -1.57, 1.57)),
                 high = std::tan(std::clamp(of.back().elevation, -1.57, 1.57)),
                 steeper = 1 / std::cos(half_bin), margin = 1e-6;
    RayTile tile;
    tile.low = static_cast<float>(std::min(low, low * steeper) - margin * (1 + std::abs(low)));
    tile.high = static_cast<float>(std::max(high, high * steeper) + margin * (1 + std::abs(high)));
    sort_within(of);
    tile.first = static_cast<std::uint32_t>(ray_of_.size());
    tile.count = static_cast<std::uint32_t>(of.size());
    const double share = 1.0 / static_cast<double>(of.size());
    for (const AimedRay& a : of) {
        tile.origin += share * rays[a.ray].origin;
        tile.direction += share * rays[a.ray].direction;
    }
    const double length = length_of(tile.direction);
    tile.direction = length > 0.1 ? (1 / length) * tile.direction : rays[of[0].ray].direction;
    for (const AimedRay& a : of) {
        ray_of_.push_back(a.ray);
        directions_.push_back(rays[a.ray].direction - tile.direction);
        origins_.push_back(rays[a.ray].origin - tile.origin);
        tile.parted |= length_of(origins_.back()) > 1e-9;
    }
    while (ray_of_.size() % kSlotLanes != 0) {
        ray_of_.push_back(kNoRay);
        directions_.push_back({});
        origins_.push_back({});
    }
    tiles_.push_back(tile);
}

Pose ray_frame(const Camera& camera) {
    const Mat3d turned{{{0, 0, 1}, {-1, 0, 0}, {0, -1, 0}}};
    return {turned * camera.rotation, turned * camera.translation};
}

std::uint64_t RayTiles::bytes() const {
    return bins_.size() * sizeof(RayBin) + tiles_.size() * sizeof(RayTile) +
           slots() * (sizeof(std::uint32_t) + 6 * sizeof(float));
}

}  // namespace gs
