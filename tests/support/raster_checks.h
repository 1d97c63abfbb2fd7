// The checks that every backend passes: stored reference files, the oracle on a scene, poison
// values. A test program runs them with its backend's factory and tolerances.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "renderer/raster/rasterizer.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"

namespace gs::test {

using RasterizerFactory = std::function<std::unique_ptr<Rasterizer>()>;

struct FileTolerances {
    double pixel = 2e-5, gradient = 1e-4;
};
/// reference/render/NAME.npz: pictures of its cameras, contributors, and the sum of the gradients.
/// `cameras`: how many of them are drawn; gradients are compared when that is all.
void check_render_file(const RasterizerFactory& make, const std::string& name,
                       std::size_t cameras = 1000, const FileTolerances& tolerances = {});
/// reference/brush/NAME.safetensors: picture, and gradients where the file has them.
void check_brush_file(const RasterizerFactory& make, const std::string& name,
                      const FileTolerances& tolerances = {});

struct SceneLimits {
    BandLimits band;
    double gradient = 1e-4;
    bool gradients = true;
};
/// Very small pictures have few pixels, so one fragile pixel may be a large share.
SceneLimits small_picture();
/// Draws with the backend and the oracle, compares everything there is.
void compare_with_oracle(const RasterizerFactory& make, const GaussianModel& model,
                         const Camera& camera, RenderOptions options,
                         const SceneLimits& limits = {});

bool all_finite(const std::vector<double>& values);
/// Same bits in every picture.
void expect_same(const Drawn& a, const Drawn& b, const std::string& what);

struct Poison {
    const char* name;
    float value;
};
const std::vector<Poison>& poisons();
/// One Gaussian of `model` gets each poison in plane `plane`: everything stays finite, and nothing
/// changes but what it can reach.
void check_poison(const RasterizerFactory& make, int plane,
                  const Camera& camera = random_camera(20, 0, 70, 50));

}  // namespace gs::test
