// Shapes of the sample scene and the ray queries on them: five primitives in a bounding volume
// hierarchy. Small on purpose: it only has to draw one diorama in a few seconds. Called by
// render.cpp; scene.cpp makes the shapes.
#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "base/vec.h"

namespace gs::sample {

inline constexpr float kPi = std::numbers::pi_v<float>;

enum class ShapeKind : std::uint8_t { sphere, capsule, box, cylinder, leaf };
enum class Material : std::uint8_t {
    ground,
    plinth,
    brick,
    shingle,
    plank,
    window,
    bark,
    foliage,
    metal,
    wire,
    checker,
    stripes,
    gloss,
    mosaic,
    lamp,
    sail,
};
inline constexpr std::array kMaterialNames{
    "ground", "plinth", "brick",   "shingle", "plank", "window", "bark", "foliage",
    "metal",  "wire",   "checker", "stripes", "gloss", "mosaic", "lamp", "sail"};

struct Shape {
    ShapeKind kind = ShapeKind::sphere;
    Material material = Material::ground;
    Vec3f center{};                                 ///< capsule: the first end
    Vec3f end{};                                    ///< capsule: the second end
    Mat3f axes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< rows: local x, y, z in the world
    Vec3f half{1, 1, 1};  ///< box: half sizes; sphere, capsule: x = radius; cylinder: x = radius, z
                          ///< = half height; leaf: x, y radii
    float tint = 0;       ///< 0..1, varies the colour between shapes of one material
};

struct Ray {
    Vec3f origin, direction;  ///< direction of length 1
};
struct Hit {
    float t = 1e30f;
    std::uint32_t shape = 0;
    Vec3f normal{};  ///< of length 1, towards the ray's origin
    Vec3f local{};   ///< place on the shape in its own axes
    bool found() const { return t < 1e29f; }
};

/// Unit length; zero stays zero.
Vec3f normalized(Vec3f v);
float length(Vec3f v);

class Geometry {
  public:
    explicit Geometry(std::vector<Shape> shapes);
    Hit closest(const Ray& ray) const;
    /// True if anything is between 0 and `t_max`.
    bool blocked(const Ray& ray, float t_max) const;
    std::span<const Shape> shapes() const { return shapes_; }

  private:
    struct Node {
        Vec3f lo, hi;
        std::uint32_t first =
            0;  ///< leaf: first shape; inner: left child, the right one follows it
        std::uint32_t count = 0;  ///< shapes of a leaf, 0: inner
    };
    void build(std::uint32_t node, std::uint32_t first, std::uint32_t count, int depth);
    template <class OnShape>
    void walk(const Ray& ray, float& t_max, OnShape&& on_shape) const;

    std::vector<Shape> shapes_;
    std::vector<Node> nodes_;
};

}  // namespace gs::sample
