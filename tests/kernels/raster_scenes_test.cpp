// Every backend against the oracle on random scenes: sizes, counts, options, profiles, counters.
#include "tests/kernels/raster_backend.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class RasterScenes : public RasterSuite {
  protected:
    void compare(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
                 const SceneLimits& limits = {}) const {
        compare_with_oracle(backend().make, model, camera, options, limits);
    }
};
INSTANTIATE_TEST_SUITE_P(, RasterScenes, ::testing::ValuesIn(kRasterBackends), name_of_backend);

TEST_P(RasterScenes, PicturesOfEverySize) {
    std::vector<std::pair<int, int>> sizes{{1, 1},   {7, 5},  {17, 5}, {16, 16}, {17, 33},
                                           {33, 47}, {1, 70}, {70, 1}, {100, 75}};
    if (!backend().emulated) sizes.insert(sizes.end(), {{1, 200}, {200, 1}, {333, 211}});
    std::uint64_t index = 0;
    for (const auto& [width, height] : sizes) {
        SCOPED_TRACE(fmt::format("{} x {}", width, height));
        const RenderOptions options{.background = {0.1f, 0.4f, 0.7f}};
        compare(random_model({}), random_camera(1, index++, width, height), options,
                small_picture());
    }
}

TEST_P(RasterScenes, EveryCountAroundABlockAndAChunk) {
    for (const std::size_t count : {0u, 1u, 2u, 15u, 16u, 17u, 31u, 33u, 255u, 256u, 257u, 513u}) {
        SCOPED_TRACE(count);
        compare(random_model({.count = count}), random_camera(2, count, 50, 40), {},
                small_picture());
    }
}

TEST_P(RasterScenes, EmptySceneIsTheBackground) {
    const RenderOptions options{.background = {0.25f, 0.5f, 1.0f}};
    RasterRun run(backend().make());
    GaussianModel behind = random_model({});
    for (std::size_t i = 0; i < behind.count; ++i) behind.at(kOpacityLogits, i) = -20.0f;
    for (const GaussianModel& model : {GaussianModel(0, 0), behind}) {
        const Drawn drawn = run.draw(model, random_camera(1, 0, 40, 30), options);
        EXPECT_EQ(drawn.result.counters.visible, 0u);
        EXPECT_EQ(drawn.result.counters.isects, 0u);
        for (std::size_t i = 0; i < drawn.alpha.size(); ++i) {
            EXPECT_EQ(drawn.alpha[i], 0);
            EXPECT_EQ(drawn.color[3 * i], 0.25);
            EXPECT_EQ(drawn.color[3 * i + 1], 0.5);
            EXPECT_EQ(drawn.color[3 * i + 2], 1.0);
        }
        const DrawnGradients g = run.backward(case_upstream(40, 30));
        for (const double v : g.parameters.values) EXPECT_EQ(v, 0);
    }
}

TEST_P(RasterScenes, SkyInPlaceOfTheBackground) {
    const GaussianModel plain = random_model({}), model = under_sky(plain);
    const Camera camera = random_camera(1, 0, 57, 43);
    RenderOptions options{.background = {0.25f, 0.5f, 1.0f}};
    compare(model, camera, options, small_picture());
    options.sky = false;
    RasterRun a(backend().make()), b(backend().make());
    EXPECT_EQ(a.draw(model, camera, options).color, b.draw(plain, camera, options).color);
}

TEST_P(RasterScenes, OneHugeGaussian) {
    GaussianModel model = random_model({.count = 1, .opacity_lo = 0.7f, .opacity_hi = 0.7f});
    const Camera camera = random_camera(3, 0, 130, 90);
    for (const double log_scale : {1.0, 3.0, 6.0, 12.0, 15.0, 17.0}) {  // up to 2e7
        SCOPED_TRACE(log_scale);
        for (int k = 0; k < 3; ++k)
            model.at(kLogScales + k, 0) = static_cast<float>(log_scale - 0.1 * k);
        compare(model, camera, {});
    }
    for (int k = 0; k < 3; ++k) {
        SCOPED_TRACE(fmt::format("a sheet across axis {}", k));
        for (int j = 0; j < 3; ++j) model.at(kLogScales + j, 0) = j == k ? -1.0f : 15.0f;
        compare(model, camera, {});
    }
}

TEST_P(RasterScenes, ThousandsInOneTile) {
    SceneRecipe recipe{.count = 4000,
                       .sh_degree = 0,
                       .scale_lo = 0.5f,
                       .scale_hi = 1.0f,
                       .opacity_lo = 0.004f,
                       .opacity_hi = 0.02f};
    compare(random_model(recipe), random_camera(4, 0, 16, 16), {}, small_picture());
    recipe.opacity_lo = 0.5f;
    recipe.opacity_hi = 0.9999f;
    compare(random_model(recipe), random_camera(4, 1, 24, 20), {}, small_picture());
}

/// Ten times the isects of a work item: faint, so that all of them count, then opaque, so that
/// pixels end early.
TEST_P(RasterScenes, TenThousandInOneTile) {
    SceneRecipe recipe{.count = 10000,
                       .sh_degree = 0,
                       .scale_lo = 0.5f,
                       .scale_hi = 1.0f,
                       .opacity_lo = 0.004f,
                       .opacity_hi = 0.006f};
    SceneLimits limits = small_picture();
    compare(random_model(recipe), random_camera(4, 0, 16, 16), {}, limits);
    recipe.opacity_lo = 0.5f;
    recipe.opacity_hi = 0.9999f;
    compare(random_model(recipe), random_camera(4, 1, 16, 16), {}, limits);
}

/// More rows of tiles than lanes, more columns than lanes, and more tiles than 255.
TEST_P(RasterScenes, TallAndWidePictures) {
    const int sizes[][2] = {{20, 700}, {700, 20}, {272, 272}};
    for (const auto& size : sizes) {
        SCOPED_TRACE(fmt::format("{} x {}", size[0], size[1]));
        compare(random_model({.count = 12,
                              .sh_degree = 0,
                              .scale_lo = 0.4f,
                              .scale_hi = 0.8f,
                              .opacity_hi = 0.5f}),
                random_camera(12, 0, size[0], size[1]), {}, small_picture());
    }
}

TEST_P(RasterScenes, CompatibilityProfiles) {
    for (const Compatibility profile :
         {Compatibility::tight, Compatibility::gsplat, Compatibility::inria}) {
        SCOPED_TRACE(name_of(profile));
        const RenderOptions options{.compatibility = profile};
        const SceneRecipe recipe{.count = backend().pick(800u, 500u), .seed = 7};
        const auto pick = [&](int here, int emulated) { return backend().pick(here, emulated); };
        compare(random_model(recipe), random_camera(5, 0, pick(160, 96), pick(120, 70)), options);
        // From within.
        compare(random_model(recipe), random_camera(5, 1, pick(160, 60), pick(120, 50), 1.0),
                options);
    }
}

TEST_P(RasterScenes, ShDegrees) {
    for (int stored = 0; stored <= 3; ++stored)
        for (int shown = 0; shown <= 3; ++shown) {
            SCOPED_TRACE(fmt::format("stored {}, shown {}", stored, shown));
            SceneRecipe recipe;
            recipe.count = backend().pick(recipe.count, std::size_t{100});
            recipe.sh_degree = stored;
            const RenderOptions options{.sh_degree = shown};
            compare(random_model(recipe),
                    random_camera(6, 0, backend().pick(60, 40), backend().pick(50, 30)), options,
                    small_picture());
        }
}

TEST_P(RasterScenes, ScaleModifier) {
    SceneLimits forward_only{.gradients = false};
    for (const float modifier : {0.1f, 0.5f, 2.0f}) {
        SCOPED_TRACE(modifier);
        const RenderOptions options{.scale_modifier = modifier};
        compare(random_model({}),
                random_camera(7, 0, backend().pick(120, 80), backend().pick(90, 60)), options,
                forward_only);
    }
}

/// The camera `pinhole` with parallel rays, the origin's surroundings as large as before.
Camera parallel(Camera pinhole) {
    const double z = pinhole.translation.z;
    pinhole.model = CameraModel::orthographic;
    pinhole.fx /= z;
    pinhole.fy /= z;
    return pinhole;
}

TEST_P(RasterScenes, ParallelRays) {
    SceneLimits forward_only{.gradients = false};
    RenderOptions options{.gradients = false};
    const int width = backend().pick(120, 80), height = backend().pick(90, 60);
    for (std::uint64_t i = 0; i < 4; ++i) {
        SCOPED_TRACE(i);
        options.antialiased = i % 2 == 1;
        options.scale_modifier = i == 3 ? 0.5f : 1.0f;
        compare(random_model({}), parallel(random_camera(11, i, width, height)), options,
                forward_only);
    }
    // Sizes do not depend on depth: moving along the axis changes the depths alone.
    Camera camera = parallel(random_camera(11, 0, width, height));
    RasterRun run(backend().make());
    const Drawn near = run.draw(random_model({}), camera, options);
    camera.translation.z += 16;
    const Drawn far = run.draw(random_model({}), camera, options);
    EXPECT_LE(max_abs_difference(near.color, far.color), 1e-3);
    EXPECT_LE(max_abs_difference(near.alpha, far.alpha), 1e-3);
}

TEST_P(RasterScenes, BoundsOnlySaveWorkWithParallelRays) {
    GaussianModel model = random_model({.count = 3000, .extent = 20});
    for (std::size_t i = 0; i < model.count; ++i)  // neighbours in memory lie near one another
        for (int axis = 0; axis < 3; ++axis)
            model.at(kMeans + axis, i) =
                model.at(kMeans + axis, i - i % kBlock) + 0.02f * model.at(kMeans + axis, i);
    const RenderOptions options{.gradients = false};
    for (std::uint64_t i = 0; i < 4; ++i) {
        Camera camera = parallel(random_camera(12, i, 80, 60, 40.0));
        camera.fx *= 3;  // a third of the scene
        camera.fy *= 3;
        RasterRun run(backend().make());
        const Drawn all = run.draw(model, camera, options, false),
                    some = run.draw(model, camera, options, true);
        expect_same(all, some, "with and without bounds");
        EXPECT_LT(some.result.counters.candidates, all.result.counters.candidates);
    }
}

TEST_P(RasterScenes, ClipBox) {
    SceneLimits forward_only{.gradients = false};
    RenderOptions options{.clip = ClipBox{{-0.7f, -1.0f, -0.2f}, {0.6f, 0.4f, 1.1f}},
                          .gradients = false};
    const Camera camera = random_camera(13, 0, backend().pick(120, 80), backend().pick(90, 60));
    const GaussianModel model = random_model({});
    compare(model, camera, options, forward_only);
    compare(model, parallel(camera), options, forward_only);
    RasterRun run(backend().make());
    const std::uint64_t few = run.draw(model, camera, options).result.counters.visible;
    options.clip.reset();
    EXPECT_LT(few, run.draw(model, camera, options).result.counters.visible);
    options.clip = ClipBox{{5, 5, 5}, {6, 6, 6}};
    EXPECT_EQ(run.draw(model, camera, options).result.counters.visible, 0u);
}

TEST_P(RasterScenes, AntialiasedSmallGaussiansAndBlur) {
    const SceneRecipe recipe{.count = 1500, .scale_lo = 0.001f, .scale_hi = 0.05f};
    RenderOptions options{.antialiased = true};
    const int width = backend().pick(140, 100), height = backend().pick(100, 70);
    compare(random_model(recipe), random_camera(8, 0, width, height), options);
    options.blur = 0.1f;
    compare(random_model(recipe), random_camera(8, 1, width, height), options);
}

TEST_P(RasterScenes, NeedlesAndPancakes) {
    SceneRecipe recipe{.count = 300, .scale_lo = 0.005f, .scale_hi = 0.5f};
    const Camera camera = random_camera(9, 0, backend().pick(160, 100), backend().pick(120, 75));
    compare(random_model(recipe), camera, {});
    // Beyond 1000 to 1 single precision shows, but stays small: the determinant is free of
    // cancellation.
    recipe.scale_lo = 1e-4f;
    recipe.scale_hi = 2.0f;
    const GaussianModel extreme = random_model(recipe);
    RasterRun run(backend().make());
    const Drawn drawn = run.draw(extreme, camera, {});
    const auto picture =
        reference::render(reference::Parameters(extreme), camera, reference_options({}));
    EXPECT_LE(max_abs_difference(drawn.color, picture.color, picture.fragile), 2e-4);
    EXPECT_LE(max_abs_difference(drawn.alpha, picture.alpha, picture.fragile), 2e-4);
}

TEST_P(RasterScenes, BoundsOnlySaveWork) {
    const GaussianModel model = random_model({.count = 3000, .extent = 20});
    for (std::uint64_t i = 0; i < 6; ++i) {
        const Camera camera = random_camera(10, i, backend().pick(120, 60), backend().pick(90, 45),
                                            i < 3 ? 5.0 : 15.0);
        RasterRun run(backend().make());
        const Drawn all = run.draw(model, camera, {}, false),
                    some = run.draw(model, camera, {}, true);
        expect_same(all, some, "with and without bounds");
        EXPECT_EQ(all.result.counters.candidates, model.count);
        EXPECT_LE(some.result.counters.candidates, all.result.counters.candidates);
    }
}

}  // namespace
}  // namespace gs::test
