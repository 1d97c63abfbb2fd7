// Ray against one shape. Sources: the textbook quadratics and slabs (for example Pharr, Jakob,
// Humphreys, chapter 6).
#pragma once

#include "app/sample/geometry.h"

namespace gs::sample {

/// Updates `hit` (t, normal, local; not shape) and returns true when `ray` meets `shape` in (kNear,
/// hit.t).
bool intersect(const Shape& shape, const Ray& ray, Hit& hit);
/// World bounds of one shape.
void bounds_of(const Shape& shape, Vec3f& lo, Vec3f& hi);

}  // namespace gs::sample
