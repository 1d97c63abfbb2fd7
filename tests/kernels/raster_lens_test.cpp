// Every backend through every lens: against the oracle, against pinholes where nothing is bent,
// over the seam of a whole panorama, from within a scene and with values that no file should hold.
#include <cmath>
#include <numbers>

#include "tests/kernels/raster_backend.h"
#include "tests/support/lens_scene.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class RasterLens : public RasterSuite {
  protected:
    int width() const { return backend().pick(96, 56); }
    int height() const { return backend().pick(64, 40); }
    GaussianModel scene(float extent = 1.5f) const {
        return random_model({.count = backend().pick(std::size_t{400}, std::size_t{150}),
                             .sh_degree = 2,
                             .extent = extent});
    }
};
INSTANTIATE_TEST_SUITE_P(, RasterLens, ::testing::ValuesIn(kRasterBackends), name_of_backend);

TEST_P(RasterLens, EveryLensIsTheOracles) {
    for (const LensCase& c : lens_cases(random_camera(21, 0, width(), height()))) {
        SCOPED_TRACE(c.name);
        compare_with_oracle(backend().make, scene(), c.camera, {}, small_picture());
    }
}

TEST_P(RasterLens, SkyBehindEveryLens) {
    const Camera pinhole = random_camera(21, 1, 40, 24);
    std::vector<LensCase> cases = lens_cases(pinhole);
    cases.push_back({"pinhole", pinhole});
    cases.push_back({"parallel rays", without_distortion(pinhole, CameraModel::orthographic)});
    const GaussianModel few = random_model({.count = 40, .sh_degree = 1, .opacity_hi = 0.6f});
    int degree = 0;
    for (const LensCase& c : cases) {
        SCOPED_TRACE(c.name);
        SceneLimits limits = small_picture();
        limits.gradients = !c.camera.orthographic();
        compare_with_oracle(backend().make, under_sky(few, degree % 4), c.camera,
                            {.background = {0.2f, 0.9f, 0.4f}, .gradients = limits.gradients},
                            limits);
        ++degree;
    }
}

/// The camera stands among the Gaussians: they lie beside it, behind it and around it.
TEST_P(RasterLens, WideLensesFromWithin) {
    for (const LensCase& c : lens_cases(random_camera(22, 1, width(), height(), 0.5))) {
        if (c.camera.model < CameraModel::thin_prism_fisheye && c.name != "fisheye of 220 degrees")
            continue;
        SCOPED_TRACE(c.name);
        const RenderOptions options{.antialiased = c.camera.model == CameraModel::ftheta};
        compare_with_oracle(backend().make, scene(4.0f), c.camera, options, small_picture());
    }
}

/// A lens that bends nothing gives what a pinhole gives, but for rounding.
TEST_P(RasterLens, WithoutDistortionItIsAPinhole) {
    const Camera pinhole = random_camera(23, 0, width(), height());
    const GaussianModel model = scene();
    RasterRun run(backend().make());
    const Drawn truth = run.draw(model, pinhole, {});
    const DrawnGradients true_gradients = run.backward(case_upstream(width(), height()));
    for (const CameraModel bent : {CameraModel::opencv, CameraModel::full_opencv}) {
        const Drawn drawn = run.draw(model, without_distortion(pinhole, bent), {});
        EXPECT_EQ(drawn.result.counters.visible, truth.result.counters.visible);
        EXPECT_LE(max_abs_difference(drawn.color, truth.color), 2e-5);
        EXPECT_LE(max_abs_difference(drawn.depth, truth.depth), 1e-4);
        const DrawnGradients gradients = run.backward(case_upstream(width(), height()));
        EXPECT_LE(relative_l2(gradients.parameters.values, true_gradients.parameters.values), 2e-5);
    }
}

/// Poses of first and last row that are the same make no difference, to the bit; others do.
TEST_P(RasterLens, ARollingShutterAtRestIsAGlobalOne) {
    const GaussianModel model = scene();
    for (const CameraModel bent : {CameraModel::pinhole, CameraModel::opencv_fisheye}) {
        const Camera global = without_distortion(random_camera(27, 0, width(), height()), bent);
        Camera resting = global;
        resting.shutter = Shutter::top_to_bottom;
        resting.first = resting.last = {global.rotation, global.translation};
        Camera moving = resting;
        moving.first.translation.x -= 0.1;
        moving.last.translation.x += 0.1;
        RasterRun run(backend().make());
        const Drawn truth = run.draw(model, global, {});
        const DrawnGradients true_gradients = run.backward(case_upstream(width(), height()));
        expect_same(run.draw(model, resting, {}), truth, "the same poses");
        const DrawnGradients gradients = run.backward(case_upstream(width(), height()));
        EXPECT_EQ(max_abs_difference(gradients.parameters.values, true_gradients.parameters.values),
                  0);
        EXPECT_GT(max_abs_difference(run.draw(model, moving, {}).color, truth.color), 0.05);
    }
}

/// Pixel x of the picture is pixel x + `by` of the other, around its seam.
std::vector<double> rolled(const std::vector<double>& picture, int width, int channels, int by) {
    std::vector<double> out(picture.size());
    const auto w = static_cast<std::size_t>(width), n = static_cast<std::size_t>(channels);
    for (std::size_t i = 0; i < picture.size(); ++i) {
        const std::size_t row = i / (w * n), x = i / n % w;
        out[i] = picture[(row * w + (x + static_cast<std::size_t>(by)) % w) * n + i % n];
    }
    return out;
}

/// Turning a whole panorama's camera by whole pixels moves the picture by as many: also what then
/// lies over the seam. The width is no multiple of a tile's.
TEST_P(RasterLens, APanoramaHasNoSeam) {
    const int w = width() + 9, h = height();
    Camera camera = lens_cases(random_camera(24, 0, w, h, 2.0)).back().camera;
    const Camera ahead = camera;
    const GaussianModel model = scene();
    RasterRun run(backend().make());
    const Drawn truth = run.draw(model, camera, {});
    const reference::PictureGradient upstream = case_upstream(w, h);
    const DrawnGradients true_gradients = run.backward(upstream);
    for (const int by : {w / 2, w / 2 - 7, 5}) {
        SCOPED_TRACE(by);
        const double turn = 2 * std::numbers::pi * by / w, c = std::cos(turn), s = std::sin(turn);
        const Mat3d yaw{{{c, 0, -s}, {0, 1, 0}, {s, 0, c}}};
        camera.rotation = yaw * ahead.rotation;
        camera.translation = yaw * ahead.translation;
        const Drawn drawn = run.draw(model, camera, {});
        EXPECT_EQ(drawn.result.counters.visible, truth.result.counters.visible);
        EXPECT_LE(max_abs_difference(drawn.color, rolled(truth.color, w, 3, by)), 2e-4);
        EXPECT_LE(max_abs_difference(drawn.alpha, rolled(truth.alpha, w, 1, by)), 2e-4);
        const DrawnGradients gradients =
            run.backward({rolled(upstream.color, w, 3, by), rolled(upstream.alpha, w, 1, by),
                          rolled(upstream.depth, w, 1, by)});
        EXPECT_LE(relative_l2(gradients.parameters.values, true_gradients.parameters.values), 1e-3);
    }
}

/// Blocks that bounds leave out drew nothing.
TEST_P(RasterLens, BoundsOnlySaveWork) {
    GaussianModel model =
        random_model({.count = backend().pick(std::size_t{3000}, std::size_t{600}),
                      .sh_degree = 0,
                      .extent = 12.0f,
                      .scale_hi = 0.05f});
    // Neighbours share blocks.
    for (std::size_t i = 0; i < model.count; ++i)
        for (int axis = 0; axis < 3; ++axis)
            model.at(kMeans + axis, i) =
                model.at(kMeans + axis, i / 16 * 16) + 0.01f * model.at(kMeans + axis, i);
    const RenderOptions options{.gradients = false};
    RasterRun run(backend().make());
    std::uint64_t all = 0, kept = 0;
    for (const LensCase& c : lens_cases(random_camera(25, 2, width(), height(), 3.0))) {
        SCOPED_TRACE(c.name);
        const Drawn whole = run.draw(model, c.camera, options),
                    culled = run.draw(model, c.camera, options, true);
        expect_same(whole, culled, c.name);
        if (c.camera.fx < 0.4 * width()) continue;  // sees nearly everything
        all += whole.result.counters.candidates;
        kept += culled.result.counters.candidates;
    }
    EXPECT_LT(kept, all * 2 / 3);
}

TEST_P(RasterLens, PoisonDrawsNothing) {
    for (const LensCase& c : lens_cases(random_camera(26, 0, 70, 50))) {
        const bool wide = c.name == "fisheye of 220 degrees" || c.name == "equirectangular";
        if (backend().emulated && !wide) continue;
        SCOPED_TRACE(c.name);
        for (const int plane : {int(kMeans), kMeans + 2, int(kLogScales), int(kQuats)})
            if (!backend().emulated || plane == kMeans)
                check_poison(backend().make, plane, c.camera);
    }
}

}  // namespace
}  // namespace gs::test
