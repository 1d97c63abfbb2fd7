#include "app/sample/geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace gs::sample {
namespace {

// ---- a ray against one shape: the textbook quadratics and slabs (for example Pharr, Jakob,
// Humphreys, chapter 6)

constexpr float kNear = 1e-4f;

float component(Vec3f v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

bool accept(float t, Vec3f normal, Vec3f local, Hit& hit) {
    if (!(t > kNear && t < hit.t)) return false;
    hit.t = t;
    hit.normal = normal;
    hit.local = local;
    return true;
}

bool meet_sphere(Vec3f center, float radius, const Ray& ray, float& t) {
    const Vec3f oc = ray.origin - center;
    const float b = dot(oc, ray.direction), c = dot(oc, oc) - radius * radius;
    const float d = b * b - c;
    if (d < 0) return false;
    const float root = std::sqrt(d);
    t = -b - root > kNear ? -b - root : -b + root;
    return t > kNear;
}

bool intersect_sphere(const Shape& s, const Ray& ray, Hit& hit) {
    float t;
    if (!meet_sphere(s.center, s.half.x, ray, t)) return false;
    const Vec3f normal = (1 / s.half.x) * (ray.origin + t * ray.direction - s.center);
    return accept(t, normal, s.axes * normal, hit);
}

// The side is a quadratic in the plane across the axis; the ends are spheres. Local: (0, 0, 0..1
// along the axis).
bool intersect_capsule(const Shape& s, const Ray& ray, Hit& hit) {
    const Vec3f axis = s.end - s.center, oa = ray.origin - s.center;
    const float aa = dot(axis, axis), ad = dot(axis, ray.direction), ao = dot(axis, oa);
    const float qa = aa - ad * ad, qb = aa * dot(oa, ray.direction) - ao * ad;
    const float qc = aa * dot(oa, oa) - ao * ao - s.half.x * s.half.x * aa;
    const float d = qb * qb - qa * qc;
    if (d < 0) return false;
    if (qa > 1e-12f) {
        const float t = (-qb - std::sqrt(d)) / qa, along = ao + t * ad;
        if (along > 0 && along < aa) {
            const Vec3f p = oa + t * ray.direction;
            const Vec3f normal = (1 / s.half.x) * (p - (along / aa) * axis);
            return accept(t, normal, {0, 0, along / aa}, hit);
        }
    }
    bool met = false;
    for (const auto& [end, along] : {std::pair{s.center, 0.0f}, std::pair{s.end, 1.0f}}) {
        float t;
        if (!meet_sphere(end, s.half.x, ray, t)) continue;
        met |=
            accept(t, (1 / s.half.x) * (ray.origin + t * ray.direction - end), {0, 0, along}, hit);
    }
    return met;
}

bool intersect_box(const Shape& s, const Ray& ray, Hit& hit) {
    const Vec3f o = s.axes * (ray.origin - s.center), d = s.axes * ray.direction;
    float enter = -1e30f, leave = 1e30f;
    int axis = 0;
    for (int i = 0; i < 3; ++i) {
        const float inverse = 1 / component(d, i);
        float a = (-component(s.half, i) - component(o, i)) * inverse;
        float b = (component(s.half, i) - component(o, i)) * inverse;
        if (a > b) std::swap(a, b);
        if (a > enter) enter = a, axis = i;
        leave = std::min(leave, b);
    }
    if (!(enter <= leave) || enter <= kNear) return false;
    const float* row = s.axes.m[axis];
    const float sign = component(d, axis) > 0 ? -1.0f : 1.0f;
    return accept(enter, {sign * row[0], sign * row[1], sign * row[2]}, o + enter * d, hit);
}

bool intersect_cylinder(const Shape& s, const Ray& ray, Hit& hit) {
    const Vec3f o = s.axes * (ray.origin - s.center), d = s.axes * ray.direction;
    const float qa = d.x * d.x + d.y * d.y, qb = o.x * d.x + o.y * d.y;
    const float qc = o.x * o.x + o.y * o.y - s.half.x * s.half.x, disc = qb * qb - qa * qc;
    const Mat3f world = transpose(s.axes);
    bool met = false;
    if (disc >= 0 && qa > 1e-12f) {
        const float t = (-qb - std::sqrt(disc)) / qa;
        const Vec3f p = o + t * d;
        if (std::abs(p.z) < s.half.z)
            met |= accept(t, world * Vec3f{p.x / s.half.x, p.y / s.half.x, 0}, p, hit);
    }
    if (d.z == 0) return met;
    for (const float side : {-1.0f, 1.0f}) {
        const float t = (side * s.half.z - o.z) / d.z;
        const Vec3f p = o + t * d;
        if (p.x * p.x + p.y * p.y < s.half.x * s.half.x && side * d.z < 0)
            met |= accept(t, world * Vec3f{0, 0, side}, p, hit);
    }
    return met;
}

// A flat ellipse in its local x-y plane, seen from both sides.
bool intersect_leaf(const Shape& s, const Ray& ray, Hit& hit) {
    const Vec3f o = s.axes * (ray.origin - s.center), d = s.axes * ray.direction;
    if (std::abs(d.z) < 1e-9f) return false;
    const float t = -o.z / d.z;
    const Vec3f p = o + t * d;
    const float u = p.x / s.half.x, v = p.y / s.half.y;
    if (u * u + v * v > 1) return false;
    const float sign = d.z > 0 ? -1.0f : 1.0f;
    const float* row = s.axes.m[2];
    return accept(t, {sign * row[0], sign * row[1], sign * row[2]}, {u, v, 0}, hit);
}

/// Updates `hit` (t, normal, local; not shape) and returns true when `ray` meets `shape` in (kNear,
/// hit.t).
bool intersect(const Shape& shape, const Ray& ray, Hit& hit) {
    switch (shape.kind) {
        case ShapeKind::sphere:
            return intersect_sphere(shape, ray, hit);
        case ShapeKind::capsule:
            return intersect_capsule(shape, ray, hit);
        case ShapeKind::box:
            return intersect_box(shape, ray, hit);
        case ShapeKind::cylinder:
            return intersect_cylinder(shape, ray, hit);
        case ShapeKind::leaf:
            return intersect_leaf(shape, ray, hit);
    }
    return false;
}

/// World bounds of one shape.
void bounds_of(const Shape& s, Vec3f& lo, Vec3f& hi) {
    if (s.kind == ShapeKind::capsule || s.kind == ShapeKind::sphere) {
        const Vec3f b = s.kind == ShapeKind::capsule ? s.end : s.center;
        const Vec3f r{s.half.x, s.half.x, s.half.x};
        lo =
            Vec3f{std::min(s.center.x, b.x), std::min(s.center.y, b.y), std::min(s.center.z, b.z)} -
            r;
        hi =
            Vec3f{std::max(s.center.x, b.x), std::max(s.center.y, b.y), std::max(s.center.z, b.z)} +
            r;
        return;
    }
    Vec3f half = s.half;
    if (s.kind == ShapeKind::cylinder) half.y = half.x;
    if (s.kind == ShapeKind::leaf) half.z = 1e-4f;
    const auto reach = [&](int i) {
        return std::abs(s.axes.m[0][i]) * half.x + std::abs(s.axes.m[1][i]) * half.y +
               std::abs(s.axes.m[2][i]) * half.z;
    };
    const Vec3f r{reach(0), reach(1), reach(2)};
    lo = s.center - r;
    hi = s.center + r;
}

constexpr std::uint32_t kLeafShapes = 2;
constexpr int kMaxDepth = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float along(Vec3f v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

Vec3f smaller(Vec3f a, Vec3f b) {
    return {std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)};
}
Vec3f larger(Vec3f a, Vec3f b) {
    return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
}

struct Box {
    Vec3f lo{kInfinity, kInfinity, kInfinity}, hi{-kInfinity, -kInfinity, -kInfinity};

    void grow(const Shape& shape) {
        Vec3f a, b;
        bounds_of(shape, a, b);
        lo = smaller(lo, a);
        hi = larger(hi, b);
    }
    float area() const {
        const Vec3f d = hi - lo;
        return d.x * d.y + d.y * d.z + d.z * d.x;
    }
};

void sort_along(std::span<Shape> shapes, int axis) {
    const auto middle = [axis](const Shape& shape) {
        Vec3f lo, hi;
        bounds_of(shape, lo, hi);
        return along(lo, axis) + along(hi, axis);
    };
    std::stable_sort(shapes.begin(), shapes.end(),
                     [&](const Shape& a, const Shape& b) { return middle(a) < middle(b); });
}

// Sorts the shapes and returns how many go to the left: the cheapest cut by the surface area
// heuristic, over all axes and places. Source: Goldsmith and Salmon 1987; a scene this small can
// afford the full search.
std::uint32_t split(std::span<Shape> shapes) {
    const std::size_t n = shapes.size();
    std::vector<float> right_area(n);
    float best = kInfinity;
    std::size_t best_count = n / 2;
    int best_axis = 0;
    for (int axis = 0; axis < 3; ++axis) {
        sort_along(shapes, axis);
        Box left, right;
        for (std::size_t i = n; i-- > 1;) {
            right.grow(shapes[i]);
            right_area[i] = right.area();
        }
        for (std::size_t i = 1; i < n; ++i) {
            left.grow(shapes[i - 1]);
            const float cost =
                left.area() * static_cast<float>(i) + right_area[i] * static_cast<float>(n - i);
            if (cost < best) best = cost, best_count = i, best_axis = axis;
        }
    }
    sort_along(shapes, best_axis);
    return static_cast<std::uint32_t>(best_count);
}

// Where the ray enters the box, or infinity.
float entry(Vec3f lo, Vec3f hi, Vec3f origin, Vec3f inverse, float t_max) {
    const float ax = (lo.x - origin.x) * inverse.x, bx = (hi.x - origin.x) * inverse.x;
    const float ay = (lo.y - origin.y) * inverse.y, by = (hi.y - origin.y) * inverse.y;
    const float az = (lo.z - origin.z) * inverse.z, bz = (hi.z - origin.z) * inverse.z;
    const float enter = std::max({std::min(ax, bx), std::min(ay, by), std::min(az, bz), 0.0f});
    const float leave = std::min({std::max(ax, bx), std::max(ay, by), std::max(az, bz), t_max});
    return enter <= leave ? enter : std::numeric_limits<float>::infinity();
}

}  // namespace

float length(Vec3f v) { return std::sqrt(dot(v, v)); }
Vec3f normalized(Vec3f v) {
    const float l = length(v);
    return l > 0 ? (1 / l) * v : v;
}

Geometry::Geometry(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {
    nodes_.reserve(2 * shapes_.size() + 1);
    nodes_.emplace_back();
    build(0, 0, static_cast<std::uint32_t>(shapes_.size()), 0);
}

void Geometry::build(std::uint32_t node, std::uint32_t first, std::uint32_t count, int depth) {
    const std::span<Shape> mine(shapes_.data() + first, count);
    Box box;
    for (const Shape& shape : mine) box.grow(shape);
    nodes_[node] = {box.lo, box.hi, first, count};
    if (count <= kLeafShapes) return;

    const std::uint32_t half =
        depth < kMaxDepth / 2 ? split(mine) : count / 2;  // halving ends within 32 more levels
    const auto left = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    nodes_[node].first = left;
    nodes_[node].count = 0;
    build(left, first, half, depth + 1);
    build(left + 1, first + half, count - half, depth + 1);
}

template <class OnShape>
void Geometry::walk(const Ray& ray, float& t_max, OnShape&& on_shape) const {
    const Vec3f inverse{1 / ray.direction.x, 1 / ray.direction.y, 1 / ray.direction.z};
    struct Waiting {
        std::uint32_t node;
        float entry;
    };
    std::array<Waiting, 2 * kMaxDepth> stack;
    std::size_t depth = 0;
    stack[depth++] = {0, 0};
    while (depth > 0) {
        const Waiting waiting = stack[--depth];
        if (waiting.entry >= t_max) continue;
        const Node& node = nodes_[waiting.node];
        if (node.count > 0) {
            for (std::uint32_t i = node.first; i < node.first + node.count; ++i)
                if (on_shape(i)) return;
            continue;
        }
        std::uint32_t near = node.first, far = node.first + 1;
        float a = entry(nodes_[near].lo, nodes_[near].hi, ray.origin, inverse, t_max);
        float b = entry(nodes_[far].lo, nodes_[far].hi, ray.origin, inverse, t_max);
        if (a > b) std::swap(a, b), std::swap(near, far);
        if (b < t_max) stack[depth++] = {far, b};
        if (a < t_max) stack[depth++] = {near, a};
    }
}

Hit Geometry::closest(const Ray& ray) const {
    Hit hit;
    walk(ray, hit.t, [&](std::uint32_t i) {
        if (intersect(shapes_[i], ray, hit)) hit.shape = i;
        return false;
    });
    return hit;
}

bool Geometry::blocked(const Ray& ray, float t_max) const {
    Hit hit;
    hit.t = t_max;
    bool found = false;
    walk(ray, hit.t, [&](std::uint32_t i) { return found = intersect(shapes_[i], ray, hit); });
    return found;
}

}  // namespace gs::sample
