#include "app/sample/intersect.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gs::sample {
namespace {

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

}  // namespace

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

}  // namespace gs::sample
