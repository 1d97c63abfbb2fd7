// The CPU backend under poison values, any number of threads, and changes that must not change the
// picture.
#include <gtest/gtest.h>

#include "base/parallel.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_checks.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

class PoisonTest : public ::testing::TestWithParam<int> {};

TEST_P(PoisonTest, StaysInItsPlace) { check_poison(make_cpu_rasterizer, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cpu, PoisonTest,
                         ::testing::Values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 30, 58));

TEST(CpuRobust, AllParametersPoisoned) {
    const Camera camera = random_camera(21, 0, 70, 50);
    RasterRun run(make_cpu_rasterizer());
    for (const Poison& poison : poisons()) {
        SCOPED_TRACE(poison.name);
        SceneRecipe recipe;
        recipe.count = 50;
        GaussianModel model = random_model(recipe);
        model.values.fill(poison.value);
        const Drawn drawn = run.draw(model, camera, {});
        EXPECT_TRUE(all_finite(drawn.color) && all_finite(drawn.alpha));
        run.backward(case_upstream(camera.width, camera.height));
    }
}

TEST(CpuRobust, DegenerateQuaternions) {
    const Camera camera = random_camera(22, 0, 70, 50);
    SceneRecipe recipe;
    recipe.count = 20;
    RasterRun run(make_cpu_rasterizer());
    for (const float length : {0.0f, 1e-30f, 1e-20f, 1e-10f, 1e10f, 1e18f, 1e25f}) {
        SCOPED_TRACE(length);
        GaussianModel model = random_model(recipe);
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

TEST(CpuRobust, SameBitsForAnyNumberOfThreads) {
    SceneRecipe recipe;
    recipe.count = 5000;
    recipe.scale_hi = 0.12f;
    const GaussianModel model = random_model(recipe);
    const Camera camera = random_camera(23, 0, 230, 170);
    const auto v = case_upstream(camera.width, camera.height);
    RenderOptions options;
    options.counters = true;
    Drawn first;
    DrawnGradients first_gradients;
    for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        RasterRun run(make_cpu_rasterizer());
        const Drawn drawn = run.draw(model, camera, options);
        const DrawnGradients gradients = run.backward(v);
        if (threads == 1) {
            first = drawn;
            first_gradients = gradients;
            continue;
        }
        expect_same(drawn, first, fmt::format("{} threads", threads));
        EXPECT_EQ(drawn.contributors, first.contributors);
        EXPECT_EQ(max_abs_difference(drawn.result.isects_per_tile, first.result.isects_per_tile),
                  0);
        EXPECT_EQ(max_abs_difference(drawn.result.pairs_per_tile, first.result.pairs_per_tile), 0);
        EXPECT_EQ(gradients.parameters.values, first_gradients.parameters.values);
        EXPECT_EQ(gradients.mean2d, first_gradients.mean2d);
    }
    set_thread_count(0);
}

TEST(CpuRobust, StateAndResultAreReusable) {
    SceneRecipe large, small;
    large.count = 2000;
    small.count = 30;
    const GaussianModel a = random_model(large), b = random_model(small);
    const Camera wide = random_camera(24, 0, 150, 90), narrow = random_camera(24, 1, 33, 61);
    RasterRun reused(make_cpu_rasterizer());
    for (int round = 0; round < 2; ++round)
        for (const auto& [model, camera] :
             {std::pair{&a, &wide}, {&b, &narrow}, {&b, &wide}, {&a, &narrow}}) {
            RasterRun fresh(make_cpu_rasterizer());
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

TEST(CpuRobust, InvisibleGaussiansChangeNothing) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(25, 0, 120, 80);
    const Vec3d eye = camera.position(), ahead = camera.forward();
    const Vec3d right{camera.rotation.m[0][0], camera.rotation.m[0][1], camera.rotation.m[0][2]};
    SceneRecipe recipe;
    recipe.count = 100;
    recipe.seed = 99;
    RasterRun run(make_cpu_rasterizer());
    const Drawn before = run.draw(model, camera, {});
    const auto move_to = [](GaussianModel& m, Vec3d where) {
        for (std::size_t i = 0; i < m.count; ++i) {
            m.at(kMeans, i) += static_cast<float>(where.x);
            m.at(kMeans + 1, i) += static_cast<float>(where.y);
            m.at(kMeans + 2, i) += static_cast<float>(where.z);
        }
    };
    GaussianModel behind = random_model(recipe), aside = behind, faint = behind;
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

TEST(CpuRobust, HiddenGaussiansChangeNothing) {
    // Four wide, nearly opaque layers in front: every pixel has ended before anything further back.
    SceneRecipe wall_recipe;
    wall_recipe.count = 4;
    GaussianModel wall = random_model(wall_recipe);
    const Camera camera = random_camera(26, 0, 90, 70);
    const Vec3d eye = camera.position(), ahead = camera.forward();
    for (std::size_t i = 0; i < wall.count; ++i) {
        const Vec3d at = eye + (2.0 + 0.01 * static_cast<double>(i)) * ahead;
        wall.at(kMeans, i) = static_cast<float>(at.x);
        wall.at(kMeans + 1, i) = static_cast<float>(at.y);
        wall.at(kMeans + 2, i) = static_cast<float>(at.z);
        for (int k = 0; k < 3; ++k) wall.at(kLogScales + k, i) = 4.0f;
        wall.at(kOpacityLogits, i) = 3.9f;  // 0.98
    }
    RasterRun run(make_cpu_rasterizer());
    const Drawn before = run.draw(wall, camera, {});
    expect_same(run.draw(joined(wall, random_model({})), camera, {}), before, "behind a wall");
    expect_same(run.draw(joined(random_model({}), wall), camera, {}), before,
                "behind a wall, first in memory");
}

TEST(CpuRobust, OrderInMemoryDoesNotMatter) {
    SceneRecipe recipe;
    recipe.count = 500;
    const GaussianModel model = random_model(recipe);
    GaussianModel reversed = model;
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < model.count; ++i)
            reversed.at(p, i) = model.at(p, model.count - 1 - i);
    const Camera camera = random_camera(27, 0, 120, 80);
    RasterRun run(make_cpu_rasterizer());
    expect_same(run.draw(model, camera, {}), run.draw(reversed, camera, {}), "reversed");
}

TEST(CpuRobust, OptionsThatOnlySaveWork) {
    const GaussianModel model = random_model({});
    const Camera camera = random_camera(28, 0, 120, 80);
    RasterRun run(make_cpu_rasterizer());
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
