#include "renderer/io/captures/lens_mask.h"

#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr int kGrid = 32;  // cells a side of the coarse look

// What decides where rays are.
std::vector<double> lens_key(const Camera& c) {
    std::vector<double> key{static_cast<double>(c.model),
                            static_cast<double>(c.width),
                            static_cast<double>(c.height),
                            c.fx,
                            c.fy,
                            c.cx,
                            c.cy};
    key.insert(key.end(), c.distortion.begin(), c.distortion.end());
    return key;
}

Image8 mask_of_rays(const Camera& camera) {
    const auto lens = math::make_lens<double>(camera);
    Image8 out{camera.width, camera.height, 1, {}};
    out.bytes.reserve(out.pixels());
    for (int y = 0; y < camera.height; ++y)
        for (int x = 0; x < camera.width; ++x)
            out.bytes.push_back(math::lens_ray(lens, Vec2<double>{x + 0.5, y + 0.5}).valid ? 255
                                                                                           : 0);
    return out;
}

}  // namespace

double share_with_rays(const Camera& camera) {
    if (camera.model == CameraModel::pinhole || camera.orthographic()) return 1;
    const auto lens = math::make_lens<double>(camera);
    int valid = 0;
    for (int i = 0; i <= kGrid; ++i)
        for (int j = 0; j <= kGrid; ++j) {
            // Pixel centres: the rim's, and those between.
            const Vec2<double> at{0.5 + (camera.width - 1.0) * j / kGrid,
                                  0.5 + (camera.height - 1.0) * i / kGrid};
            valid += math::lens_ray(lens, at).valid ? 1 : 0;
        }
    return static_cast<double>(valid) / ((kGrid + 1) * (kGrid + 1));
}

std::shared_ptr<const Image8> LensMasks::of(const Camera& camera) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = masks_.try_emplace(lens_key(camera));
    // Where rays end is a closed curve around the axis: it meets the rim or the grid.
    if (is_new && share_with_rays(camera) < 1)
        at->second = std::make_shared<const Image8>(mask_of_rays(camera));
    return at->second;
}

}  // namespace gs
