#include "app/sample/render.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/sample/same_math.h"
#include "base/rng.h"

namespace gs::sample {
namespace {

// ---- surfaces: procedural, pure functions of their arguments, so that the picture is the same on
// every machine and thread

struct Surface {
    Vec3f albedo{0.5f, 0.5f, 0.5f};  ///< linear light
    float gloss = 0;                 ///< strength of the highlight
    float glow = 0;                  ///< light of its own, times albedo
};

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

/// `world`: the place in the world; `hit.local`: the place on the shape.
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

constexpr Vec3f kSun{0.45f, -0.62f, 0.64f};         // direction to it, made unit below
constexpr Vec3f kSunLight{2.15f, 1.95f, 1.62f};     // irradiance
constexpr Vec3f kSkyLight{0.48f, 0.58f, 0.76f};     // from above
constexpr Vec3f kBounceLight{0.26f, 0.22f, 0.16f};  // from below
constexpr int kGrid = 3;                            // kGrid^2 samples in a pixel that needs them
constexpr float kContrast = 0.07f;                  // of encoded colour between neighbours

struct Sample {
    Vec3f light{};  // linear; 0 where nothing was met
    Vec3f shown{};  // the same, encoded for the screen
    Vec3f position{}, normal{};
    std::uint32_t shape = ~0u;
    bool found() const { return shape != ~0u; }
};

Vec3f times(Vec3f a, Vec3f b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
float encode(float linear) { return pow_of(std::clamp(linear, 0.0f, 1.0f), 1 / 2.2f); }
// Rolls highlights off instead of clipping them.
float tone(float x) { return x < 0.7f ? x : 0.7f + 0.3f * (1 - exp_of(-(x - 0.7f) / 0.3f)); }

class Tracer {
  public:
    Tracer(const Geometry& geometry, const Camera& camera) : geometry_(geometry), camera_(camera) {
        const Vec3d eye = camera.position();
        eye_ = {static_cast<float>(eye.x), static_cast<float>(eye.y), static_cast<float>(eye.z)};
    }

    Sample sample(double x, double y) const {
        const Vec3d d = transpose(camera_.rotation) *
                        Vec3d{(x - camera_.cx) / camera_.fx, (y - camera_.cy) / camera_.fy, 1};
        const Ray ray{eye_, normalized({static_cast<float>(d.x), static_cast<float>(d.y),
                                        static_cast<float>(d.z)})};
        const Hit hit = geometry_.closest(ray);
        if (!hit.found()) return {};
        const Vec3f p = ray.origin + hit.t * ray.direction;
        const Vec3f light = shade(ray, hit, p);
        return {
            light, {encode(light.x), encode(light.y), encode(light.z)}, p, hit.normal, hit.shape};
    }

  private:
    Vec3f shade(const Ray& ray, const Hit& hit, Vec3f p) const {
        const Shape& shape = geometry_.shapes()[hit.shape];
        const Surface surface = surface_of(shape, hit, p);
        const Vec3f sun = normalized(kSun);
        const float facing = dot(hit.normal, sun);
        const bool thin = shape.kind == ShapeKind::leaf;  // light comes through leaves
        const float lit = thin ? std::max(facing, -0.45f * facing) : std::max(facing, 0.0f);
        const Vec3f away = p + 1e-3f * (facing >= 0 ? hit.normal : -hit.normal);
        const bool shadow = lit > 0 && geometry_.blocked({away, sun}, 20);
        const float up = 0.5f + 0.5f * hit.normal.z;
        Vec3f light = open_sky(shape, p) * (kBounceLight + up * (kSkyLight - kBounceLight));
        if (!shadow) light += lit * kSunLight;
        Vec3f out = 0.62f * times(surface.albedo, light) + surface.glow * surface.albedo;
        if (surface.gloss > 0 && !shadow && facing > 0) {
            const Vec3f half = normalized(sun - ray.direction);
            out += (surface.gloss * pow_of(std::max(dot(half, hit.normal), 0.0f), 40.0f)) *
                   Vec3f{1, 0.95f, 0.85f};
        }
        return {tone(out.x), tone(out.y), tone(out.z)};
    }

    // Contact shade on the ground below round things: the part of the sky a sphere hides. Source:
    // the form factor of a sphere, cos(angle) r^2 / d^2 (for example Quilez, "sphere ambient
    // occlusion").
    float open_sky(const Shape& shape, Vec3f p) const {
        if (shape.material != Material::ground) return 1;
        float open = 1;
        for (const auto& [center, radius] : kHiders) {
            const Vec3f d = center - p;
            const float distance2 = dot(d, d);
            if (distance2 > radius * radius)
                open *=
                    1 - std::max(d.z, 0.0f) / std::sqrt(distance2) * radius * radius / distance2;
        }
        return open;
    }

    struct Hider {
        Vec3f center;
        float radius;
    };
    static constexpr std::array<Hider, 7> kHiders{{{{0.35f, -1.35f, 0.26f}, 0.26f},
                                                   {{-1.25f, -1.15f, 0.33f}, 0.33f},
                                                   {{0.98f, -1.38f, 0.17f}, 0.2f},
                                                   {{1.36f, -1.10f, 0.15f}, 0.18f},
                                                   {{-0.55f, 0.68f, 0.4f}, 0.45f},
                                                   {{-0.95f, 0.82f, 0.4f}, 0.45f},
                                                   {{0.4f, 0.95f, 1.3f}, 0.5f}}};
    const Geometry& geometry_;
    const Camera& camera_;
    Vec3f eye_{};
};

bool differ(const Sample& a, const Sample& b) {
    if (a.found() != b.found()) return true;
    if (!a.found()) return false;
    if (a.shape != b.shape || dot(a.normal, b.normal) < 0.95f) return true;
    const Vec3f d = a.shown - b.shown;
    return std::abs(d.x) + std::abs(d.y) + std::abs(d.z) > 3 * kContrast;
}

void store(Vec3f light, float coverage, std::uint8_t* rgba) {
    const float scale = coverage > 0 ? 1 / coverage : 0;
    const float values[4] = {encode(scale * light.x), encode(scale * light.y),
                             encode(scale * light.z), coverage};
    for (int c = 0; c < 4; ++c) rgba[c] = static_cast<std::uint8_t>(std::lround(255 * values[c]));
}

void store_averaged(const Tracer& tracer, int x, int y, std::uint8_t* rgba) {
    Vec3f light{};
    float met = 0;
    for (int j = 0; j < kGrid; ++j)
        for (int i = 0; i < kGrid; ++i) {
            const Sample s = tracer.sample(x + (i + 0.5) / kGrid, y + (j + 0.5) / kGrid);
            light += s.light;
            met += s.found() ? 1.0f : 0.0f;
        }
    constexpr float kShare = 1.0f / (kGrid * kGrid);
    store(kShare * light, kShare * met, rgba);
}

}  // namespace

Picture render(const Geometry& geometry, const Camera& camera,
               const std::vector<std::uint32_t>& probe_pixels) {
    const int w = camera.width, h = camera.height;
    const Tracer tracer(geometry, camera);
    std::vector<Sample> centers(static_cast<std::size_t>(w) * static_cast<std::size_t>(h));
    const auto center = [&](int x, int y) -> Sample& {
        return centers[static_cast<std::size_t>(y) * static_cast<std::size_t>(w) +
                       static_cast<std::size_t>(x)];
    };
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) center(x, y) = tracer.sample(x + 0.5, y + 0.5);

    Picture out;
    out.rgba = {w, h, 4, std::vector<std::uint8_t>(4 * centers.size())};
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            const Sample& s = center(x, y);
            const bool edge = (x > 0 && differ(s, center(x - 1, y))) ||
                              (x + 1 < w && differ(s, center(x + 1, y))) ||
                              (y > 0 && differ(s, center(x, y - 1))) ||
                              (y + 1 < h && differ(s, center(x, y + 1)));
            std::uint8_t* rgba =
                out.rgba.bytes.data() + 4 * static_cast<std::size_t>(&s - centers.data());
            if (edge)
                store_averaged(tracer, x, y, rgba);
            else
                store(s.light, s.found() ? 1.0f : 0.0f, rgba);
        }
    for (const std::uint32_t pixel : probe_pixels) {
        const Sample& s = centers[pixel];
        Probe probe{s.found(), s.position, {}};
        std::uint8_t rgba[4];
        store(s.light, 1, rgba);
        std::copy(rgba, rgba + 3, probe.rgb);
        out.probes.push_back(probe);
    }
    return out;
}

}  // namespace gs::sample
