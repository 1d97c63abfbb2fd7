#include "panels/viewport/overlay_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/format.h"

namespace gs {
namespace {

constexpr int kCorners = 48;
constexpr double kDeviations = 2, kNear = 1e-3;

Vec3d wide(Vec3f v) { return {v.x, v.y, v.z}; }

}  // namespace

std::vector<std::array<Pixel, 2>> outline_of(const MarkedGaussian& marked, const Camera& camera) {
    std::vector<std::array<Pixel, 2>> out;
    if (!camera.valid()) return out;
    const Vec3d centre = wide(marked.mean);
    for (std::size_t k = 0; k < 3; ++k) {
        const Vec3d u = kDeviations * wide(marked.axes[k]),
                    v = kDeviations * wide(marked.axes[(k + 1) % 3]);
        const auto corner = [&](int i) {
            const double angle = 2 * std::numbers::pi * i / kCorners;
            return centre + std::cos(angle) * u + std::sin(angle) * v;
        };
        for (int i = 0; i < kCorners; ++i)
            if (const auto line = project_segment(camera, corner(i), corner(i + 1), kNear))
                out.push_back(*line);
    }
    return out;
}

std::string words_of(const MarkedGaussian& marked) {
    const auto size = [&](std::size_t i) {
        return format_number(std::sqrt(static_cast<double>(dot(marked.axes[i], marked.axes[i]))),
                             3);
    };
    return fmt::format("#{}  opacity {}  sizes {} x {} x {}", marked.row,
                       format_number(static_cast<double>(marked.opacity), 3), size(0), size(1),
                       size(2));
}

}  // namespace gs
