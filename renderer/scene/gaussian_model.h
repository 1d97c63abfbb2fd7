// GaussianModel: the scene. One allocation, one plane of floats per parameter component, so that
// SIMD lanes and coalesced threads read consecutive Gaussians, and optimizer state has exactly the
// same shape.
#pragma once

#include <cstddef>

#include "base/buffer.h"
#include "base/vec.h"
#include "renderer/scene/sky.h"

namespace gs {

/// Gaussians are walked in blocks of this many consecutive ones; capacity is a multiple of it.
inline constexpr std::size_t kBlock = 16;

/// Plane numbers. SH beyond degree 0 is coefficient-major: plane kShRest + 3 * (k - 1) + channel
/// holds basis k = 1..15.
enum Plane : int {
    kMeans = 0,           ///< x, y, z in the world, less the origin
    kLogScales = 3,       ///< natural logarithm of the standard deviations
    kQuats = 6,           ///< w, x, y, z, any length
    kOpacityLogits = 10,  ///< opacity = sigmoid(logit)
    kSh0 = 11,            ///< degree-0 coefficient, r g b; colour = 0.5 + 0.282 sh0 + ...
    kShRest = 14,
};
inline constexpr int kGeometryPlanes = 11;
inline constexpr int kMaxPlanes = 59;

/// Bases of degree `degree`: 1, 4, 9, 16.
constexpr int sh_bases(int degree) { return (degree + 1) * (degree + 1); }
constexpr int plane_count(int sh_degree) { return kShRest + 3 * (sh_bases(sh_degree) - 1); }

struct GaussianModel {
    std::size_t count = 0;     ///< Gaussians in use: rows 0 .. count - 1
    std::size_t capacity = 0;  ///< rows allocated, a multiple of kBlock
    int sh_degree = 3;         ///< highest degree stored, 0..3
    bool antialiased =
        false;             ///< trained with opacity compensation (a note in the file it came from)
    Vec3d origin{};        ///< what was subtracted from all positions: see scene/origin.h
    Sky sky{};             ///< behind all Gaussians
    Buffer<float> values;  ///< [plane_count(sh_degree)][capacity]

    GaussianModel() = default;
    /// All parameters zero except identity rotations. Rows count..capacity-1 are padding that
    /// renders as nothing.
    GaussianModel(std::size_t count, int sh_degree, std::size_t capacity = 0);
    /// For readers that set every parameter of rows 0 .. count - 1: those are not initialised, so
    /// that the memory is first touched by the threads that fill it. Only the padding is set.
    static GaussianModel to_fill(std::size_t count, int sh_degree);

    int planes() const { return plane_count(sh_degree); }
    float* plane(int p) { return values.data() + static_cast<std::size_t>(p) * capacity; }
    const float* plane(int p) const {
        return values.data() + static_cast<std::size_t>(p) * capacity;
    }
    float& at(int p, std::size_t i) { return plane(p)[i]; }
    float at(int p, std::size_t i) const { return plane(p)[i]; }
    Vec3f mean(std::size_t i) const {
        return {at(kMeans, i), at(kMeans + 1, i), at(kMeans + 2, i)};
    }
    std::size_t blocks() const { return (count + kBlock - 1) / kBlock; }
    std::size_t bytes() const { return values.capacity_bytes(); }

    /// Becomes what `like` is besides its Gaussians: antialiased, origin and sky.
    void set_about(const GaussianModel& like);
    /// Same content with a capacity of `new_capacity` rows (rounded up to kBlock, at least count)
    /// and another SH degree (missing coefficients are zero).
    GaussianModel resized(std::size_t new_capacity, int new_sh_degree) const;
};

/// Axis-aligned bounds of the finite means; false when there is none.
bool bounds_of(const GaussianModel& model, Vec3f& lo, Vec3f& hi);

}  // namespace gs
