#include "app/sample/render.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/sample/materials.h"
#include "app/sample/same_math.h"

namespace gs::sample {
namespace {

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
