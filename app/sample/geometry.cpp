#include "app/sample/geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/sample/intersect.h"

namespace gs::sample {
namespace {

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
