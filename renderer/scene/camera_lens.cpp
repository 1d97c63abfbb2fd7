#include "renderer/scene/camera_lens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace gs::math {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNever = 1e30;  // r^2 that no point reaches

Lens<double> plain(const Camera& c, LensBase base) {
    Lens<double> lens{};
    lens.base = base;
    lens.fx = c.fx;
    lens.fy = c.fy;
    lens.cx = c.cx;
    lens.cy = c.cy;
    lens.mix[0][0] = lens.mix[1][1] = 1;
    lens.limit_squared = kNever;
    lens.a_lo = lens.b_lo = -kNever;
    lens.a_hi = lens.b_hi = kNever;
    return lens;
}

double& number_in(Lens<double>& lens, LensNumber number) {
    double* const others[] = {&lens.p1, &lens.p2, &lens.s1, &lens.s2, &lens.s3, &lens.s4};
    if (number >= kP1) return *others[number - kP1];
    return number >= kM1 ? lens.m[number - kM1] : lens.n[number - kN1];
}

void set_coefficients(const Camera& c, Lens<double>& lens) {
    const auto& k = c.distortion;
    if (c.model == CameraModel::ftheta) {
        std::copy_n(&k[1], 5, lens.poly);
        lens.mix[0][0] = k[6];
        lens.mix[0][1] = k[7];
        lens.mix[1][0] = k[8];
        lens.radial = k[10] != 0 ? LensRadial::inverse_polynomial : LensRadial::polynomial;
        return;
    }
    const auto numbers = distortion_numbers(c.model);
    for (std::size_t i = 0; i < numbers.size(); ++i) number_in(lens, numbers[i]) = k[i];
    const auto counts = [](const auto& part) {
        return std::any_of(std::begin(part), std::end(part), [](double x) { return x != 0; });
    };
    lens.decentred = counts(std::array{lens.p1, lens.p2, lens.s1, lens.s2, lens.s3, lens.s4});
    if (counts(lens.n) || counts(lens.m)) lens.radial = LensRadial::rational;
}

/// Whether the radial part still goes outwards at r, on the near side of any pole.
bool goes_outwards(const Lens<double>& lens, double r) {
    const double q = r * r;
    if (lens.radial == LensRadial::rational &&
        !(1 + q * (lens.m[0] + q * (lens.m[1] + q * lens.m[2])) > 0))
        return false;
    const RadialFactor<double> f = radial_factor(lens, q);
    return f.d > 0 && f.d + 2 * q * f.d1 > 0;
}

/// The largest angle from the axis up to which `good(angle)` holds from 0 on.
template <class Good>
double last_good(double most, Good&& good) {
    constexpr int kSteps = 128;
    for (int i = 1; i <= kSteps; ++i) {
        double hi = most * i / kSteps;
        if (good(hi)) continue;
        double lo = most * (i - 1) / kSteps;
        for (int k = 0; k < 60; ++k) {
            const double middle = 0.5 * (lo + hi);
            (good(middle) ? lo : hi) = middle;
        }
        return lo;
    }
    return most;
}

/// r at which the lens folds back or ends; kNever where it does not.
double fold_radius(const Camera& c, const Lens<double>& lens) {
    if (lens.base == LensBase::equidistant) {
        if (lens.radial == LensRadial::inverse_polynomial) {
            // The polynomial gives the angle of a distance: it must grow until the largest angle.
            const double widest = std::min(c.distortion[9], kPi);
            const double d = last_good(widest / lens.poly[0] * 4, [&](double at) {
                return polynomial_slope(lens, at) > 0 && polynomial_at(lens, at) < widest;
            });
            return std::min(widest, polynomial_at(lens, d));
        }
        const double most = c.model == CameraModel::ftheta ? std::min(c.distortion[9], kPi) : kPi;
        return last_good(most, [&](double angle) { return goes_outwards(lens, angle); });
    }
    if (lens.radial == LensRadial::none) return kNever;
    constexpr double kMost = 89.9 / 180 * kPi;
    const double angle =
        last_good(kMost, [&](double at) { return goes_outwards(lens, std::tan(at)); });
    return angle < kMost ? std::tan(angle) : kNever;
}

/// Bounds of (x/z, y/z) over the picture's border, widened as a pinhole's are.
void set_bounds(const Camera& c, Lens<double>& lens) {
    const double margin_x = 0.3 * 0.5 * c.width / c.fx, margin_y = 0.3 * 0.5 * c.height / c.fy;
    double lo[2] = {-c.cx / c.fx, -c.cy / c.fy},
           hi[2] = {(c.width - c.cx) / c.fx, (c.height - c.cy) / c.fy};
    if (lens.radial != LensRadial::none || lens.decentred) {
        const double farthest = std::min(std::sqrt(lens.limit_squared), 10.0);
        double seen[4] = {0, 0, 0, 0};
        const auto look = [&](double u, double v) {
            const Ray<double> ray = lens_ray(lens, {u, v});
            double x = (u - c.cx) / c.fx, y = (v - c.cy) / c.fy;
            if (ray.valid) {
                x = ray.direction.x / ray.direction.z;
                y = ray.direction.y / ray.direction.z;
            } else {  // nothing is seen there: as far as anything is, that way
                const double length = std::sqrt(x * x + y * y);
                x *= farthest / length;
                y *= farthest / length;
            }
            seen[0] = std::min(seen[0], x);
            seen[1] = std::max(seen[1], x);
            seen[2] = std::min(seen[2], y);
            seen[3] = std::max(seen[3], y);
        };
        constexpr int kSamples = 8;
        for (int i = 0; i <= kSamples; ++i) {
            const double t = static_cast<double>(i) / kSamples;
            look(t * c.width, 0);
            look(t * c.width, c.height);
            look(0, t * c.height);
            look(c.width, t * c.height);
        }
        lo[0] = seen[0], hi[0] = seen[1], lo[1] = seen[2], hi[1] = seen[3];
    }
    // While a rolling shutter reads, the picture turns on by half the turn at most.
    const double turn = std::tan(0.5 * std::min(make_rolling(c).angle, 1.0));
    const auto more = [&](double at, double margin) { return margin + turn * (1 + at * at); };
    lens.a_lo = lo[0] - more(lo[0], margin_x);
    lens.a_hi = hi[0] + more(hi[0], margin_x);
    lens.b_lo = lo[1] - more(lo[1], margin_y);
    lens.b_hi = hi[1] + more(hi[1], margin_y);
}

LensBase base_of(CameraModel model) {
    switch (model) {
        case CameraModel::opencv_fisheye:
        case CameraModel::thin_prism_fisheye:
        case CameraModel::ftheta:
            return LensBase::equidistant;
        case CameraModel::equirectangular:
            return LensBase::angles;
        case CameraModel::orthographic:
            return LensBase::parallel;
        default:
            return LensBase::perspective;
    }
}

}  // namespace

std::span<const LensNumber> distortion_numbers(CameraModel model) {
    static constexpr LensNumber kOpenCv[] = {kN1, kN2, kP1, kP2}, kRadial[] = {kN1, kN2, kN3, kN4},
                                kFull[] = {kN1, kN2, kP1, kP2, kN3, kM1,
                                           kM2, kM3, kS1, kS2, kS3, kS4},
                                kThinPrism[] = {kN1, kN2, kP1, kP2, kN3, kN4, kS1, kS3};
    const std::span<const LensNumber> radial = kRadial;
    switch (model) {
        case CameraModel::simple_radial:
            return radial.first(1);
        case CameraModel::radial:
            return radial.first(2);
        case CameraModel::opencv:
            return kOpenCv;
        case CameraModel::opencv_fisheye:
            return radial;
        case CameraModel::full_opencv:
            return kFull;
        case CameraModel::thin_prism_fisheye:
            return kThinPrism;
        default:
            return {};
    }
}

Lens<double> make_point_lens(const Camera& camera) {
    Lens<double> lens = plain(camera, base_of(camera.model));
    set_coefficients(camera, lens);
    lens.by_distance = measures_distance(camera);
    // gsplat's rule for the lens with a denominator, whose scale may come back after a dip.
    if (camera.model == CameraModel::full_opencv) lens.least_scale = 0.8;
    const double fold = fold_radius(camera, lens);
    lens.limit_squared = std::min(fold * fold, kNever);
    if (lens.base == LensBase::angles) lens.wrap_width = camera.width;
    return lens;
}

Lens<double> make_lens(const Camera& camera) {
    Lens<double> lens = make_point_lens(camera);
    if (lens.base == LensBase::perspective) set_bounds(camera, lens);
    return lens;
}

bool measures_distance(const Camera& camera) {
    const LensBase base = base_of(camera.model);
    return base == LensBase::equidistant || base == LensBase::angles;
}

Rolling<double> make_rolling(const Camera& c) {
    Rolling<double> r{};
    r.axis = {1, 0, 0};
    if (!c.rolling()) return r;
    // last = turn first, the shorter way.
    const Quatd a = quat_from_rotation(c.first.rotation), b = quat_from_rotation(c.last.rotation);
    const double sign = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z < 0 ? -1 : 1;
    const double w = b.w * a.w + b.x * a.x + b.y * a.y + b.z * a.z;
    const Vec3d v{b.x * a.w - b.w * a.x - (b.y * a.z - b.z * a.y),
                  b.y * a.w - b.w * a.y - (b.z * a.x - b.x * a.z),
                  b.z * a.w - b.w * a.z - (b.x * a.y - b.y * a.x)};
    const double length = std::sqrt(dot(v, v));
    if (length > 1e-15) {  // nearer than that the poses are one
        r.axis = (sign / length) * v;
        r.angle = 2 * std::atan2(length, sign * w);
    }
    r.drift = c.last.translation - c.first.translation;
    r.on = r.angle != 0 || dot(r.drift, r.drift) != 0;
    // Of a pixel's centre: 0 .. 1 over rows or columns, then from half.
    const bool rows = c.shutter == Shutter::top_to_bottom || c.shutter == Shutter::bottom_to_top;
    const bool back = c.shutter == Shutter::bottom_to_top || c.shutter == Shutter::right_to_left;
    const int count = rows ? c.height : c.width;
    const double per = count > 1 ? (back ? -1.0 : 1.0) / (count - 1) : 0.0;
    (rows ? r.per_v : r.per_u) = per;
    r.at_0 = -0.5 * per * count;
    return r;
}

}  // namespace gs::math

namespace gs {

CameraPixels::CameraPixels(const Camera& camera)
    : pinhole_(draws_as_pinhole(camera)),
      lens_(math::make_point_lens(camera)),
      shutter_(math::make_rolling(camera)),
      at_half_{camera.rotation, camera.translation},
      rolling_(camera.rolling()),
      first_(camera.first),
      last_(camera.last) {}

Vec2<double> CameraPixels::pixel_of(Vec3d p) const {
    if (pinhole_) {
        const double w = lens_.base == math::LensBase::parallel ? 1 : p.z;
        return {lens_.fx * p.x / w + lens_.cx, lens_.fy * p.y / w + lens_.cy};
    }
    if (shutter_.on)
        p = math::point_at(shutter_,
                           math::moment_of_point(shutter_, lens_, p, at_half_.translation), p,
                           at_half_.translation);
    const auto on = math::lens_project(lens_, p);
    constexpr double kNowhere = std::numeric_limits<double>::quiet_NaN();
    return on.valid ? on.uv : Vec2<double>{kNowhere, kNowhere};
}

CameraRay CameraPixels::ray_of(double x, double y) const {
    const auto ray = math::lens_ray(lens_, {x, y});
    const Pose pose =
        rolling_ ? pose_between(first_, last_, 0.5 + math::moment_of(shutter_, {x, y})) : at_half_;
    const Mat3d world_from_camera = transpose(pose.rotation);
    return {world_from_camera * (ray.origin - pose.translation), world_from_camera * ray.direction,
            ray.valid};
}

}  // namespace gs
