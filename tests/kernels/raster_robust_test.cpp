// Every backend under poison values, and under changes that must not change the picture.
#include "tests/kernels/raster_backend.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

using PoisonParam = std::tuple<RasterBackend, int>;
class RasterPoison : public ::testing::TestWithParam<PoisonParam> {};
TEST_P(RasterPoison, StaysInItsPlace) {
    check_poison(std::get<0>(GetParam()).make, std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(, RasterPoison,
                         ::testing::Combine(::testing::ValuesIn(kRasterBackends),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                                              13, 14, 30, 58)),
                         [](const auto& test) {
                             return fmt::format("{}Plane{}", std::get<0>(test.param).name,
                                                std::get<1>(test.param));
                         });

class RasterRobust : public RasterSuite {};
INSTANTIATE_TEST_SUITE_P(, RasterRobust, ::testing::ValuesIn(kRasterBackends), name_of_backend);

TEST_P(RasterRobust, AllParametersPoisoned) {
    const Camera camera = random_camera(21, 0, backend().pick(70, 40), backend().pick(50, 30));
    RasterRun run(backend().make());
    for (const Poison& poison : poisons()) {
        SCOPED_TRACE(poison.name);
        GaussianModel model = random_model({.count = 50});
        model.values.fill(poison.value);
        for (const bool with_bounds : {false, true}) {
            const Drawn drawn = run.draw(model, camera, {}, with_bounds);
            EXPECT_TRUE(all_finite(drawn.color) && all_finite(drawn.alpha));
        }
        run.backward(case_upstream(camera.width, camera.height));
    }
}

TEST_P(RasterRobust, DegenerateQuaternions) {
    const Camera camera = random_camera(22, 0, backend().pick(70, 40), backend().pick(50, 30));
    RasterRun run(backend().make());
    for (const float length : {0.0f, 1e-30f, 1e-20f, 1e-10f, 1e10f, 1e18f, 1e25f}) {
        SCOPED_TRACE(length);
        GaussianModel model = random_model({.count = 20});
        for (int k = 0; k < 4; ++k) model.at(kQuats + k, 3) *= length;
        const Drawn drawn = run.draw(model, camera, {});
        EXPECT_TRUE(all_finite(drawn.color));
        const DrawnGradients g = run.backward(case_upstream(camera.width, camera.height));
        for (std::size_t i = 0; i < model.count; ++i)
            for (int p = 0; p < model.planes(); ++p)
                ASSERT_TRUE(std::isfinite(g.parameters.at(p, i)) || i == 3)
                    << "Gaussian " << i << " plane " << p;
    }
}

TEST_P(RasterRobust, StateAndResultAreReusable) {
    SceneRecipe large, small;
    large.count = backend().pick(2000u, 1000u);
    small.count = 30;
    const GaussianModel a = random_model(large), b = random_model(small);
    const Camera wide = random_camera(24, 0, backend().pick(150, 75), backend().pick(90, 45)),
                 narrow = random_camera(24, 1, 33, 61);
    RasterRun reused(backend().make());
    for (int round = 0; round < 2; ++round)
        for (const auto& [model, camera] :
             {std::pair{&a, &wide}, {&b, &narrow}, {&b, &wide}, {&a, &narrow}}) {
            RasterRun fresh(backend().make());
            const Drawn drawn = reused.draw(*model, *camera, {});
            expect_same(drawn, fresh.draw(*model, *camera, {}), "reused");
            const auto v = case_upstream(camera->width, camera->height);
            EXPECT_EQ(reused.backward(v).parameters.values, fresh.backward(v).parameters.values);
        }
}

/// `model` with `extra` appended.
GaussianModel joined(const GaussianModel& model, const GaussianModel& extra) {
    GaussianModel out = model.resized(model.count + extra.count, model.sh_degree);
    out.count = model.count + extra.count;
    for (int p = 0; p < out.planes(); ++p)
        for (std::size_t i = 0; i < extra.count; ++i) out.at(p, model.count + i) = extra.at(p, i);
    return out;
}

TEST_P(RasterRobust, InvisibleGaussiansChangeNothing) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(25, 0, backend().pick(120, 80), backend().pick(80, 60));
    const Vec3d eye = camera.position(), ahead = camera.forward();
    const Vec3d right{camera.rotation.m[0][0], camera.rotation.m[0][1], camera.rotation.m[0][2]};
    RasterRun run(backend().make());
    const Drawn before = run.draw(model, camera, {});
    const auto move_to = [](GaussianModel& m, Vec3d where) {
        for (std::size_t i = 0; i < m.count; ++i) {
            m.at(kMeans, i) += static_cast<float>(where.x);
            m.at(kMeans + 1, i) += static_cast<float>(where.y);
            m.at(kMeans + 2, i) += static_cast<float>(where.z);
        }
    };
    GaussianModel behind = random_model({.count = 100, .seed = 99}), aside = behind, faint = behind;
    move_to(behind, eye - 4.0 * ahead);
    move_to(aside, eye + 10.0 * ahead + 60.0 * right);
    for (std::size_t i = 0; i < faint.count; ++i)
        faint.at(kOpacityLogits, i) = -5.6f;  // just below 1/255
    expect_same(run.draw(joined(model, behind), camera, {}), before, "behind the camera");
    expect_same(run.draw(joined(model, aside), camera, {}), before, "outside the picture");
    expect_same(run.draw(joined(model, faint), camera, {}), before, "below the cut");
    expect_same(run.draw(joined(behind, model), camera, {}, true), before,
                "behind the camera, first in memory");
}

TEST_P(RasterRobust, HiddenGaussiansChangeNothing) {
    // Four wide, nearly opaque layers in front: every pixel has ended before anything further back.
    GaussianModel wall = random_model({.count = 4});
    const Camera camera = random_camera(26, 0, backend().pick(90, 60), backend().pick(70, 45));
    const Vec3d eye = camera.position(), ahead = camera.forward();
    for (std::size_t i = 0; i < wall.count; ++i) {
        const Vec3d at = eye + (2.0 + 0.01 * static_cast<double>(i)) * ahead;
        wall.at(kMeans, i) = static_cast<float>(at.x);
        wall.at(kMeans + 1, i) = static_cast<float>(at.y);
        wall.at(kMeans + 2, i) = static_cast<float>(at.z);
        for (int k = 0; k < 3; ++k) wall.at(kLogScales + k, i) = 4.0f;
        wall.at(kOpacityLogits, i) = 3.9f;  // 0.98
    }
    RasterRun run(backend().make());
    const Drawn before = run.draw(wall, camera, {});
    expect_same(run.draw(joined(wall, random_model({})), camera, {}), before, "behind a wall");
    expect_same(run.draw(joined(random_model({}), wall), camera, {}), before,
                "behind a wall, first in memory");
}

TEST_P(RasterRobust, OrderInMemoryDoesNotMatter) {
    SceneRecipe recipe;
    recipe.count = 700;  // several chunks
    const GaussianModel model = random_model(recipe);
    GaussianModel reversed = model;
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < model.count; ++i)
            reversed.at(p, i) = model.at(p, model.count - 1 - i);
    const Camera camera = random_camera(27, 0, backend().pick(120, 80), backend().pick(80, 60));
    RasterRun run(backend().make());
    expect_same(run.draw(model, camera, {}), run.draw(reversed, camera, {}), "reversed");
}

TEST_P(RasterRobust, OptionsThatOnlySaveWork) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(28, 0, backend().pick(120, 80), backend().pick(80, 60));
    RasterRun run(backend().make());
    RenderOptions all, none;
    all.counters = true;
    none.gradients = false;
    expect_same(run.draw(model, camera, all), run.draw(model, camera, none),
                "counters and gradients");
    none.depth = false;
    const Drawn a = run.draw(model, camera, all), b = run.draw(model, camera, none);
    EXPECT_EQ(max_abs_difference(a.color, b.color), 0);
    EXPECT_EQ(max_abs_difference(a.alpha, b.alpha), 0);
}

}  // namespace
}  // namespace gs::test
