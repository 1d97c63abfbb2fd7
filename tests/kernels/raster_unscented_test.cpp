// Every backend by the unscented transform: against the oracle through every lens and shutter, from
// within a scene, beside EWA where Gaussians are small, and with values that no file should hold.
#include "tests/kernels/raster_backend.h"
#include "tests/support/lens_scene.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class RasterUnscented : public RasterSuite {
  protected:
    int width() const { return backend().pick(96, 56); }
    int height() const { return backend().pick(64, 40); }
    GaussianModel scene(float extent = 1.5f, float scale = 1) const {
        SceneRecipe recipe{.count = backend().pick(std::size_t{300}, std::size_t{120}),
                           .sh_degree = 1,
                           .extent = extent};
        recipe.scale_lo *= scale;
        recipe.scale_hi *= scale;
        return random_model(recipe);
    }
};
INSTANTIATE_TEST_SUITE_P(, RasterUnscented, ::testing::ValuesIn(kRasterBackends), name_of_backend);

RenderOptions by_points() { return {.projection = ProjectionMethod::ut}; }

TEST_P(RasterUnscented, EveryLensIsTheOracles) {
    const Camera pinhole = random_camera(51, 0, width(), height());
    std::vector<LensCase> cases = lens_cases(pinhole);
    cases.push_back({"pinhole", pinhole});
    for (const LensCase& c : cases) {
        SCOPED_TRACE(c.name);
        RenderOptions options = by_points();
        options.antialiased = c.camera.model == CameraModel::opencv_fisheye;
        compare_with_oracle(backend().make, scene(), c.camera, options, small_picture());
    }
}

/// The camera stands among the Gaussians: points of many lie behind it, beyond a fold or a seam.
TEST_P(RasterUnscented, FromWithin) {
    for (const LensCase& c : lens_cases(random_camera(52, 1, width(), height(), 0.5))) {
        if (c.camera.model < CameraModel::thin_prism_fisheye && c.name != "opencv") continue;
        SCOPED_TRACE(c.name);
        compare_with_oracle(backend().make, scene(4.0f), c.camera, by_points(), small_picture());
    }
}

/// Parallel rays are EWA's to the bit; small Gaussians nearly, through any lens, large ones not.
TEST_P(RasterUnscented, SmallGaussiansAndParallelRaysAreEwas) {
    RasterRun run(backend().make());
    RenderOptions ut = by_points(), ewa;
    ut.gradients = ewa.gradients = false;
    const Camera pinhole = random_camera(53, 0, width(), height());
    const GaussianModel small = scene(1.5f, 0.02f), large = scene(1.5f, 3.0f);
    for (const CameraModel bent : {CameraModel::pinhole, CameraModel::opencv_fisheye}) {
        const Camera camera = without_distortion(pinhole, bent);
        EXPECT_LE(max_abs_difference(run.draw(small, camera, ut).color,
                                     run.draw(small, camera, ewa).color),
                  1e-3);
        EXPECT_GT(max_abs_difference(run.draw(large, camera, ut).color,
                                     run.draw(large, camera, ewa).color),
                  5e-3);
    }
    const Camera parallel = without_distortion(pinhole, CameraModel::orthographic);
    expect_same(run.draw(large, parallel, ut), run.draw(large, parallel, ewa), "parallel rays");
}

/// Blocks that bounds leave out drew nothing.
TEST_P(RasterUnscented, BoundsOnlySaveWork) {
    RenderOptions options = by_points();
    options.gradients = false;
    RasterRun run(backend().make());
    const GaussianModel model = scene(8.0f, 2.0f);
    for (const LensCase& c : lens_cases(random_camera(54, 2, width(), height(), 3.0))) {
        if (backend().emulated && c.camera.rolling()) continue;
        SCOPED_TRACE(c.name);
        expect_same(run.draw(model, c.camera, options), run.draw(model, c.camera, options, true),
                    c.name);
    }
}

}  // namespace
}  // namespace gs::test
