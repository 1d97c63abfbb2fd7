#include "renderer/rays/met.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

float length_of(Vec3f v) { return std::sqrt(dot(v, v)); }

}  // namespace

TileMeets::TileMeets(const RayTiles& tiles, std::size_t tile)
    : tile_(tiles.tiles()[tile]),
      slots_((std::size_t{tile_.count} + 15) / 16 * 16),
      direction_{static_cast<float>(tile_.direction.x), static_cast<float>(tile_.direction.y),
                 static_cast<float>(tile_.direction.z)} {
    for (std::size_t k = 0; 16 * k < slots_; ++k)
        vectors_[k] = vector_rays(tiles, tile_.first + 16 * k,
                                  std::min<std::size_t>(16, tile_.count - 16 * k));
}

cpu::MetGaussian TileMeets::met(const RayGaussian& g) const {
    cpu::MetGaussian out{};
    static_cast<RayForm&>(out) =
        ray_form(g.whitening, g.mean, g.log2_opacity, tile_.origin, tile_.direction);
    out.reach = g.reach;
    for (std::size_t k = 0; 16 * k < slots_; ++k)
        out.vectors |= static_cast<std::uint32_t>(comes_near(vectors_[k], out)) << k;
    return out;
}

TileMeets::VectorRays TileMeets::vector_rays(const RayTiles& tiles, std::size_t first,
                                             std::size_t count) {
    const auto at = [&](const Buffer<float>& planes, std::size_t i) {
        return Vec3f{planes.data()[i], planes.data()[tiles.slots() + i],
                     planes.data()[2 * tiles.slots() + i]};
    };
    VectorRays out;
    const float share = 1 / static_cast<float>(count);
    for (std::size_t i = first; i < first + count; ++i) {
        out.direction += share * at(tiles.direction_off(), i);
        out.origin += share * at(tiles.origin_off(), i);
    }
    for (std::size_t i = first; i < first + count; ++i) {
        out.directions_apart =
            std::max(out.directions_apart, length_of(at(tiles.direction_off(), i) - out.direction));
        out.origins_apart =
            std::max(out.origins_apart, length_of(at(tiles.origin_off(), i) - out.origin));
    }
    return out;
}

/// Whether a ray of the vector may come within the Gaussian's reach of its mean.
bool TileMeets::comes_near(const VectorRays& v, const cpu::MetGaussian& g) const {
    const Vec3f d = direction_ + v.direction, x = g.offset() + v.origin + g.along * v.direction;
    const float along = dot(x, d), apart2 = dot(x, x) - along * along / dot(d, d);
    // As far along as any of them can meet it.
    const float farthest = 1.1f * g.along + std::abs(along) + 2 * g.reach;
    const float limit =
        1.001f * g.reach + v.origins_apart + farthest * v.directions_apart + 1e-5f * farthest;
    return apart2 <= limit * limit;
}

}  // namespace gs
