// Scenes of the directed cases: Gaussians in a cube in front of a camera, and edits that make them
// degenerate, seeded, the same on every machine; and how their pictures are compared where the
// reference has no result.
#pragma once

#include <initializer_list>
#include <vector>

#include "base/comparison.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

struct CaseScene {
    GaussianModel model;
    Camera camera;
};

/// `count` Gaussians of degree `degree` before a camera of that size.
CaseScene case_scene(std::size_t count, int degree, int width, int height, std::uint64_t seed = 1);
/// The same, but all of them around the middle of the picture, each of about `opacity`, larger than
/// a tile: long lists.
CaseScene crowded_scene(std::size_t count, int width, int height, float opacity,
                        std::uint64_t seed = 2);
/// Gaussians so large that they cover the picture, `every`-th of them.
CaseScene covering_scene(std::size_t count, std::size_t every, int width, int height);
/// Values that no file should hold, in every plane of every other Gaussian.
void break_every_other(GaussianModel& model);
/// Pictures of two backends, of which neither has the last word on a pixel at the edge of a
/// decision: one pixel in 200 may lie further apart than rounding, and one Gaussian in 200 be seen
/// by one of them alone.
std::vector<ComparisonRow> likeness(const RenderResult& got, const RenderResult& truth);

/// The scene through another lens: `angle` across the picture's width, radians; coefficients as
/// Camera::distortion has them. Of an equirectangular camera the picture is the whole sphere.
CaseScene through_lens(CaseScene scene, CameraModel model, double angle,
                       std::initializer_list<double> coefficients);
/// A camera at (0, 0, -4) that looks along +z: depth is z + 4.
Camera axis_camera(int width, int height);

}  // namespace gs::cli
