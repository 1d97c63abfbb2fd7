// The emulated CUDA backend beside the CPU backend, and under other schedules.
#include <gtest/gtest.h>

#include "tests/kernels/cuda_forward.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/random_scene.h"
#include "tests/support/render_case.h"

namespace gs::test {
namespace {

/// Absurd parameters in any combination, with and without blur: the same Gaussians and tiles as on
/// the CPU.
TEST(CudaForwardRobust, RejectsWhatTheCpuBackendRejects) {
    GaussianModel model = random_model({.count = 2000});
    const float scales[] = {-104.0f, -88.7f, -60.0f, -40.0f, -20.0f, 5.0f,
                            20.0f,   30.0f,  40.0f,  60.0f,  88.7f};
    const float lengths[] = {0.0f, 1e-30f, 1e-10f, 1e10f, 1e25f};
    for (std::size_t i = 0; i < model.count; ++i) {
        for (int axis = 0; axis < 3; ++axis)
            if (random_in(5, 1, 3 * i + static_cast<std::size_t>(axis), 0, 1) < 0.4)
                model.at(kLogScales + axis, i) = scales[static_cast<std::size_t>(
                    random_in(5, 2, 3 * i + static_cast<std::size_t>(axis), 0, 11))];
        if (random_in(5, 3, i, 0, 1) < 0.2)
            for (int k = 0; k < 4; ++k)
                model.at(kQuats + k, i) *=
                    lengths[static_cast<std::size_t>(random_in(5, 4, i, 0, 5))];
    }
    const Camera camera = random_camera(29, 0, 50, 40);
    for (const float blur : {0.3f, 0.0f})
        for (const bool antialiased : {false, true}) {
            SCOPED_TRACE(fmt::format("blur {}, antialiased {}", blur, antialiased));
            const RenderOptions options{.antialiased = antialiased, .blur = blur};
            RasterRun cpu(make_cpu_rasterizer()), cuda(emulated_cuda());
            const Drawn a = cuda.draw(model, camera, options), b = cpu.draw(model, camera, options);
            // Of two thousand, one or two may lie within rounding of a limit.
            EXPECT_NEAR(double(a.result.counters.visible), double(b.result.counters.visible), 2);
            EXPECT_NEAR(double(a.result.counters.isects), double(b.result.counters.isects), 8);
            EXPECT_TRUE(all_finite(a.color) && all_finite(a.alpha) && all_finite(a.depth));
        }
}

/// Where both decide alike, the pictures agree to rounding; the counters that do not depend on the
/// kernels' grain agree exactly.
TEST(CudaForwardRobust, AgreesWithTheCpuBackend) {
    const GaussianModel model = random_model({.count = 1200, .scale_hi = 0.12f});
    for (const Compatibility profile :
         {Compatibility::tight, Compatibility::gsplat, Compatibility::inria}) {
        SCOPED_TRACE(name_of(profile));
        const RenderOptions options{
            .background = {0.2f, 0.3f, 0.4f}, .compatibility = profile, .counters = true};
        const Camera camera = random_camera(22, 0, 110, 83);
        RasterRun cpu(make_cpu_rasterizer()), cuda(emulated_cuda());
        const Drawn a = cuda.draw(model, camera, options), b = cpu.draw(model, camera, options);
        const auto picture =
            reference::render(reference::Parameters(model), camera, reference_options(options));
        EXPECT_LE(max_abs_difference(a.color, b.color, picture.fragile), 2e-5);
        EXPECT_LE(max_abs_difference(a.alpha, b.alpha, picture.fragile), 2e-5);
        EXPECT_LE(max_abs_difference(a.depth, b.depth, picture.fragile), 2e-4);
        EXPECT_EQ(max_abs_difference(a.contributors, b.contributors, picture.fragile), 0);
        const RenderCounters &x = a.result.counters, &y = b.result.counters;
        EXPECT_EQ(x.gaussians, y.gaussians);
        EXPECT_EQ(x.candidates, y.candidates);
        EXPECT_EQ(x.visible, y.visible);
        EXPECT_EQ(x.isects, y.isects);
        EXPECT_EQ(x.longest_tile, y.longest_tile);
        EXPECT_EQ(max_abs_difference(a.result.isects_per_tile, b.result.isects_per_tile), 0);
        EXPECT_NEAR(static_cast<double>(x.list_pairs), static_cast<double>(y.list_pairs),
                    1e-3 * static_cast<double>(y.list_pairs));
        EXPECT_NEAR(static_cast<double>(x.blended_pairs), static_cast<double>(y.blended_pairs),
                    1e-3 * static_cast<double>(y.blended_pairs));
        EXPECT_LT(x.evaluated_pairs, x.list_pairs);
        std::uint64_t pairs = 0;
        for (const std::uint32_t n : a.result.pairs_per_tile) pairs += n;
        EXPECT_EQ(pairs, x.evaluated_pairs);
    }
}

/// Single precision may keep a block that the CPU drops, hardly more.
TEST(CudaForwardRobust, DropsTheBlocksThatTheCpuDrops) {
    const GaussianModel model = random_model({.count = 3000, .extent = 20});
    for (std::uint64_t i = 0; i < 6; ++i) {
        const Camera camera = random_camera(10, i, 60, 45, i < 3 ? 5.0 : 15.0);
        RasterRun run(emulated_cuda()), cpu(make_cpu_rasterizer());
        const auto kept = run.draw(model, camera, {}, true).result.counters.candidates,
                   candidates = cpu.draw(model, camera, {}, true).result.counters.candidates;
        EXPECT_GE(kept + kBlock, candidates);
        EXPECT_LE(kept, candidates + 2 * kBlock);
    }
}

TEST(CudaForwardRobust, SameBitsUnderEverySchedule) {
    const GaussianModel model = random_model({.count = 1500, .scale_hi = 0.2f});
    const Camera camera = random_camera(23, 0, 90, 70);
    const auto v = case_upstream(camera.width, camera.height);
    const RenderOptions options{.counters = true};
    Drawn first;
    DrawnGradients first_gradients;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        emulator::set_seed(seed);
        emulator::set_deterministic(seed == 3);
        RasterRun run(emulated_cuda());
        const Drawn drawn = run.draw(model, camera, options, true);
        const DrawnGradients gradients = run.backward(v);
        if (seed == 1) {
            first = drawn;
            first_gradients = gradients;
            continue;
        }
        expect_same(drawn, first, fmt::format("seed {}", seed));
        EXPECT_EQ(drawn.contributors, first.contributors);
        EXPECT_EQ(drawn.result.counters.evaluated_pairs, first.result.counters.evaluated_pairs);
        EXPECT_EQ(max_abs_difference(drawn.result.pairs_per_tile, first.result.pairs_per_tile), 0);
        EXPECT_EQ(gradients.parameters.values, first_gradients.parameters.values);
        EXPECT_EQ(gradients.mean2d, first_gradients.mean2d);
    }
    emulator::set_seed(0);
    emulator::set_deterministic(false);
}

}  // namespace
}  // namespace gs::test
