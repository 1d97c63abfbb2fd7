// The gradient of a small rigid motion of the scene, on every backend, against differences of the
// oracle's loss when the camera moves the other way; and that of the lens's numbers, on the CPU.
#include <array>
#include <cmath>

#include "renderer/scene/camera_lens.h"
#include "renderer/scene/camera_names.h"
#include "tests/kernels/raster_backend.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class RasterMotion : public RasterSuite {};
INSTANTIATE_TEST_SUITE_P(, RasterMotion, ::testing::ValuesIn(kRasterBackends), name_of_backend);

/// Turned about its own position (axes 0 to 2 of the world, radians), or moved along them (3 to 5).
Camera moved(Camera camera, int axis, double by) {
    Vec3d eye = camera.position();
    const double half = 0.5 * by, s = std::sin(half);
    if (axis < 3)
        camera.rotation =
            camera.rotation * transpose(rotation_from_quat({std::cos(half), axis == 0 ? s : 0,
                                                            axis == 1 ? s : 0, axis == 2 ? s : 0}));
    else
        eye += Vec3d{axis == 3 ? by : 0, axis == 4 ? by : 0, axis == 5 ? by : 0};
    camera.translation = -(camera.rotation * eye);
    return camera;
}

TEST_P(RasterMotion, IsTheOraclesByDifferences) {
    SceneRecipe recipe{.count = 60};
    recipe.sh_rest = 0.5f;  // colours that depend on the direction of view
    const GaussianModel model = random_model(recipe);
    const reference::Parameters scene(model);
    const Camera camera = random_camera(3, 0, 48, 40);
    reference::Options plain;
    const RenderOptions options{.motion = true};
    RasterRun run(backend().make());
    (void)run.draw(model, camera, options);
    const std::array<double, 6> scene_moves = run.backward(case_upstream(48, 40)).motion;
    double size = 0;
    for (const double g : scene_moves) size = std::max(size, std::abs(g));
    ASSERT_GT(size, 1.0);
    for (int axis = 0; axis < 6; ++axis) {
        const double h = 1e-6;
        const auto loss = [&](double by) {
            return case_loss(reference::render(scene, moved(camera, axis, by), plain));
        };
        const double camera_moves = (loss(h) - loss(-h)) / (2 * h);
        EXPECT_NEAR(-scene_moves[static_cast<std::size_t>(axis)], camera_moves, 2e-4 * size)
            << "axis " << axis;
    }
}

/// A lens of its own numbers, with the picture's size and focal length of `camera`.
Camera through_lens(Camera camera, CameraModel model, std::array<double, 12> distortion) {
    camera.model = model;
    camera.distortion = distortion;
    return camera;
}

TEST(RasterIntrinsics, AreTheOraclesByDifferences) {
    const GaussianModel model = random_model({.count = 60});
    const reference::Parameters scene(model);
    const Camera pinhole = random_camera(3, 0, 48, 40);
    const Camera cameras[] = {
        pinhole, through_lens(pinhole, CameraModel::opencv, {-0.1, 0.03, 0.002, -0.003}),
        through_lens(
            pinhole, CameraModel::full_opencv,
            {-0.1, 0.03, 0.002, -0.003, 0.01, 0.05, 0.01, 0.004, 0.001, -0.002, 0.002, 0.001}),
        through_lens(pinhole, CameraModel::opencv_fisheye, {0.05, -0.02, 0.01, -0.003}),
        through_lens(pinhole, CameraModel::thin_prism_fisheye,
                     {0.05, -0.02, 0.002, 0.001, 0.01, -0.003, 0.002, -0.001})};
    for (const Camera& camera : cameras) {
        SCOPED_TRACE(text_of(camera.model));
        const RenderOptions options{.intrinsics = true};
        RasterRun run(make_cpu_rasterizer());
        (void)run.draw(model, camera, options);
        const auto slopes = run.backward(case_upstream(48, 40)).intrinsics;
        const auto by_difference = [&](auto&& changed) {
            const double h = 1e-6;
            const auto loss = [&](double by) {
                return case_loss(reference::render(scene, changed(by), {}));
            };
            return (loss(h) - loss(-h)) / (2 * h);
        };
        const double focal = by_difference([&](double by) {
            Camera c = camera;
            c.fx *= std::exp(by);
            c.fy *= std::exp(by);
            return c;
        });
        ASSERT_GT(std::abs(focal), 1.0);
        EXPECT_NEAR(slopes[math::kFocal], focal, 5e-4 * std::abs(focal));
        const auto numbers = math::distortion_numbers(camera.model);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const double slope = by_difference([&](double by) {
                Camera c = camera;
                c.distortion[i] += by;
                return c;
            });
            EXPECT_NEAR(slopes[static_cast<std::size_t>(numbers[i])], slope, 5e-4 * std::abs(focal))
                << "number " << i;
        }
    }
}

}  // namespace
}  // namespace gs::test
