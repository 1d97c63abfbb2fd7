// What only the CPU backend promises: the same picture from every instruction set, the same bits
// for any number of threads.
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "base/parallel.h"
#include "renderer/raster/frame_size.h"
#include "tests/support/compare.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_checks.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

TEST(CpuRaster, EveryInstructionSet) {
    const std::vector<std::string> sets = cpu_instruction_sets();
    ASSERT_FALSE(sets.empty());
    for (const std::string& name : sets) {
        SCOPED_TRACE(name);
        ASSERT_TRUE(choose_cpu_instruction_set(name));
        EXPECT_EQ(cpu_instruction_set(), name);
        const RenderOptions options{.background = {0.3f, 0.2f, 0.1f}, .antialiased = true};
        compare_with_oracle(make_cpu_rasterizer, random_model({.count = 700}),
                            random_camera(11, 0, 150, 110), options);
    }
    EXPECT_TRUE(choose_cpu_instruction_set(""));
}

TEST(CpuRaster, SameBitsForAnyNumberOfThreads) {
    const GaussianModel model = random_model({.count = 5000, .scale_hi = 0.12f});
    const Camera camera = random_camera(23, 0, 230, 170);
    const auto v = case_upstream(camera.width, camera.height);
    const RenderOptions options{.counters = true};
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

/// Draws with `threads`, and back.
std::pair<Drawn, DrawnGradients> draw_and_back(const GaussianModel& model, const Camera& camera,
                                               const RenderOptions& options, int threads) {
    auto v = case_upstream(camera.width, camera.height);
    if (!options.depth) v.depth.clear();
    set_thread_count(threads);
    RasterRun run(make_cpu_rasterizer());
    Drawn drawn = run.draw(model, camera, options);
    return {std::move(drawn), run.backward(v)};
}

// The oracle's comparison above has depth and counters; training has neither.
TEST(CpuRaster, EveryInstructionSetTrainsAlike) {
    const GaussianModel model = random_model({.count = 3000, .scale_hi = 0.12f});
    const Camera camera = random_camera(23, 0, 150, 110);  // rows and columns of cut tiles
    for (const auto& [depth, absolute] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
        const RenderOptions options{
            .depth = depth, .median_depth = false, .absolute = absolute, .counters = false};
        std::optional<std::pair<Drawn, DrawnGradients>> other;  // of another set
        for (const std::string& set : cpu_instruction_sets()) {
            SCOPED_TRACE(fmt::format("{}, depth {}, absolute {}", set, depth, absolute));
            ASSERT_TRUE(choose_cpu_instruction_set(set));
            auto one = draw_and_back(model, camera, options, 1);
            const auto three = draw_and_back(model, camera, options, 3);
            expect_same(three.first, one.first, "three threads");
            EXPECT_EQ(three.second.parameters.values, one.second.parameters.values);
            EXPECT_EQ(three.second.mean2d, one.second.mean2d);
            if (other) {
                EXPECT_LE(relative_l2(one.first.color, other->first.color), 1e-4);
                EXPECT_LE(
                    relative_l2(one.second.parameters.values, other->second.parameters.values),
                    1e-3);
                EXPECT_LE(relative_l2(one.second.mean2d, other->second.mean2d), 1e-3);
            }
            other = std::move(one);
        }
    }
    set_thread_count(0);
    EXPECT_TRUE(choose_cpu_instruction_set(""));
}

TEST(CpuRaster, RefusesFramesThatAreTooLarge) {
    SceneRecipe recipe{.count = 3000};
    recipe.scale_lo = recipe.scale_hi = 3.0f;  // each in every tile
    const GaussianModel model = random_model(recipe);
    ModelSource source(model);
    const auto rasterizer = make_cpu_rasterizer();
    const auto state = rasterizer->make_state();
    RenderResult result;
    const RenderOptions options{.depth = false, .gradients = false};
    const Camera small = random_camera(5, 0, 64, 48);
    const auto refusal = [&](const Camera& camera) -> std::string {
        try {
            rasterizer->forward(source, camera, options, *state, result);
        } catch (const FrameTooLarge& error) {
            return error.what();
        }
        return {};
    };
    const std::string memory = refusal(small.scaled_to(500'000, 400'000));
    EXPECT_NE(memory.find("needs for its picture"), std::string::npos) << memory;
    EXPECT_NE(memory.find("would fit"), std::string::npos) << memory;
    EXPECT_NE(refusal(small.scaled_to(600'000, 100)).find("less than"), std::string::npos);
    // The next frame is drawn as if nothing had been.
    EXPECT_EQ(refusal(small), "");
    const auto fresh = rasterizer->make_state();
    RenderResult again;
    rasterizer->forward(source, small, options, *fresh, again);
    EXPECT_EQ(max_abs_difference(result.color.values, again.color.values), 0);
}

}  // namespace
}  // namespace gs::test
