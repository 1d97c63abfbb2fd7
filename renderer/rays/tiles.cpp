#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "renderer/rays/rays.h"
#include "renderer/scene/beam_angles.h"
#include "renderer/scene/trajectory.h"

namespace gs {
namespace {

constexpr std::size_t kSlotLanes = 16;
constexpr double kWidest = 0.35;  // radians: of a bin, so that slopes stay near elevations

double length_of(Vec3d v) { return std::sqrt(dot(v, v)); }
Vec2<float> facing(double azimuth) {
    return {static_cast<float>(std::cos(azimuth)), static_cast<float>(std::sin(azimuth))};
}

/// Rays in order of a number, those with the same one in their own order.
template <class Number>
void sort_by(std::span<AimedRay> rays, Number&& number) {
    std::ranges::sort(rays, [&](const AimedRay& a, const AimedRay& b) {
        return number(a) != number(b) ? number(a) < number(b) : a.ray < b.ray;
    });
}

/// By azimuth: in parts of equal angle, each sorted on its own.
std::vector<AimedRay> in_turn(const std::vector<AimedRay>& rays) {
    constexpr std::size_t kWedges = 256;
    const auto [first, last] = std::ranges::minmax_element(
        rays, [](const AimedRay& a, const AimedRay& b) { return a.azimuth < b.azimuth; });
    const double low = first->azimuth, wedges_a_radian = kWedges / (last->azimuth - low + 1e-9);
    const auto wedge_of = [&](const AimedRay& a) {
        return std::min(kWedges - 1, static_cast<std::size_t>((a.azimuth - low) * wedges_a_radian));
    };
    std::array<std::size_t, kWedges + 1> end{};
    for (const AimedRay& a : rays) ++end[wedge_of(a) + 1];
    for (std::size_t p = 0; p < kWedges; ++p) end[p + 1] += end[p];
    const auto begin = end;
    std::vector<AimedRay> out(rays.size());
    for (const AimedRay& a : rays) out[end[wedge_of(a)]++] = a;
    parallel_for(kWedges, 1, [&](std::size_t p) {
        sort_by(std::span(out).subspan(begin[p], begin[p + 1] - begin[p]),
                [](const AimedRay& a) { return a.azimuth; });
    });
    return out;
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

/// Where a bin that begins there ends: after about `per_bin` rays, and between groups of rays that
/// lie apart, so that it holds no empty angles.
std::size_t end_of_bin(std::span<const AimedRay> rays, std::size_t begin, std::size_t per_bin) {
    constexpr double kGap = 0.25;  // of the bin's width
    const std::size_t usual = std::min(begin + per_bin, rays.size()),
                      last = std::min(begin + per_bin + per_bin / 2, rays.size());
    std::size_t end = usual;
    double widest = kGap * (rays[usual - 1].azimuth - rays[begin].azimuth);
    for (std::size_t i = begin + std::max<std::size_t>(per_bin / 4, 1); i < last; ++i) {
        const double gap = rays[i].azimuth - rays[i - 1].azimuth;
        if (gap <= widest) continue;
        widest = gap;
        end = i;
    }
    while (rays[end - 1].azimuth - rays[begin].azimuth > kWidest) end = (begin + end + 1) / 2;
    return end;
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

/// Neighbours in both angles share a vector: along a curve that fills the tile. `to`: [ray].
void order_within(std::span<const AimedRay> tile, std::uint32_t* to) {
    const auto [left, right] = std::ranges::minmax_element(
        tile, [](const AimedRay& a, const AimedRay& b) { return a.azimuth < b.azimuth; });
    const double azimuth = left->azimuth, elevation = tile.front().elevation,
                 across = 15 / std::max(right->azimuth - azimuth, 1e-9),
                 up = 15 / std::max(tile.back().elevation - elevation, 1e-9);
    std::array<std::pair<std::uint32_t, std::uint32_t>, kRaysPerTile> placed;
    const auto end = std::transform(tile.begin(), tile.end(), placed.begin(), [&](const auto& a) {
        return std::pair{interleaved(static_cast<std::uint32_t>(across * (a.azimuth - azimuth)),
                                     static_cast<std::uint32_t>(up * (a.elevation - elevation))),
                         a.ray};
    });
    std::sort(placed.begin(), end);
    std::transform(placed.begin(), end, to, [](const auto& pair) { return pair.second; });
}

void put(Buffer<float>& planes, std::size_t at, Vec3d v) {
    const std::size_t n = planes.size() / 3;
    planes[at] = static_cast<float>(v.x);
    planes[n + at] = static_cast<float>(v.y);
    planes[2 * n + at] = static_cast<float>(v.z);
}

}  // namespace

RayTiles::RayTiles(std::span<const CameraRay> rays, const Pose& frame_from_world)
    : rays_(rays.size()), frame_(frame_from_world) {
    const std::vector<AimedRay> aimed = aim(rays);
    if (aimed.empty()) return;
    std::vector<AimedRay> sorted = in_turn(aimed);
    const std::size_t per_bin = rays_per_bin(sorted);
    std::vector<std::size_t> begins;
    for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
        end = end_of_bin(sorted, begin, per_bin);
        begins.push_back(begin);
        make_room(end - begin);
    }
    begins.push_back(sorted.size());
    for (Buffer<float>* planes : {&direction_off_, &origin_off_}) planes->resize(3 * slots());
    parallel_for(bins_.size(), 1, [&](std::size_t b) {
        fill_bin(rays, std::span(sorted).subspan(begins[b], begins[b + 1] - begins[b]), bins_[b]);
    });
}

std::vector<AimedRay> RayTiles::aim(std::span<const CameraRay> rays) {
    constexpr std::size_t kPart = 4096;
    const Vec3d place = inverse_of(frame_).translation;
    std::vector<std::vector<AimedRay>> parts((rays.size() + kPart - 1) / kPart);
    std::vector<float> spreads(parts.size());
    parallel_ranges(rays.size(), kPart, [&](std::size_t begin, std::size_t end) {
        std::vector<AimedRay>& aimed = parts[begin / kPart];
        float& spread = spreads[begin / kPart];
        aimed.reserve(end - begin);
        for (std::size_t i = begin; i < end; ++i) {
            const Vec3d o = rays[i].origin, d = rays[i].direction;
            if (!rays[i].valid || !std::isfinite(dot(o, o)) || !(std::abs(dot(d, d) - 1) < 1e-3))
                continue;
            const BeamAngles a = angles_of(frame_.rotation * d);
            aimed.push_back({a.azimuth, a.elevation, static_cast<std::uint32_t>(i)});
            spread = std::max(spread, static_cast<float>(length_of(o - place)));
        }
    });
    std::vector<AimedRay> out;
    out.reserve(rays.size());
    for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
    for (const float spread : spreads) spread_ = std::max(spread_, spread);
    return out;
}

void RayTiles::make_room(std::size_t count) {
    RayBin bin{.first_tile = static_cast<std::uint32_t>(tiles_.size()),
               .tiles = static_cast<std::uint32_t>((count + kRaysPerTile - 1) / kRaysPerTile)};
    for (std::size_t t = 0; t < bin.tiles; ++t) {
        RayTile tile{.first = static_cast<std::uint32_t>(ray_of_.size())};
        tile.count =
            static_cast<std::uint32_t>((t + 1) * count / bin.tiles - t * count / bin.tiles);
        const std::size_t vectors = (tile.count + kSlotLanes - 1) / kSlotLanes;
        ray_of_.resize(ray_of_.size() + vectors * kSlotLanes, kNoRay);
        tiles_.push_back(tile);
    }
    bins_.push_back(bin);
}

void RayTiles::fill_bin(std::span<const CameraRay> rays, std::span<AimedRay> all, RayBin& bin) {
    const double low = std::max(all.front().azimuth - 1e-6, -std::numbers::pi),
                 high = std::min(all.back().azimuth + 1e-6, std::numbers::pi);
    bin.low = quarter_turns(facing(low));
    bin.high = quarter_turns(facing(high));
    bin.ahead = facing(0.5 * (low + high));
    bin.inward_low = facing(low + 0.5 * std::numbers::pi);
    bin.inward_high = facing(high - 0.5 * std::numbers::pi);
    for (const AimedRay& a : all)
        bin.origin += (1.0 / static_cast<double>(all.size())) * rays[a.ray].origin;
    for (const AimedRay& a : all)
        bin.spread =
            std::max(bin.spread, static_cast<float>(length_of(rays[a.ray].origin - bin.origin)));
    sort_by(all, [](const AimedRay& a) { return a.elevation; });
    std::size_t from = 0;
    for (RayTile& tile : std::span(tiles_).subspan(bin.first_tile, bin.tiles)) {
        fill_tile(rays, all.subspan(from, tile.count), 0.5 * (high - low), tile);
        from += tile.count;
    }
}

void RayTiles::fill_tile(std::span<const CameraRay> rays, std::span<const AimedRay> of,
                         double half_bin, RayTile& tile) {
    // An elevation's slope is steeper over the bin's middle than beside it.
    const double low = std::tan(std::clamp(of.front().elevation, -1.57, 1.57)),
                 high = std::tan(std::clamp(of.back().elevation, -1.57, 1.57)),
                 steeper = 1 / std::cos(half_bin), margin = 1e-6;
    tile.low = static_cast<float>(std::min(low, low * steeper) - margin * (1 + std::abs(low)));
    tile.high = static_cast<float>(std::max(high, high * steeper) + margin * (1 + std::abs(high)));
    order_within(of, ray_of_.data() + tile.first);
    const std::span<const std::uint32_t> here(ray_of_.data() + tile.first, tile.count);
    const double share = 1.0 / static_cast<double>(tile.count);
    for (const std::uint32_t ray : here) {
        tile.origin += share * rays[ray].origin;
        tile.direction += share * rays[ray].direction;
    }
    const double length = length_of(tile.direction);
    tile.direction = length > 0.1 ? (1 / length) * tile.direction : rays[here[0]].direction;
    for (std::size_t i = 0; i < tile.count; ++i) {
        const Vec3d apart = rays[here[i]].origin - tile.origin;
        put(direction_off_, tile.first + i, rays[here[i]].direction - tile.direction);
        put(origin_off_, tile.first + i, apart);
        tile.parted |= length_of(apart) > 1e-9;
    }
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
