// Cameras of every lens for tests of renderers: what a scene of random_scene.h looks like through
// them.
#pragma once

#include <string>
#include <vector>

#include "renderer/scene/camera.h"

namespace gs::test {

struct LensCase {
    std::string name;
    Camera camera;
};
/// One of each model that is bent, and two rolling shutters; `pinhole` is where they stand and
/// their size. Distorted so that no coefficient is idle; some see over 180 degrees.
std::vector<LensCase> lens_cases(const Camera& pinhole);
/// A lens of this model that does not distort.
Camera without_distortion(Camera pinhole, CameraModel model);

}  // namespace gs::test
