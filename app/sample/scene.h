// The sample scenes, on a round stone plinth: the diorama (a brick house, a tree with single
// leaves, a windmill, a fence of rods and wires, a spoked wheel, toys), the village, the toys
// alone. z is up, the top of the plinth is z = 0, its radius 2.3. Called by sample_capture.cpp.
#pragma once

#include <string>
#include <vector>

#include "app/sample/geometry.h"
#include "base/expected.h"

namespace gs::sample {

inline constexpr float kSceneRadius = 2.3f;
inline constexpr Vec3f kSceneCenter{0, 0, 0.55f};

/// What assets/sample/NAME.scene says. Errors (of a user's own file): the line.
Result<std::vector<Shape>> make_scene(const std::string& name);

}  // namespace gs::sample
