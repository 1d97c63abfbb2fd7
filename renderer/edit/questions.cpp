#include "renderer/edit/questions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/math/sh.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr std::size_t kQuestionGrain = 16384;

/// 1 for every row of which `asked(i)` is true.
template <class F>
Hits rows_where(const GaussianModel& model, const F& asked) {
    Hits hits(model.count);
    parallel_for(model.count, kQuestionGrain,
                 [&](std::size_t i) { hits[i] = asked(i) ? std::uint8_t{1} : std::uint8_t{0}; });
    return hits;
}

bool inside(const ClipBox& box, Vec3f p) {
    return p.x >= box.lo.x && p.x <= box.hi.x && p.y >= box.lo.y && p.y <= box.hi.y &&
           p.z >= box.lo.z && p.z <= box.hi.z;
}

float largest_deviation(const GaussianModel& m, std::size_t i) {
    return std::exp(
        std::max({m.at(kLogScales, i), m.at(kLogScales + 1, i), m.at(kLogScales + 2, i)}));
}

/// Not behind the surface at this pixel of a picture of `width` x `height`.
bool is_seen(const ImageF& surface, const ScreenMask& mask, int x, int y, float depth, float size) {
    const int sx = std::min(x * surface.width / mask.width, surface.width - 1);
    const int sy = std::min(y * surface.height / mask.height, surface.height - 1);
    const float there = surface.at(0, sx, sy);
    return !std::isfinite(there) || depth <= there + size;
}

}  // namespace

Hits rows_on_screen(const GaussianModel& model, const Sight& sight, const ScreenMask& mask) {
    const Camera& camera = sight.camera;
    CHECK(mask.width == camera.width && mask.height == camera.height, "a mask of the picture");
    const CameraPixels pixels(camera);
    return rows_where(model, [&](std::size_t i) {
        const Vec3f mean = model.mean(i);
        if (sight.clip && !inside(*sight.clip, mean)) return false;
        const Vec3d at = camera.rotation * Vec3d{mean.x, mean.y, mean.z} + camera.translation;
        const double depth = pixels.depth_of(at);
        if (!(depth > std::max(sight.near_plane, 1e-9))) return false;
        const Vec2<double> pixel = pixels.pixel_of(at);
        if (!(pixel.x >= 0 && pixel.x < mask.width && pixel.y >= 0 && pixel.y < mask.height))
            return false;
        const int x = static_cast<int>(pixel.x), y = static_cast<int>(pixel.y);
        if (!mask.at(x, y)) return false;
        return !sight.surface || is_seen(*sight.surface, mask, x, y, static_cast<float>(depth),
                                         largest_deviation(model, i));
    });
}

Hits rows_in_sphere(const GaussianModel& model, Vec3f centre, float radius) {
    return rows_where(model, [&](std::size_t i) {
        const Vec3f off = model.mean(i) - centre;
        return dot(off, off) <= radius * radius;
    });
}

Hits rows_in_box(const GaussianModel& model, const ClipBox& box) {
    return rows_where(model, [&](std::size_t i) { return inside(box, model.mean(i)); });
}

float own_value(const GaussianModel& m, std::size_t i, OwnValue value, const Camera& camera) {
    const float s[3] = {m.at(kLogScales, i), m.at(kLogScales + 1, i), m.at(kLogScales + 2, i)};
    const Vec3f mean = m.mean(i);
    switch (value) {
        case OwnValue::opacity:
            return 1 / (1 + std::exp(-m.at(kOpacityLogits, i)));
        case OwnValue::size:
            return largest_deviation(m, i);
        case OwnValue::anisotropy:
            return std::exp(std::max({s[0], s[1], s[2]}) - std::min({s[0], s[1], s[2]}));
        case OwnValue::energy: {
            float sum = 0;
            for (int p = kShRest; p < m.planes(); ++p) sum += m.at(p, i) * m.at(p, i);
            return std::sqrt(sum);
        }
        case OwnValue::depth:
            return static_cast<float>(camera.depth_of(
                camera.rotation * Vec3d{mean.x, mean.y, mean.z} + camera.translation));
        case OwnValue::x:
            return mean.x;
        case OwnValue::y:
            return mean.y;
        case OwnValue::z:
            return mean.z;
    }
    return std::numeric_limits<float>::quiet_NaN();
}

Hits rows_by_value(const GaussianModel& model, OwnValue value, double lo, double hi,
                   const Camera& camera) {
    return rows_where(model, [&](std::size_t i) {
        const auto v = static_cast<double>(own_value(model, i, value, camera));
        return v >= lo && v <= hi;
    });
}

Hits rows_by_color(const GaussianModel& model, Vec3f color, float tolerance) {
    const float wanted[3] = {color.x, color.y, color.z};
    return rows_where(model, [&](std::size_t i) {
        bool near = true;
        for (int c = 0; c < 3; ++c) {
            const float own = 0.5f + math::kSh0Basis * model.at(kSh0 + c, i);
            near = near && std::abs(own - wanted[c]) <= tolerance;
        }
        return near;
    });
}

bool bounds_of_selection(const GaussianModel& model, std::span<const std::uint8_t> flags, Vec3f& lo,
                         Vec3f& hi) {
    CHECK(flags.size() == model.count, "flags for every row");
    bool any = false;
    for (std::size_t i = 0; i < model.count; ++i) {
        const Vec3f p = model.mean(i);
        if ((flags[i] & kSelected) == 0 || !std::isfinite(p.x + p.y + p.z)) continue;
        if (!any) lo = hi = p;
        any = true;
        lo = {std::min(lo.x, p.x), std::min(lo.y, p.y), std::min(lo.z, p.z)};
        hi = {std::max(hi.x, p.x), std::max(hi.y, p.y), std::max(hi.z, p.z)};
    }
    return any;
}

}  // namespace gs
