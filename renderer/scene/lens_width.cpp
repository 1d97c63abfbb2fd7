#include "renderer/scene/lens_width.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "renderer/scene/camera_lens.h"

namespace gs {
double widest_angle(const Camera& camera) {
    const auto lens = math::make_lens(camera);
    double widest = 0;
    constexpr int kCells = 16;
    for (int i = 0; i <= kCells; ++i)
        for (int j = 0; j <= kCells; ++j) {
            const auto ray =
                math::lens_ray(lens, Vec2<double>{camera.width * static_cast<double>(j) / kCells,
                                                  camera.height * static_cast<double>(i) / kCells});
            if (ray.valid)
                widest = std::max(widest, std::acos(std::clamp(ray.direction.z, -1.0, 1.0)));
        }
    return widest * 180 / std::numbers::pi;
}

double widest_angle(const Capture& capture) {
    double widest = 0;
    std::set<std::vector<double>> seen;
    for (const View& view : capture.views) {
        const Camera& c = view.camera;
        if (is_pinhole(c)) continue;
        std::vector<double> lens{
            static_cast<double>(c.model), c.fx, c.fy, c.cx, c.cy, static_cast<double>(c.width),
            static_cast<double>(c.height)};
        lens.insert(lens.end(), c.distortion.begin(), c.distortion.end());
        if (seen.insert(std::move(lens)).second) widest = std::max(widest, widest_angle(c));
    }
    return widest;
}

}  // namespace gs
