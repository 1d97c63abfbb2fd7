#include "renderer/io/captures/lens_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr int kGrid = 32;  // cells a side of the coarse look

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

// False where pixels without a ray lie beyond the lens's own end.
bool can_fold(const Camera& camera) {
    const auto lens = math::make_point_lens(camera);
    if (lens.base == math::LensBase::perspective)
        return lens.radial != math::LensRadial::none || lens.decentred;
    if (lens.base != math::LensBase::equidistant) return false;
    constexpr double kHalfTurn = 3.14159265358979323846;
    const double end =
        camera.model == CameraModel::ftheta ? std::min(camera.distortion[9], kHalfTurn) : kHalfTurn;
    return std::sqrt(lens.limit_squared) < 0.999 * end;
}

}  // namespace

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

LensFold fold_of(const Camera& camera) {
    LensFold out;
    if (!can_fold(camera) || share_with_rays(camera) == 1) return out;
    constexpr int kFine = 128;  // cells a side
    const auto lens = math::make_point_lens(camera);
    const auto seen = [&](double x, double y) {
        return math::lens_ray(lens, Vec2<double>{x, y}).valid;
    };
    out.radius_px = std::numeric_limits<double>::infinity();
    int lacking = 0;
    for (int i = 0; i < kFine; ++i)
        for (int j = 0; j < kFine; ++j) {
            const double x = (j + 0.5) / kFine * camera.width,
                         y = (i + 0.5) / kFine * camera.height;
            if (seen(x, y)) continue;
            ++lacking;
            const double length = std::hypot(x - camera.cx, y - camera.cy);
            if (length >= out.radius_px) continue;
            double lo = 0, hi = 1;  // of the way there
            for (int k = 0; k < 24; ++k) {
                const double middle = 0.5 * (lo + hi);
                (seen(camera.cx + middle * (x - camera.cx), camera.cy + middle * (y - camera.cy))
                     ? lo
                     : hi) = middle;
            }
            out.radius_px = std::min(out.radius_px, hi * length);
        }
    if (lacking == 0) return {};
    out.share = static_cast<double>(lacking) / (kFine * kFine);
    Camera other = camera;
    other.distortion[0] = -other.distortion[0];
    out.sign_helps = share_with_rays(other) == 1;
    return out;
}

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
