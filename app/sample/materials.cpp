#include "app/sample/materials.h"

#include <algorithm>
#include <cmath>

#include "app/sample/same_math.h"
#include "base/rng.h"

namespace gs::sample {
namespace {

Vec3f mix(Vec3f a, Vec3f b, float t) { return a + t * (b - a); }
float smooth(float lo, float hi, float x) {
    const float t = std::clamp((x - lo) / (hi - lo), 0.0f, 1.0f);
    return t * t * (3 - 2 * t);
}
float fraction(float x) { return x - std::floor(x); }

// 0..1 from a lattice point.
float lattice(int x, int y, int z) {
    return random_uniform(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                          static_cast<std::uint32_t>(z));
}
int cell(float x) { return static_cast<int>(std::floor(x)); }

// Value noise in the plane, 0..1.
float noise(float x, float y, int layer) {
    const int i = cell(x), j = cell(y);
    const float u = smooth(0, 1, x - std::floor(x)), v = smooth(0, 1, y - std::floor(y));
    const float a = std::lerp(lattice(i, j, layer), lattice(i + 1, j, layer), u);
    const float b = std::lerp(lattice(i, j + 1, layer), lattice(i + 1, j + 1, layer), u);
    return std::lerp(a, b, v);
}
float rough_noise(float x, float y, int layer) {
    return 0.55f * noise(x, y, layer) + 0.3f * noise(2.1f * x, 2.1f * y, layer + 1) +
           0.15f * noise(4.3f * x, 4.3f * y, layer + 2);
}

// Irregular stones: distance to the nearest cell border (0 at the border) and a number per stone.
struct Stone {
    float border, number;
};
Stone stones(float x, float y) {
    float nearest = 9, second = 9, number = 0;
    for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
            const int i = cell(x) + di, j = cell(y) + dj;
            const float px = static_cast<float>(i) + 0.15f + 0.7f * lattice(i, j, 50);
            const float py = static_cast<float>(j) + 0.15f + 0.7f * lattice(i, j, 51);
            const float d = hypot_of(px - x, py - y);
            if (d < nearest) {
                second = nearest;
                nearest = d;
                number = lattice(i, j, 52);
            } else {
                second = std::min(second, d);
            }
        }
    return {second - nearest, number};
}

Surface grass_and_path(Vec3f p) {
    const float shade = rough_noise(9 * p.x, 9 * p.y, 1),
                patch = rough_noise(1.7f * p.x, 1.7f * p.y, 5);
    Vec3f color = mix({0.07f, 0.16f, 0.035f}, {0.26f, 0.36f, 0.08f}, shade);
    color = mix(color, {0.36f, 0.30f, 0.12f}, 0.6f * smooth(0.5f, 0.75f, patch));
    const float path = std::abs(p.y + 0.35f * sin_of(1.6f * p.x + 0.6f) + 0.55f);
    const float wobble = 0.06f * (noise(6 * p.x, 6 * p.y, 9) - 0.5f);
    const Stone stone = stones(6 * p.x, 6 * p.y);
    const Vec3f grey = mix({0.22f, 0.20f, 0.18f}, {0.55f, 0.50f, 0.43f}, stone.number);
    const Vec3f cobble = mix({0.09f, 0.08f, 0.06f}, grey, smooth(0.05f, 0.18f, stone.border));
    color = mix(color, (0.8f + 0.4f * shade) * cobble, 1 - smooth(0.25f, 0.30f, path + wobble));
    const float rim = length({p.x, p.y, 0});
    return {mix(color, mix({0.40f, 0.36f, 0.31f}, {0.55f, 0.5f, 0.44f}, shade),
                smooth(2.22f, 2.26f, rim)),
            0, 0};
}

// Courses of blocks on a wall; u along it, v up, both in blocks.
Vec3f masonry(float u, float v, Vec3f dark, Vec3f light, Vec3f joint, float joint_width,
              float aspect) {
    const float row = std::floor(v);
    const float shifted = u + (cell(row) % 2 == 0 ? 0.0f : 0.5f);
    const float number = lattice(cell(shifted), cell(row), 60);
    const float across = std::min(fraction(shifted), 1 - fraction(shifted)) * aspect;
    const float up = std::min(fraction(v), 1 - fraction(v));
    const Vec3f block = (0.85f + 0.3f * noise(5 * u, 5 * v, 61)) * mix(dark, light, number);
    return mix(joint, block, smooth(joint_width, 2 * joint_width, std::min(across, up)));
}

Surface brick_wall(const Shape& s, const Hit& h) {
    const Vec3f n = s.axes * h.normal;
    const float u = std::abs(n.x) > 0.5f ? h.local.y : h.local.x;
    const float v = std::abs(n.z) > 0.5f ? h.local.y : h.local.z;
    return {masonry(u / 0.16f, v / 0.075f, {0.32f, 0.10f, 0.06f}, {0.60f, 0.24f, 0.14f},
                    {0.55f, 0.52f, 0.46f}, 0.06f, 2.1f),
            0, 0};
}

Surface roof(const Hit& h) {
    return {masonry(h.local.x / 0.13f, h.local.y / 0.11f, {0.05f, 0.08f, 0.13f},
                    {0.13f, 0.19f, 0.27f}, {0.02f, 0.025f, 0.035f}, 0.05f, 1.2f),
            0.15f, 0};
}

Surface planks(const Shape& s, const Hit& h) {
    const float board = h.local.x / 0.09f + 40 * s.tint;
    const float grain = noise(30 * h.local.x + 9 * s.tint, 4 * h.local.z + 4 * h.local.y, 70);
    const Vec3f wood = mix({0.23f, 0.12f, 0.05f}, {0.46f, 0.28f, 0.13f},
                           0.5f * grain + 0.5f * lattice(cell(board), 3, 71));
    const float gap = std::min(fraction(board), 1 - fraction(board));
    return {mix({0.06f, 0.03f, 0.015f}, wood, smooth(0.03f, 0.09f, gap)), 0, 0};
}

Surface lit_window(const Hit& h) {
    const bool frame = std::abs(h.local.x) < 0.012f || std::abs(h.local.z) < 0.012f;
    if (frame) return {{0.75f, 0.72f, 0.66f}, 0, 0};
    return {mix({0.95f, 0.62f, 0.22f}, {1.0f, 0.85f, 0.5f}, smooth(-0.12f, 0.12f, h.local.z)), 0.3f,
            0.55f};
}

Surface checker(const Shape& s, const Hit& h) {
    const Vec3f n = s.axes * h.normal;
    const float u = std::abs(n.x) > 0.5f ? h.local.y / s.half.y : h.local.x / s.half.x;
    const float v = std::abs(n.z) > 0.5f ? h.local.y / s.half.y : h.local.z / s.half.z;
    const bool odd = (cell(2 * u + 8) + cell(2 * v + 8)) % 2 != 0;
    const Vec3f bright = mix({0.85f, 0.62f, 0.10f}, {0.15f, 0.45f, 0.75f}, s.tint);
    return {odd ? bright : Vec3f{0.82f, 0.80f, 0.74f}, 0, 0};
}

Surface mosaic_ball(const Hit& h) {
    const float longitude = atan2_of(h.local.y, h.local.x) / kPi,
                latitude = asin_of(std::clamp(h.local.z, -1.0f, 1.0f)) / kPi;
    const int column = cell(8 * longitude + 8), row = cell(8 * latitude + 8);
    const float edge = std::min({fraction(8 * longitude + 8), 1 - fraction(8 * longitude + 8),
                                 fraction(8 * latitude + 8), 1 - fraction(8 * latitude + 8)});
    const float a = lattice(column, row, 80), b = lattice(column, row, 81);
    const Vec3f tile = mix(mix({0.05f, 0.35f, 0.45f}, {0.10f, 0.62f, 0.55f}, a),
                           {0.92f, 0.85f, 0.65f}, b > 0.7f ? 1.0f : 0.0f);
    return {mix({0.12f, 0.12f, 0.12f}, tile, smooth(0.05f, 0.10f, edge)), 0.35f, 0};
}

Surface leaf_of(const Shape& s, const Hit& h) {
    const Vec3f color = mix({0.10f, 0.25f, 0.05f}, {0.52f, 0.42f, 0.06f}, s.tint * s.tint);
    const float vein = smooth(0.03f, 0.12f, std::abs(h.local.y));
    return {(0.7f + 0.3f * vein) * color, 0.05f, 0};
}

}  // namespace

Surface surface_of(const Shape& s, const Hit& h, Vec3f p) {
    switch (s.material) {
        case Material::ground:
            return grass_and_path(p);
        case Material::plinth: {
            const float turn = atan2_of(p.y, p.x) / (2 * kPi);
            return {masonry(40 * turn + 100, p.z / 0.15f + 20, {0.30f, 0.27f, 0.23f},
                            {0.60f, 0.55f, 0.48f}, {0.14f, 0.12f, 0.10f}, 0.05f, 2.2f),
                    0, 0};
        }
        case Material::brick:
            return brick_wall(s, h);
        case Material::shingle:
            return roof(h);
        case Material::plank:
            return planks(s, h);
        case Material::window:
            return lit_window(h);
        case Material::bark:
            return {
                (0.6f + 0.8f * noise(25 * (p.x + p.y), 9 * p.z, 90)) * Vec3f{0.22f, 0.14f, 0.08f},
                0, 0};
        case Material::foliage:
            return leaf_of(s, h);
        case Material::metal:
            return {{0.20f, 0.21f, 0.23f}, 0.3f, 0};
        case Material::wire:
            return {{0.05f, 0.05f, 0.06f}, 0.1f, 0};
        case Material::checker:
            return checker(s, h);
        case Material::stripes:
            return {fraction(6 * h.local.z) < 0.5f ? Vec3f{0.75f, 0.08f, 0.07f}
                                                   : Vec3f{0.88f, 0.86f, 0.82f},
                    0.1f, 0};
        case Material::gloss:
            return {mix({0.55f, 0.04f, 0.05f}, {0.75f, 0.12f, 0.06f},
                        noise(7 * h.local.x, 7 * h.local.z, 95)),
                    0.5f, 0};
        case Material::mosaic:
            return mosaic_ball(h);
        case Material::lamp:
            return {{1.0f, 0.86f, 0.55f}, 0, 0.9f};
        case Material::sail:
            return {fraction(h.local.y / 0.16f) < 0.18f ? Vec3f{0.30f, 0.18f, 0.09f}
                                                        : Vec3f{0.84f, 0.78f, 0.66f},
                    0, 0};
    }
    return {};
}

}  // namespace gs::sample
