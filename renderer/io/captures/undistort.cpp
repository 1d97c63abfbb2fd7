#include "renderer/io/captures/undistort.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

// Half the widest picture we make, as a tangent: pinholes beyond about 113 degrees are mostly
// stretched corners.
constexpr double kWidest = 1.5;

struct Rect {
    double x0, x1, y0, y1;  // of (x/z, y/z)
};

// Where the direction (x/z, y/z) lands in the photo; nothing outside it or the lens's range.
std::optional<Vec2<double>> place_in_photo(const Camera& photo, const math::Lens<double>& lens,
                                           double x, double y) {
    const auto on = math::lens_project(lens, Vec3d{x, y, 1});
    const Vec2<double> p = on.uv;
    if (on.valid && p.x >= 0 && p.x <= photo.width && p.y >= 0 && p.y <= photo.height) return p;
    return std::nullopt;
}

// How far one can go from the axis in direction (dx, dy) before leaving the photo or the lens's
// range.
double reach(const Camera& photo, const math::Lens<double>& lens, double dx, double dy) {
    double inside = 0, outside = kWidest;
    const auto covered = [&](double t) {
        return place_in_photo(photo, lens, dx * t, dy * t).has_value();
    };
    if (!covered(0)) return 0;
    if (covered(outside)) return outside;
    for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (inside + outside);
        (covered(middle) ? inside : outside) = middle;
    }
    return inside;
}

// Moves inwards every side of the rectangle across which a border point leaves the photo; true when
// one did.
bool pull_in(const Camera& photo, const math::Lens<double>& lens, Rect& r, const Rect& step) {
    constexpr int kSamples = 48;
    bool x0 = false, x1 = false, y0 = false, y1 = false;
    const auto look = [&](double x, double y) {
        const auto on = math::lens_project(lens, Vec3d{x, y, 1});
        const Vec2<double> p = on.uv;
        if (!on.valid) {
            (std::abs(x) * (r.y1 - r.y0) > std::abs(y) * (r.x1 - r.x0) ? (x < 0 ? x0 : x1)
                                                                       : (y < 0 ? y0 : y1)) = true;
            return;
        }
        x0 |= p.x < 0;
        x1 |= p.x > photo.width;
        y0 |= p.y < 0;
        y1 |= p.y > photo.height;
    };
    for (int i = 0; i <= kSamples; ++i) {
        const double t = static_cast<double>(i) / kSamples;
        const double x = r.x0 + t * (r.x1 - r.x0), y = r.y0 + t * (r.y1 - r.y0);
        look(x, r.y0);
        look(x, r.y1);
        look(r.x0, y);
        look(r.x1, y);
    }
    if (x0) r.x0 += step.x0;
    if (x1) r.x1 -= step.x1;
    if (y0) r.y0 += step.y0;
    if (y1) r.y1 -= step.y1;
    return x0 || x1 || y0 || y1;
}

// Calls f(output pixel, source x, source y) with the source position in pixel indices, or with NaN
// when not covered.
template <class F>
void for_each_source(const Camera& photo, const Camera& pinhole, F&& f) {
    const math::Lens<double> lens = math::make_lens(photo);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::size_t index = 0;
    for (int row = 0; row < pinhole.height; ++row) {
        const double y = (row + 0.5 - pinhole.cy) / pinhole.fy;
        for (int column = 0; column < pinhole.width; ++column, ++index) {
            const double x = (column + 0.5 - pinhole.cx) / pinhole.fx;
            const auto p = place_in_photo(photo, lens, x, y);
            // Half a pixel at the rim repeats the last one.
            f(index, p ? std::clamp(p->x - 0.5, 0.0, photo.width - 1.0) : nan,
              p ? std::clamp(p->y - 0.5, 0.0, photo.height - 1.0) : nan);
        }
    }
}

}  // namespace

bool is_distorted(const Camera& camera) {
    if (is_pinhole(camera)) return false;
    if (math::measures_distance(camera)) return true;
    return std::ranges::any_of(camera.distortion, [](double k) { return k != 0; });
}

const char* name_of(CameraModel model) {
    constexpr std::array<const char*, 10> kNames = {
        "PINHOLE",        "SIMPLE_RADIAL",  "RADIAL",      "OPENCV",
        "OPENCV_FISHEYE", "ORTHOGRAPHIC",   "FULL_OPENCV", "THIN_PRISM_FISHEYE",
        "FTHETA",         "EQUIRECTANGULAR"};
    return kNames[static_cast<std::size_t>(model)];
}

Camera undistorted_camera(const Camera& photo) {
    Camera out = photo;
    out.model = CameraModel::pinhole;
    out.distortion = {};
    const math::Lens<double> lens = math::make_lens(photo);
    Rect r{-reach(photo, lens, -1, 0), reach(photo, lens, 1, 0), -reach(photo, lens, 0, -1),
           reach(photo, lens, 0, 1)};
    const Rect step{-r.x0 / 512, r.x1 / 512, -r.y0 / 512, r.y1 / 512};
    for (int i = 0; i < 512 && pull_in(photo, lens, r, step); ++i) {
    }
    const double width = std::floor(photo.fx * (r.x1 - r.x0)),
                 height = std::floor(photo.fy * (r.y1 - r.y0));
    // Nothing sensible (a principal point outside the photo, an absurd lens): keep the frame, mark
    // what is not covered. Such a lens must not ask for a picture much larger than the photo
    // either.
    if (!(width >= 0.25 * photo.width && height >= 0.25 * photo.height &&
          width <= 4.0 * photo.width && height <= 4.0 * photo.height))
        return out;
    out.width = static_cast<int>(width);
    out.height = static_cast<int>(height);
    out.cx = -photo.fx * r.x0;
    out.cy = -photo.fy * r.y0;
    return out;
}

Undistorted undistort(const Image8& photo, const Image8& mask, const Camera& lens,
                      const Camera& pinhole) {
    CHECK(photo.width == lens.width && photo.height == lens.height);
    CHECK(mask.empty() ||
          (mask.width == lens.width && mask.height == lens.height && mask.channels == 1));
    const int channels = photo.channels, width = photo.width, height = photo.height;
    Undistorted out{{pinhole.width, pinhole.height, channels, {}},
                    {pinhole.width, pinhole.height, 1, {}}};
    out.photo.bytes.resize(out.photo.pixels() * static_cast<std::size_t>(channels));
    out.mask.bytes.assign(out.mask.pixels(), 255);
    bool complete = true;
    for_each_source(lens, pinhole, [&](std::size_t index, double sx, double sy) {
        if (!(sx >= 0)) {
            out.mask.bytes[index] = 0;
            complete = false;
            return;
        }
        const int x = static_cast<int>(sx), y = static_cast<int>(sy);
        const bool has_right = x + 1 < width, has_below = y + 1 < height;
        const int right = has_right ? channels : 0, down = has_below ? width * channels : 0;
        const auto fx = static_cast<float>(sx - x), fy = static_cast<float>(sy - y);
        const std::uint8_t* p = photo.at(x, y);
        std::uint8_t* target = out.photo.bytes.data() + index * static_cast<std::size_t>(channels);
        for (int c = 0; c < channels; ++c, ++p) {
            const float top = static_cast<float>(p[0]) + fx * static_cast<float>(p[right] - p[0]);
            const float bottom =
                static_cast<float>(p[down]) + fx * static_cast<float>(p[down + right] - p[down]);
            target[c] = static_cast<std::uint8_t>(top + fy * (bottom - top) + 0.5f);
        }
        if (mask.empty()) return;
        const std::uint8_t* m = mask.at(x, y);
        const int next = has_right && fx > 0 ? 1 : 0, below = has_below && fy > 0 ? width : 0;
        if (m[0] == 0 || m[next] == 0 || m[below] == 0 || m[below + next] == 0)
            out.mask.bytes[index] = 0;
    });
    if (mask.empty() && complete) out.mask = {};
    return out;
}

}  // namespace gs
