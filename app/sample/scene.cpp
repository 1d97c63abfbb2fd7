#include "app/sample/scene.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "app/sample/same_math.h"
#include "base/assets.h"
#include "base/choice.h"
#include "base/format.h"
#include "base/rng.h"
#include "base/try.h"

namespace gs::sample {
namespace {

Mat3f axes_of(Vec3f x, Vec3f y, Vec3f z) {
    return {{{x.x, x.y, x.z}, {y.x, y.y, y.z}, {z.x, z.y, z.z}}};
}
Mat3f turned(float angle) {
    const float c = cos_of(angle), s = sin_of(angle);
    return axes_of({c, s, 0}, {-s, c, 0}, {0, 0, 1});
}
/// Axes whose local z is `z` (unit length).
Mat3f facing(Vec3f z) {
    const Vec3f x = normalized(cross(std::abs(z.z) < 0.9f ? Vec3f{0, 0, 1} : Vec3f{1, 0, 0}, z));
    return axes_of(x, cross(z, x), z);
}

class Builder {
  public:
    std::vector<Shape> shapes;

    void sphere(Material material, Vec3f center, float radius) {
        shapes.push_back(
            {ShapeKind::sphere, material, center, {}, turned(0.4f), {radius, radius, radius}, 0});
    }
    void rod(Material material, Vec3f from, Vec3f to, float radius, float tint = 0) {
        shapes.push_back(
            {ShapeKind::capsule, material, from, to, turned(0), {radius, radius, radius}, tint});
    }
    void box(Material material, Vec3f center, const Mat3f& axes, Vec3f half, float tint = 0) {
        shapes.push_back({ShapeKind::box, material, center, {}, axes, half, tint});
    }
    void cylinder(Material material, Vec3f center, float radius, float half_height) {
        shapes.push_back({ShapeKind::cylinder,
                          material,
                          center,
                          {},
                          turned(0),
                          {radius, radius, half_height},
                          0});
    }
    void leaf(Vec3f center, Vec3f normal, float rx, float ry, float tint) {
        shapes.push_back(
            {ShapeKind::leaf, Material::foliage, center, {}, facing(normal), {rx, ry, 0}, tint});
    }
    float random() { return random_uniform(7, 11, counter_++); }
    Vec3f random_direction() {
        const float z = 2 * random() - 1, angle = 2 * kPi * random(), r = std::sqrt(1 - z * z);
        return {r * cos_of(angle), r * sin_of(angle), z};
    }

  private:
    std::uint64_t counter_ = 0;
};

void add_ground(Builder& b) {
    b.cylinder(Material::ground, {0, 0, -0.04f}, kSceneRadius, 0.04f);
    b.cylinder(Material::plinth, {0, 0, -0.29f}, kSceneRadius - 0.06f, 0.21f);
    b.cylinder(Material::plinth, {0, 0, -0.54f}, kSceneRadius + 0.02f, 0.04f);
}

// Walls, two roof slopes, gables of narrowing boards, chimney, door, windows. Local x runs along
// the ridge.
void add_house(Builder& b, Vec3f at, float angle) {
    const Mat3f axes = turned(angle), world = transpose(axes);
    const auto place = [&](Vec3f local) { return at + world * local; };
    b.box(Material::brick, place({0, 0, 0.36f}), axes, {0.62f, 0.42f, 0.36f});
    for (int i = 0; i < 8; ++i) {
        const float z = 0.72f + 0.05f * (static_cast<float>(i) + 0.5f);
        b.box(Material::plank, place({0, 0, z}), axes,
              {0.60f, 0.42f * (1 - (static_cast<float>(i) + 0.5f) / 8.2f), 0.0255f}, 0.3f);
    }
    for (const float side : {-1.0f, 1.0f}) {
        const float slope = side * 0.76f, c = cos_of(slope), s = sin_of(slope);
        const Mat3f tilt =
            axes_of(world * Vec3f{1, 0, 0}, world * Vec3f{0, c, -s}, world * Vec3f{0, s, c});
        b.box(Material::shingle, place({0, side * 0.26f, 0.93f}), tilt, {0.72f, 0.38f, 0.025f});
    }
    b.box(Material::brick, place({0.32f, 0.16f, 1.15f}), axes, {0.085f, 0.085f, 0.22f});
    b.box(Material::plinth, place({0.32f, 0.16f, 1.38f}), axes, {0.11f, 0.11f, 0.02f});
    b.box(Material::plank, place({-0.22f, -0.425f, 0.24f}), axes, {0.12f, 0.02f, 0.24f}, 0.7f);
    b.sphere(Material::metal, place({-0.14f, -0.455f, 0.24f}), 0.018f);
    for (const float x : {0.12f, 0.42f})
        b.box(Material::window, place({x, -0.425f, 0.42f}), axes, {0.11f, 0.015f, 0.13f});
    const Mat3f side = axes_of(world * Vec3f{0, 1, 0}, world * Vec3f{-1, 0, 0}, {0, 0, 1});
    for (const float y : {-0.18f, 0.18f})
        b.box(Material::window, place({-0.625f, y, 0.42f}), side, {0.10f, 0.015f, 0.12f});
    b.box(Material::plinth, place({-0.22f, -0.50f, 0.03f}), axes, {0.18f, 0.09f, 0.03f});
}

void add_branch(Builder& b, Vec3f from, Vec3f direction, float size, int depth) {
    const Vec3f to = from + size * direction;
    b.rod(Material::bark, from, to, 0.11f * size);
    if (depth == 0) {
        for (int i = 0; i < 11; ++i) {
            const Vec3f normal = normalized(b.random_direction() + Vec3f{0, 0, 0.6f});
            const Vec3f out = b.random_direction();  // drawn first, whatever the compiler
            const Vec3f where = to + (0.17f * cbrt_of(b.random())) * out;
            const float radius = 0.035f + 0.02f * b.random();
            b.leaf(where, normal, 1.5f * radius, radius, b.random());
        }
        return;
    }
    const Vec3f side = normalized(cross(direction, b.random_direction())),
                other = cross(direction, side);
    for (int i = 0; i < 3; ++i) {
        const float angle = 2 * kPi * (static_cast<float>(i) + 0.5f * b.random()) / 3,
                    spread = 0.5f + 0.35f * b.random();
        const Vec3f out = cos_of(angle) * side + sin_of(angle) * other;
        add_branch(b, to, normalized(direction + spread * out), size * (0.62f + 0.12f * b.random()),
                   depth - 1);
    }
}

// Rods along the rim with two sagging wires, open where the path leaves the plinth.
void add_fence(Builder& b, float rim, int posts) {
    const auto post = [&](int i) {
        const float angle = 0.30f * kPi +
                            1.25f * kPi * static_cast<float>(i) / static_cast<float>(posts - 1) -
                            0.15f * kPi;
        return Vec3f{rim * cos_of(angle), rim * sin_of(angle), 0};
    };
    for (int i = 0; i < posts; ++i) {
        const Vec3f foot = post(i);
        b.rod(Material::metal, foot, foot + Vec3f{0, 0, 0.36f}, 0.014f);
        b.sphere(Material::metal, foot + Vec3f{0, 0, 0.38f}, 0.024f);
        if (i + 1 == posts) continue;
        for (const float z : {0.14f, 0.30f}) {
            const Vec3f a = foot + Vec3f{0, 0, z}, c = post(i + 1) + Vec3f{0, 0, z};
            const Vec3f sag = 0.5f * (a + c) - Vec3f{0, 0, 0.018f};
            b.rod(Material::wire, a, sag, 0.0075f);
            b.rod(Material::wire, sag, c, 0.0075f);
        }
    }
}

void add_windmill(Builder& b, Vec3f at) {
    for (int i = 0; i < 4; ++i) {
        const float angle = 0.5f * kPi * (static_cast<float>(i) + 0.5f), c = cos_of(angle),
                    s = sin_of(angle);
        const Vec3f foot = at + Vec3f{0.27f * c, 0.27f * s, 0},
                    top = at + Vec3f{0.07f * c, 0.07f * s, 1.35f};
        b.rod(Material::bark, foot, top, 0.022f);
        const float next = angle + 0.5f * kPi;
        for (const float t : {0.25f, 0.5f, 0.75f}) {
            const float r = 0.27f + t * (0.07f - 0.27f);
            b.rod(Material::bark, at + Vec3f{r * c, r * s, 1.35f * t},
                  at + Vec3f{r * cos_of(next), r * sin_of(next), 1.35f * t}, 0.012f);
        }
    }
    b.box(Material::plank, at + Vec3f{0, 0, 1.42f}, turned(-2.2f), {0.14f, 0.11f, 0.10f}, 0.5f);
    const Vec3f axle = normalized({-0.65f, -0.76f, 0.12f}),
                hub = at + Vec3f{0, 0, 1.42f} + 0.2f * axle;
    b.rod(Material::metal, at + Vec3f{0, 0, 1.42f}, hub, 0.03f);
    const Mat3f wheel = facing(axle), world = transpose(wheel);
    for (int i = 0; i < 4; ++i) {
        const float angle = 0.5f * kPi * static_cast<float>(i) + 0.35f;
        const Vec3f along = world * Vec3f{cos_of(angle), sin_of(angle), 0};
        b.rod(Material::bark, hub, hub + 0.72f * along, 0.013f);
        const Vec3f across = cross(axle, along);
        b.box(Material::sail, hub + 0.45f * along + 0.075f * across, axes_of(across, along, axle),
              {0.07f, 0.25f, 0.006f});
    }
}

void add_wheel(Builder& b, Vec3f at) {
    const Vec3f hub{at.x, at.y, 0.37f};
    const Mat3f axes = facing(normalized({0.55f, -0.8f, 0.16f})), world = transpose(axes);
    constexpr int kSegments = 36, kSpokes = 12;
    const auto rim = [&](int i, int n) {
        const float angle = 2 * kPi * static_cast<float>(i) / static_cast<float>(n);
        return hub + world * Vec3f{0.34f * cos_of(angle), 0.34f * sin_of(angle), 0};
    };
    for (int i = 0; i < kSegments; ++i)
        b.rod(Material::metal, rim(i, kSegments), rim(i + 1, kSegments), 0.022f);
    for (int i = 0; i < kSpokes; ++i) b.rod(Material::wire, hub, rim(i, kSpokes), 0.008f);
    b.sphere(Material::gloss, hub, 0.055f);
}

void add_lamp(Builder& b, Vec3f foot) {
    b.cylinder(Material::metal, foot + Vec3f{0, 0, 0.03f}, 0.07f, 0.03f);
    b.rod(Material::metal, foot, foot + Vec3f{0, 0, 0.82f}, 0.018f);
    b.rod(Material::metal, foot + Vec3f{0, 0, 0.80f}, foot + Vec3f{0.2f, 0.05f, 0.88f}, 0.012f);
    b.sphere(Material::lamp, foot + Vec3f{0.22f, 0.055f, 0.83f}, 0.065f);
}

// Tufts: blades that lean out from one foot.
void add_grass(Builder& b, int tufts) {
    for (int tuft = 0; tuft < tufts; ++tuft) {
        const float angle = 2 * kPi * b.random(), r = 2.0f * std::sqrt(b.random());
        const Vec3f foot{r * cos_of(angle), r * sin_of(angle), 0};
        const float path = std::abs(foot.y + 0.35f * sin_of(1.6f * foot.x + 0.6f) + 0.55f);
        const bool in_house = length(foot - Vec3f{-0.75f, 0.75f, 0}) < 0.85f;
        for (int i = 0; i < 6; ++i) {
            const Vec3f tip = foot + Vec3f{0.1f * (b.random() - 0.5f), 0.1f * (b.random() - 0.5f),
                                           0.09f + 0.08f * b.random()};
            if (path > 0.4f && !in_house)
                b.rod(Material::foliage, foot, tip, 0.007f, 0.5f * b.random());
        }
    }
}

/// The objects of a scene's lines: their number of arguments and their shapes. Objects of one
/// material take its name first.
struct Thing {
    const char* name;
    std::size_t numbers;
    bool material;
    void (*add)(Builder& b, Material material, const float* n);
};
int whole(float value) { return static_cast<int>(std::clamp(value, 0.0f, 1000.0f)); }
// clang-format off
constexpr Thing kThings[] = {
    {"ground",   0, false, [](Builder& b, Material, const float*) { add_ground(b); }},
    {"house",    3, false, [](Builder& b, Material, const float* n) { add_house(b, {n[0], n[1], 0}, n[2]); }},
    {"tree",     6, false, [](Builder& b, Material, const float* n) {
        add_branch(b, {n[0], n[1], -0.02f}, normalized({n[2], n[3], 1}), n[4], std::min(whole(n[5]), 5)); }},
    {"fence",    2, false, [](Builder& b, Material, const float* n) { add_fence(b, n[0], whole(n[1])); }},
    {"windmill", 2, false, [](Builder& b, Material, const float* n) { add_windmill(b, {n[0], n[1], 0}); }},
    {"wheel",    2, false, [](Builder& b, Material, const float* n) { add_wheel(b, {n[0], n[1], 0}); }},
    {"lamp",     2, false, [](Builder& b, Material, const float* n) { add_lamp(b, {n[0], n[1], 0}); }},
    {"ball",     4, true,  [](Builder& b, Material m, const float* n) { b.sphere(m, {n[0], n[1], n[2]}, n[3]); }},
    {"cube",     6, true,  [](Builder& b, Material m, const float* n) {
        b.box(m, {n[0], n[1], n[2]}, turned(n[3]), {n[4], n[4], n[4]}, n[5]); }},
    {"stick",    7, true,  [](Builder& b, Material m, const float* n) {
        b.rod(m, {n[0], n[1], n[2]}, {n[3], n[4], n[5]}, n[6]); }},
    {"grass",    1, false, [](Builder& b, Material, const float* n) { add_grass(b, whole(n[0])); }},
};
// clang-format on
constexpr std::size_t kMostNumbers = 7;

Result<void> add_line(Builder& b, const std::string& path, std::uint64_t number,
                      const std::vector<std::string>& words) {
    const auto thing = std::find_if(std::begin(kThings), std::end(kThings),
                                    [&](const Thing& t) { return words[0] == t.name; });
    if (thing == std::end(kThings))
        return fail_at_line(path, number, fmt::format("unknown object \"{}\"", words[0]));
    const std::size_t first = thing->material ? 2 : 1;
    if (words.size() != first + thing->numbers)
        return fail_at_line(path, number,
                            fmt::format("{} takes {}{} numbers", thing->name,
                                        thing->material ? "a material and " : "", thing->numbers));
    Material material{};
    if (thing->material) {
        const auto named = choice_named<Material>(kMaterialNames, words[1]);
        if (!named)
            return fail_at_line(path, number, fmt::format("unknown material \"{}\"", words[1]));
        material = *named;
    }
    float numbers[kMostNumbers] = {};
    for (std::size_t i = 0; i < thing->numbers; ++i) {
        const std::string& word = words[first + i];
        const auto read = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
        if (read.ec != std::errc() || read.ptr != word.data() + word.size() ||
            !std::isfinite(numbers[i]))
            return fail_at_line(path, number, fmt::format("\"{}\" is not a number", word));
    }
    thing->add(b, material, numbers);
    return {};
}

}  // namespace

Result<std::vector<Shape>> make_scene(const std::string& name) {
    const Asset file = asset("sample/" + name + ".scene");
    Builder b;
    std::istringstream text(file.text);
    std::string line;
    for (std::uint64_t number = 1; std::getline(text, line); ++number) {
        const auto words = split_words(std::string_view(line).substr(0, line.find('#')));
        if (!words.empty()) GS_TRY_VOID(add_line(b, file.origin, number, words));
    }
    if (b.shapes.empty()) return fail(ErrorKind::malformed, file.origin, "the scene is empty");
    return std::move(b.shapes);
}

}  // namespace gs::sample
