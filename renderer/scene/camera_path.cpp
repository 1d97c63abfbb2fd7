#include "renderer/scene/camera_path.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace gs {
namespace {

double length(Vec3d v) { return std::sqrt(dot(v, v)); }

Quatd operator*(Quatd a, Quatd b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
Quatd conjugate(Quatd q) { return {q.w, -q.x, -q.y, -q.z}; }
Quatd negated(Quatd q) { return {-q.w, -q.x, -q.y, -q.z}; }
double dot4(Quatd a, Quatd b) { return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z; }

/// Of a unit quaternion: half its angle about its axis.
Vec3d log_of(Quatd q) {
    const Vec3d v{q.x, q.y, q.z};
    const double sine = length(v);
    if (sine < 1e-12) return v;
    return (std::atan2(sine, q.w) / sine) * v;
}
Quatd exp_of(Vec3d v) {
    const double angle = length(v);
    const double s = angle < 1e-12 ? 1 : std::sin(angle) / angle;
    return {std::cos(angle), s * v.x, s * v.y, s * v.z};
}
/// The way from a to b, in the axes of a (or b, which is the same).
Vec3d way_between(Quatd a, Quatd b) { return log_of(conjugate(a) * b); }
// Not slerp(): the keys' signs have been chosen, and stay.
Quatd arc(Quatd a, Quatd b, double t) { return a * exp_of(t * way_between(a, b)); }

/// Hermite's cubic over a segment of width h; t from 0 to 1.
template <class T>
T cubic(T a, T slope_a, T b, T slope_b, double h, double t) {
    const double t2 = t * t, t3 = t2 * t;
    return (2 * t3 - 3 * t2 + 1) * a + (h * (t3 - 2 * t2 + t)) * slope_a + (3 * t2 - 2 * t3) * b +
           (h * (t3 - t2)) * slope_b;
}

/// Slopes at each knot from those of the segments: of the parabola through three keys, at the ends
/// of an open curve without curvature there.
template <class T>
std::vector<T> parabola_slopes(const std::vector<double>& h, const std::vector<T>& d, bool closed) {
    const std::size_t n = h.size();
    std::vector<T> out(n + 1);
    const auto between = [&](std::size_t i, std::size_t j) {
        return (1 / (h[i] + h[j])) * (h[j] * d[i] + h[i] * d[j]);
    };
    for (std::size_t i = 1; i < n; ++i) out[i] = between(i - 1, i);
    if (closed) {
        out[0] = out[n] = between(n - 1, 0);
    } else {
        out[0] = n == 1 ? d[0] : 0.5 * (3.0 * d[0] - out[1]);
        out[n] = n == 1 ? d[0] : 0.5 * (3.0 * d[n - 1] - out[n - 1]);
    }
    return out;
}

/// Slopes that keep the cubic from overshooting: the weighted harmonic mean of Fritsch and Butland
/// (1984), 0 at a turning point.
std::vector<double> monotone_slopes(const std::vector<double>& h, const std::vector<double>& d,
                                    bool closed) {
    const std::size_t n = h.size();
    std::vector<double> out(n + 1);
    const auto between = [&](std::size_t i, std::size_t j) {
        if (!(d[i] * d[j] > 0)) return 0.0;
        const double a = 2 * h[j] + h[i], b = h[j] + 2 * h[i];
        return (a + b) / (a / d[i] + b / d[j]);
    };
    for (std::size_t i = 1; i < n; ++i) out[i] = between(i - 1, i);
    out[0] = closed ? between(n - 1, 0) : d[0];
    out[n] = closed ? out[0] : d[n - 1];
    return out;
}

/// Slow at both ends, with continuous derivatives: 6t^5 - 15t^4 + 10t^3 (Perlin 2002).
double eased(double t) { return t * t * t * (t * (6 * t - 15) + 10); }

bool is_rotation(const Mat3d& r) {
    const Mat3d product = r * transpose(r);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (!(std::abs(product.m[i][j] - (i == j ? 1 : 0)) < 1e-3)) return false;
    const Vec3d x{r.m[0][0], r.m[0][1], r.m[0][2]}, y{r.m[1][0], r.m[1][1], r.m[1][2]},
        z{r.m[2][0], r.m[2][1], r.m[2][2]};
    return dot(cross(x, y), z) > 0;
}

bool is_pose(const PathPose& pose) {
    const Vec3d p = pose.position;
    return std::abs(p.x) < 1e12 && std::abs(p.y) < 1e12 && std::abs(p.z) < 1e12 &&
           pose.fov_y > 1e-4 && pose.fov_y < 3.14 && is_rotation(pose.rotation);
}

}  // namespace

double CameraPath::seconds() const {
    if (keys.size() < 2) return 0;
    return keys.back().time - keys.front().time + (closed ? closing : 0);
}

std::size_t pictures_of(const CameraPath& path, double fps) {
    if (path.keys.empty()) return 0;
    const auto steps = static_cast<std::size_t>(std::llround(path.seconds() * fps));
    return path.closed ? std::max<std::size_t>(1, steps) : steps + 1;
}

bool valid(const CameraPath& path) {
    if (path.keys.size() > kMostPathKeys || !(path.seconds() <= kLongestPath)) return false;
    if (path.closed && !(path.closing >= kLeastBetweenKeys)) return false;
    for (std::size_t i = 0; i < path.keys.size(); ++i) {
        if (!is_pose(path.keys[i].pose) || !std::isfinite(path.keys[i].time)) return false;
        if (i > 0 && !(path.keys[i].time - path.keys[i - 1].time >= kLeastBetweenKeys))
            return false;
    }
    return true;
}

Camera camera_of(const PathPose& pose, int width, int height) {
    Camera camera{.width = width, .height = height};
    camera.fx = camera.fy = 0.5 * height / std::tan(0.5 * pose.fov_y);
    camera.cx = 0.5 * width;
    camera.cy = 0.5 * height;
    camera.rotation = pose.rotation;
    camera.translation = -(pose.rotation * pose.position);
    return camera;
}

PathPose pose_of(const Camera& camera) {
    return {camera.position(), camera.rotation, 2 * std::atan(0.5 * camera.height / camera.fy)};
}

PathCurve::PathCurve(const CameraPath& path)
    : closed_(path.closed && path.keys.size() > 1), ease_(path.ease), speed_(path.speed) {
    CHECK(!path.keys.empty() && valid(path));
    const double begin = path.keys.front().time;
    for (const PathKey& key : path.keys)
        nodes_.push_back({.position = key.pose.position,
                          .rotation = quat_from_rotation(transpose(key.pose.rotation)),
                          .log_fov = std::log(key.pose.fov_y),
                          .time = key.time - begin});
    seconds_ = path.seconds();
    if (closed_) {
        nodes_.push_back(nodes_.front());
        nodes_.back().time = seconds_;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Quatd& q = nodes_[i].rotation;
        const double norm = std::sqrt(dot4(q, q));
        q = {q.w / norm, q.x / norm, q.y / norm, q.z / norm};
        if (i > 0 && dot4(q, nodes_[i - 1].rotation) < 0) q = negated(q);
    }
    set_knots();
    set_tangents();
    measure();
}

/// By the square roots of distances. Keys at one place are apart by how far the camera turns there,
/// and a little in any case; a path without any extent is one that turns only.
void PathCurve::set_knots() {
    double whole = 0;
    for (std::size_t i = 1; i < nodes_.size(); ++i)
        whole += gs::length(nodes_[i].position - nodes_[i - 1].position);
    const double usual = whole > 1e-12 ? whole / static_cast<double>(nodes_.size() - 1) : 1;
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
        const double distance = gs::length(nodes_[i].position - nodes_[i - 1].position),
                     turn = 2 * gs::length(way_between(nodes_[i - 1].rotation, nodes_[i].rotation));
        const double apart =
            std::max({distance, usual * turn / (4 * std::numbers::pi), 1e-3 * usual});
        nodes_[i].knot = nodes_[i - 1].knot + std::sqrt(apart);
    }
}

void PathCurve::set_tangents() {
    const std::size_t n = nodes_.size();
    if (n < 2) return;
    std::vector<double> h, fov;
    std::vector<Vec3d> moved, turned;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const Node &a = nodes_[i], &b = nodes_[i + 1];
        h.push_back(b.knot - a.knot);
        moved.push_back((1 / h.back()) * (b.position - a.position));
        turned.push_back((1 / h.back()) * way_between(a.rotation, b.rotation));
        fov.push_back((b.log_fov - a.log_fov) / h.back());
    }
    const auto tangents = parabola_slopes(h, moved, closed_),
               turns = parabola_slopes(h, turned, closed_);
    const auto slopes = monotone_slopes(h, fov, closed_);
    for (std::size_t i = 0; i < n; ++i) {
        nodes_[i].tangent = tangents[i];
        nodes_[i].turn = turns[i];
        nodes_[i].fov_slope = slopes[i];
    }
}

/// How long each segment is, and how far along it each of its parts begins. Where the camera hardly
/// moves, the way is what knots say, so that it still gets on.
void PathCurve::measure() {
    std::vector<double> h, pace;
    for (std::size_t i = 0; i + 1 < nodes_.size(); ++i) {
        const double apart = std::pow(nodes_[i + 1].knot - nodes_[i].knot, 2);
        double moved = 0;
        for (std::size_t part = 0; part < kParts; ++part)
            moved += way_within(i, static_cast<double>(part) / kParts,
                                static_cast<double>(part + 1) / kParts);
        nodes_[i].rests = moved < 0.5 * apart;
        double way = 0;
        ways_.push_back(0);
        for (std::size_t part = 0; part < kParts; ++part) {
            way += nodes_[i].rests ? apart / kParts
                                   : way_within(i, static_cast<double>(part) / kParts,
                                                static_cast<double>(part + 1) / kParts);
            ways_.push_back(way);
        }
        length_ += moved;
        nodes_[i + 1].along = nodes_[i].along + way;
        h.push_back(nodes_[i + 1].time - nodes_[i].time);
        pace.push_back(way / h.back());
    }
    way_ = nodes_.back().along;
    if (h.empty()) return;
    const auto paces = monotone_slopes(h, pace, closed_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].pace = paces[i];
}

/// World units per u.
double PathCurve::speed(std::size_t segment, double u) const {
    const Node &a = nodes_[segment], &b = nodes_[segment + 1];
    const double h = b.knot - a.knot;
    return gs::length((6 * u * (1 - u)) * (b.position - a.position) +
                      (h * (1 - u) * (1 - 3 * u)) * a.tangent + (h * u * (3 * u - 2)) * b.tangent);
}

/// World units from u0 to u1, by Gauss's rule of three points.
double PathCurve::way_within(std::size_t segment, double u0, double u1) const {
    const double half = (u1 - u0) / 2, middle = (u0 + u1) / 2, side = half * std::sqrt(0.6);
    return half / 9 *
           (5 * speed(segment, middle - side) + 8 * speed(segment, middle) +
            5 * speed(segment, middle + side));
}

double PathCurve::passes(std::size_t key) const {
    const Node& node = nodes_[key];
    if (!(way_ > 0)) return node.time;
    const double time = speed_ == PathSpeed::even ? seconds_ * node.along / way_ : node.time;
    if (!ease_ || !(seconds_ > 0)) return time;
    double low = 0, high = 1;  // eased() grows
    for (int round = 0; round < 50; ++round) {
        const double middle = (low + high) / 2;
        (eased(middle) * seconds_ < time ? low : high) = middle;
    }
    return seconds_ * (low + high) / 2;
}

Vec3d PathCurve::position(std::size_t segment, double u) const {
    const Node &a = nodes_[segment], &b = nodes_[segment + 1];
    return cubic(a.position, a.tangent, b.position, b.tangent, b.knot - a.knot, u);
}

Quatd PathCurve::rotation(std::size_t segment, double u) const {
    const Node &a = nodes_[segment], &b = nodes_[segment + 1];
    const double third = (b.knot - a.knot) / 3;
    const Quatd p[4] = {a.rotation, a.rotation * exp_of(third * a.turn),
                        b.rotation * exp_of(-third * b.turn), b.rotation};
    const Quatd q[3] = {arc(p[0], p[1], u), arc(p[1], p[2], u), arc(p[2], p[3], u)};
    return arc(arc(q[0], q[1], u), arc(q[1], q[2], u), u);
}

/// How far along after this many seconds.
double PathCurve::way_at(double seconds) const {
    double time = closed_ && !ease_ ? seconds - seconds_ * std::floor(seconds / seconds_)
                                    : std::clamp(seconds, 0.0, seconds_);
    if (ease_) time = seconds_ * eased(time / seconds_);
    if (speed_ == PathSpeed::even) return way_ * time / seconds_;
    std::size_t i = 0;
    while (i + 2 < nodes_.size() && nodes_[i + 1].time <= time) ++i;
    const Node &a = nodes_[i], &b = nodes_[i + 1];
    const double h = b.time - a.time;
    return cubic(a.along, a.pace, b.along, b.pace, h, (time - a.time) / h);
}

/// The place in the segment, 0 to 1, that lies `way` from its begin: between the parts around it,
/// then by Newton's method.
double PathCurve::knot_at(std::size_t segment, double way) const {
    const auto begin = ways_.begin() + static_cast<std::ptrdiff_t>(segment * (kParts + 1));
    const auto after = std::upper_bound(begin + 1, begin + kParts, way);
    const double low = *(after - 1), high = *after;
    const double u0 = static_cast<double>(after - 1 - begin) / kParts, u1 = u0 + 1.0 / kParts;
    double u = std::clamp(u0 + (high > low ? (way - low) / (high - low) : 0) / kParts, u0, u1);
    for (int round = 0; round < 3 && !nodes_[segment].rests; ++round) {
        const double slope = speed(segment, u);
        if (!(slope > 0)) break;
        u = std::clamp(u - (low + way_within(segment, u0, u) - way) / slope, u0, u1);
    }
    return u;
}

PathPose PathCurve::at(double seconds) const {
    const auto pose = [](Vec3d at, Quatd world_from_camera, double log_fov) {
        return PathPose{at, transpose(rotation_from_quat(world_from_camera)), std::exp(log_fov)};
    };
    if (nodes_.size() < 2) {
        const Node& only = nodes_.front();
        return pose(only.position, only.rotation, only.log_fov);
    }
    const double way = way_at(seconds);
    std::size_t i = 0;
    while (i + 2 < nodes_.size() && nodes_[i + 1].along <= way) ++i;
    const double u = knot_at(i, way - nodes_[i].along);
    const Node &a = nodes_[i], &b = nodes_[i + 1];
    return pose(position(i, u), rotation(i, u),
                cubic(a.log_fov, a.fov_slope, b.log_fov, b.fov_slope, b.knot - a.knot, u));
}

std::vector<PathPose> poses_along(const CameraPath& path, std::size_t count) {
    const PathCurve curve(path);
    std::vector<PathPose> out;
    const double steps =
        path.closed ? static_cast<double>(count) : std::max(1.0, static_cast<double>(count) - 1);
    for (std::size_t i = 0; i < count; ++i)
        out.push_back(curve.at(curve.seconds() * static_cast<double>(i) / steps));
    return out;
}

PathPose preset_pose(PathPreset preset, const PathPlace& place, double share) {
    const auto unit = [](Vec3d v) { return (1 / length(v)) * v; };
    const Vec3d up = unit(place.up);
    const Vec3d level = place.from - dot(place.from, up) * up;
    const Vec3d east =
                    length(level) > 1e-9 * length(place.from) && length(level) > 0
                        ? unit(level)
                        : unit(cross(up, std::abs(up.x) < 0.9 ? Vec3d{1, 0, 0} : Vec3d{0, 0, 1})),
                north = cross(up, east);
    double angle = 0, elevation = place.elevation, radius = place.radius;
    if (preset == PathPreset::orbit) {
        angle = 2 * std::numbers::pi * share;
    } else if (preset == PathPreset::spiral) {
        angle = 4 * std::numbers::pi * share;
        elevation += 0.6 * share - 0.2;
        radius *= 1.2 - 0.5 * share;
    } else {
        radius *= 1.5 - share;
    }
    elevation = std::clamp(elevation, -1.5, 1.5);
    const Vec3d eye = place.center + radius * std::cos(elevation) * std::cos(angle) * east +
                      radius * std::cos(elevation) * std::sin(angle) * north +
                      radius * std::sin(elevation) * up;
    return pose_of(look_at(eye, place.center, up, 2, 2, place.fov_y));
}

CameraPath preset_path(PathPreset preset, const PathPlace& place, double seconds) {
    CameraPath path{.closed = preset == PathPreset::orbit};
    // Enough for the curve to be a circle to a thousandth of its radius.
    const int segments = preset == PathPreset::orbit ? 16 : preset == PathPreset::spiral ? 24 : 2;
    path.closing = seconds / segments;
    for (int i = 0; i < segments + (path.closed ? 0 : 1); ++i) {
        const double share = static_cast<double>(i) / segments;
        path.keys.push_back({preset_pose(preset, place, share), seconds * share});
    }
    return path;
}

PathPlace place_around(const PathPose& pose, Vec3d center, Vec3d up) {
    PathPlace place{center, up};
    place.from = pose.position - center;
    place.radius = length(place.from);
    const double height = dot(place.from, up) / length(up);
    place.elevation = std::asin(std::clamp(height / place.radius, -1.0, 1.0));
    place.fov_y = pose.fov_y;
    return place;
}

}  // namespace gs
