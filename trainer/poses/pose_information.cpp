#include "trainer/poses/pose_information.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "renderer/math/lens_intrinsics.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr std::size_t kMostPoints = 4000, kMostPlaces = 40000;  // looked at
constexpr std::size_t kMostPhotos = 24;                         // of a camera
constexpr int kAround = 3;                                      // px to each side of a point

/// How a photo changes to the right and down there: mean over colours of the products, 0..1.
struct Structure {
    double xx = 0, xy = 0, yy = 0;

    double sum() const { return xx + yy; }
};

/// Central differences at a pixel that is not on the rim.
void add_pixel(const Image8& photo, int x, int y, Structure& sum) {
    const auto at = [&](int px, int py, std::size_t c) {
        const auto place = static_cast<std::size_t>(py) * static_cast<std::size_t>(photo.width) +
                           static_cast<std::size_t>(px);
        return static_cast<double>(photo.bytes[3 * place + c]);
    };
    constexpr double kUnit = 1.0 / (2 * 255);
    for (std::size_t c = 0; c < 3; ++c) {
        const double dx = kUnit * (at(x + 1, y, c) - at(x - 1, y, c)),
                     dy = kUnit * (at(x, y + 1, c) - at(x, y - 1, c));
        sum.xx += dx * dx / 3;
        sum.xy += dx * dy / 3;
        sum.yy += dy * dy / 3;
    }
}
bool has_neighbours(const Image8& photo, int x, int y) {
    return x > 0 && y > 0 && x + 1 < photo.width && y + 1 < photo.height;
}

Structure structure_around(const Image8& photo, Vec2<double> place) {
    const int x = static_cast<int>(place.x), y = static_cast<int>(place.y);
    Structure sum;
    int n = 0;
    for (int j = y - kAround; j <= y + kAround; ++j)
        for (int i = x - kAround; i <= x + kAround; ++i)
            if (has_neighbours(photo, i, j)) add_pixel(photo, i, j, sum), ++n;
    const double share = n > 0 ? 1.0 / n : 0;
    return {share * sum.xx, share * sum.xy, share * sum.yy};
}

/// Mean over the whole photo of Structure::sum(), from rows and columns that are equally far apart.
double change_all_over(const Image8& photo) {
    const double places = static_cast<double>(photo.width) * photo.height;
    const int step = std::max(1, static_cast<int>(std::sqrt(places / kMostPlaces)));
    Structure sum;
    double n = 0;
    for (int y = 1; y + 1 < photo.height; y += step)
        for (int x = 1; x + 1 < photo.width; x += step) add_pixel(photo, x, y, sum), ++n;
    return n > 0 ? sum.sum() / n : 0;
}

Vec3d in_camera(const Camera& camera, Vec3d point) {
    return camera.rotation * point + camera.translation;
}

/// Where the camera sees a point, px; none: it does not.
std::optional<Vec2<double>> pixel_of(const Camera& camera, const CameraPixels& pixels,
                                     Vec3d point) {
    if (!(in_camera(camera, point).z > 0)) return {};
    const Vec2<double> at = pixels.pixel_of(in_camera(camera, point));
    if (!(at.x >= 0 && at.x < camera.width && at.y >= 0 && at.y < camera.height)) return {};
    return at;
}

/// Of a point's pixel by the camera's motion: by differences, through any lens.
Jacobian<6> motion_jacobian(const Camera& camera, const CameraPixels& pixels, Vec3d point) {
    const Vec3d arm = point - camera.position();
    const double far = std::sqrt(dot(arm, arm)), h = 1e-4;
    Jacobian<6> out{};
    for (std::size_t i = 0; i < 6; ++i) {
        const std::size_t a = i % 3;
        const Vec3d axis{a == 0 ? 1.0 : 0.0, a == 1 ? 1.0 : 0.0, a == 2 ? 1.0 : 0.0};
        // The camera turns or moves one way, what it sees the other.
        const Vec3d way = i < 3 ? -cross(axis, arm) : -far * axis;
        const double unit = i < 3 ? 1 : far;
        const Vec2<double> ahead = pixels.pixel_of(in_camera(camera, point + h * way)),
                           behind = pixels.pixel_of(in_camera(camera, point + (-h) * way));
        out[0][i] = (ahead.x - behind.x) / (2 * h * unit);
        out[1][i] = (ahead.y - behind.y) / (2 * h * unit);
    }
    return out;
}

template <std::size_t N>
void add(const Jacobian<N>& j, const Structure& s, math::Square<N>& sum) {
    for (std::size_t a = 0; a < N; ++a)
        for (std::size_t b = 0; b < N; ++b)
            sum[a][b] += s.xx * j[0][a] * j[0][b] + s.yy * j[1][a] * j[1][b] +
                         s.xy * (j[0][a] * j[1][b] + j[1][a] * j[0][b]);
}
template <std::size_t N>
void scale(math::Square<N>& a, double by) {
    for (math::Row<N>& row : a)
        for (double& x : row) x *= by;
}

/// `jacobian(point)`: of the pixel of a point in the world.
template <std::size_t N, class Jacobians>
Information<N> information(const Capture& capture, const View& view, const CameraPixels& pixels,
                           const Jacobians& jacobian) {
    Information<N> out;
    const LentPhoto lent = lend_photo(view);
    const Image8& photo = lent.photo();
    if (photo.width != view.camera.width || photo.height != view.camera.height) return out;
    const std::size_t stride = std::max<std::size_t>(1, capture.points.size() / kMostPoints);
    double there = 0, seen = 0;
    for (std::size_t i = 0; i < capture.points.size(); i += stride) {
        const Vec3f p = capture.points[i].position;
        const Vec3d point{static_cast<double>(p.x), static_cast<double>(p.y),
                          static_cast<double>(p.z)};
        const auto at = pixel_of(view.camera, pixels, point);
        if (!at) continue;
        const Jacobian<N> j = jacobian(point);
        const Structure s = structure_around(photo, *at);
        add(j, s, out.change);
        add(j, {1, 0, 1}, out.way);
        there += s.sum();
        ++seen;
    }
    double finite = 0;
    for (const math::Row<N>& row : out.change)
        for (const double x : row) finite += x;
    if (!(there > 0) || !std::isfinite(finite)) return {};
    scale(out.change, change_all_over(photo) / there);
    scale(out.way, 1 / seen);
    out.width = view.camera.width;
    out.any = true;
    return out;
}

}  // namespace

PoseInformation pose_information(const Capture& capture, const View& view) {
    const CameraPixels pixels(view.camera);
    return information<6>(capture, view, pixels,
                          [&](Vec3d point) { return motion_jacobian(view.camera, pixels, point); });
}

Jacobian<kIntrinsics> intrinsics_jacobian(CameraModel model, const math::Lens<double>& lens,
                                          Vec3d c) {
    const double none[2][3] = {};
    const auto numbers = math::distortion_numbers(model);
    Jacobian<kIntrinsics> out{};
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const Vec2<double> one{axis == 0 ? 1.0 : 0.0, axis == 0 ? 0.0 : 1.0};
        const auto slopes =
            math::lens_intrinsics_vjp(lens, c, math::base_place(lens.base, c), one, none);
        out[axis][0] = slopes.v[math::kFocal];
        for (std::size_t i = 0; i < numbers.size(); ++i) out[axis][1 + i] = slopes.v[numbers[i]];
    }
    return out;
}

namespace {

/// The numbers of a lens, then a point's place in the world.
constexpr std::size_t kWithPoint = kIntrinsics + 3;

/// A photo that is looked at.
struct Looked {
    const View& view;
    LentPhoto lent;
    math::Lens<double> lens;
    CameraPixels pixels;

    explicit Looked(const View& of)
        : view(of),
          lent(lend_photo(of)),
          lens(math::make_point_lens(of.camera)),
          pixels(of.camera) {}
    Jacobian<kWithPoint> jacobian(Vec3d point) const {
        const Vec3d c = in_camera(view.camera, point);
        const Jacobian<kIntrinsics> own = intrinsics_jacobian(view.camera.model, lens, c);
        const math::Jacobian<double> moved = math::lens_jacobian(lens, c);
        Jacobian<kWithPoint> out{};
        for (std::size_t axis = 0; axis < 2; ++axis) {
            std::copy(own[axis].begin(), own[axis].end(), out[axis].begin());
            const auto& j = moved.j[axis];
            const Vec3d by = transpose(view.camera.rotation) * Vec3d{j[0], j[1], j[2]};
            out[axis][kIntrinsics] = by.x;
            out[axis][kIntrinsics + 1] = by.y;
            out[axis][kIntrinsics + 2] = by.z;
        }
        return out;
    }
};

/// What is left for the lens where the point goes to its best place for each lens (the Schur
/// complement). A direction in which no photo shows it move stays out.
void let_point_follow(math::Square<kWithPoint>& sum) {
    const math::Square<kWithPoint> whole = sum;
    for (std::size_t k = kWithPoint; k-- > kIntrinsics;) {
        if (!(sum[k][k] > 1e-6 * whole[k][k])) continue;
        for (std::size_t a = 0; a < k; ++a)
            for (std::size_t b = 0; b < k; ++b) sum[a][b] -= sum[a][k] * sum[k][b] / sum[k][k];
    }
}
void add_corner(const math::Square<kWithPoint>& from, math::Square<kIntrinsics>& to) {
    for (std::size_t a = 0; a < kIntrinsics; ++a)
        for (std::size_t b = 0; b < kIntrinsics; ++b) to[a][b] += from[a][b];
}

}  // namespace

Information<kIntrinsics> intrinsics_information(const Capture& capture,
                                                std::span<const std::size_t> views) {
    std::vector<Looked> photos;
    const std::size_t every = (views.size() + kMostPhotos - 1) / kMostPhotos;
    for (std::size_t i = 0; i < views.size(); i += every)
        photos.emplace_back(capture.views[views[i]]);
    Information<kIntrinsics> out;
    const std::size_t stride = std::max<std::size_t>(1, capture.points.size() / kMostPoints);
    double there = 0, seen = 0, change = 0;
    for (std::size_t i = 0; i < capture.points.size(); i += stride) {
        const Vec3f p = capture.points[i].position;
        const Vec3d point{static_cast<double>(p.x), static_cast<double>(p.y),
                          static_cast<double>(p.z)};
        math::Square<kWithPoint> sum{}, way{};
        for (const Looked& photo : photos) {
            const auto at = pixel_of(photo.view.camera, photo.pixels, point);
            if (!at) continue;
            const Jacobian<kWithPoint> j = photo.jacobian(point);
            const Structure s = structure_around(photo.lent.photo(), *at);
            add(j, s, sum);
            add(j, {1, 0, 1}, way);
            there += s.sum();
            ++seen;
        }
        add_corner(sum, out.held);
        add_corner(way, out.way);
        let_point_follow(sum);
        add_corner(sum, out.change);
    }
    for (const Looked& photo : photos) change += change_all_over(photo.lent.photo());
    double finite = 0;
    for (std::size_t a = 0; a < kIntrinsics; ++a) finite += out.held[a][a] + out.change[a][a];
    if (!(there > 0) || !std::isfinite(finite)) return {};
    const double share = change / (static_cast<double>(photos.size()) * there);
    scale(out.change, share);
    scale(out.held, share);
    scale(out.way, 1 / seen);
    out.width = photos.front().view.camera.width;
    out.any = out.scene_follows = true;
    return out;
}

}  // namespace gs
