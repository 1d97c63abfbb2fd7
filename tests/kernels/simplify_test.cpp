// A scene made smaller: weights are what blending says, merging keeps mass and moments, colours
// fitted afterwards bring pictures nearer.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "renderer/edit/merge.h"
#include "renderer/math/scalar.h"
#include "renderer/raster/blend_weights.h"
#include "renderer/raster/fit_colors.h"
#include "renderer/scene/covariance.h"
#include "tests/support/random_scene.h"
#include "tests/support/required.h"

namespace gs::test {
namespace {

std::vector<Camera> some_cameras() {
    std::vector<Camera> out;
    for (std::uint64_t i = 0; i < 4; ++i) out.push_back(random_camera(5, i, 96, 64));
    return out;
}
ImageF drawn(Rasterizer& rasterizer, const GaussianModel& model, const Camera& camera,
             double* alpha = nullptr) {
    const RenderOptions options{.depth = false};
    const auto source = rasterizer.source_of(model);
    const auto state = rasterizer.make_state();
    RenderResult out;
    rasterizer.forward(*source, camera, options, *state, out);
    if (alpha != nullptr)
        for (const float a : out.alpha.values) *alpha += static_cast<double>(a);
    return out.color;
}
double squares(Rasterizer& rasterizer, const GaussianModel& a, const GaussianModel& b,
               std::span<const Camera> cameras) {
    double sum = 0;
    for (const Camera& camera : cameras) {
        const ImageF x = drawn(rasterizer, a, camera), y = drawn(rasterizer, b, camera);
        for (std::size_t i = 0; i < x.values.size(); ++i)
            sum += std::pow(static_cast<double>(x.values[i] - y.values[i]), 2);
    }
    return sum;
}

TEST(Simplify, WeightsAreWhatPicturesAreMadeOf) {
    GaussianModel model = random_model({.count = 200, .sh_degree = 2, .seed = 4});
    model.at(kOpacityLogits, 7) = -20;  // nobody sees it
    const auto rasterizer = make_cpu_rasterizer();
    const auto cameras = some_cameras();
    const auto weights = required(blend_weights(*rasterizer, model, cameras, plain_options(model)));
    double alpha = 0;
    for (const Camera& camera : cameras) drawn(*rasterizer, model, camera, &alpha);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), alpha, 1e-4 * alpha);
    EXPECT_EQ(weights[7], 0);
    for (const double w : weights) EXPECT_GE(w, 0);
    EXPECT_FALSE(blend_weights(*rasterizer, model, cameras, plain_options(model),
                               [](auto, auto, auto) { return false; }));
}

TEST(Simplify, TwoBecomeOneOfTheirMassAndMoments) {
    const GaussianModel model = random_model({.count = 40, .sh_degree = 1, .seed = 8});
    for (std::size_t a = 0; a + 1 < 40; a += 2) {
        GaussianModel out(1, 1);
        merge_rows(model, a, a + 1, out, 0);
        const auto mass = [](const GaussianModel& m, std::size_t i) {
            return static_cast<double>(math::sigmoid(m.at(kOpacityLogits, i))) *
                   ellipsoid_area({std::exp(m.at(kLogScales, i)), std::exp(m.at(kLogScales + 1, i)),
                                   std::exp(m.at(kLogScales + 2, i))});
        };
        const double p = mass(model, a) / (mass(model, a) + mass(model, a + 1)), q = 1 - p;
        if (math::sigmoid(out.at(kOpacityLogits, 0)) < 0.99f) {
            EXPECT_NEAR(mass(out, 0), mass(model, a) + mass(model, a + 1), 1e-4 * mass(out, 0));
        }
        double d[3];
        for (int k = 0; k < 3; ++k) {
            const double x = model.at(kMeans + k, a), y = model.at(kMeans + k, a + 1);
            d[k] = x - y;
            EXPECT_NEAR(out.at(kMeans + k, 0), p * x + q * y, 1e-5);
        }
        const Mat3d one = covariance_of(model, a), other = covariance_of(model, a + 1),
                    both = covariance_of(out, 0);
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c)
                EXPECT_NEAR(both.m[r][c], p * one.m[r][c] + q * other.m[r][c] + p * q * d[r] * d[c],
                            2e-5);
        for (int plane = kSh0; plane < model.planes(); ++plane)
            EXPECT_NEAR(out.at(plane, 0),
                        p * static_cast<double>(model.at(plane, a)) +
                            q * static_cast<double>(model.at(plane, a + 1)),
                        1e-5);
    }
    EXPECT_NEAR(ellipsoid_area({2, 2, 2}), 4 * 3.14159265 * 4, 1e-3);
}

TEST(Simplify, MergingBeatsLeavingOutAndColoursBringItNearer) {
    const GaussianModel model =
        random_model({.count = 600, .sh_degree = 1, .seed = 3, .scale_lo = 0.1f});
    const auto rasterizer = make_cpu_rasterizer();
    const auto cameras = some_cameras();
    const auto weights = required(blend_weights(*rasterizer, model, cameras, plain_options(model)));
    const auto merged = required(merged_to(model, weights, 300));
    ASSERT_EQ(merged.count, 300u);
    const auto again = merged_to(model, weights, 300);
    for (int p = 0; p < merged.planes(); ++p)
        for (std::size_t i = 0; i < merged.count; ++i) ASSERT_EQ(merged.at(p, i), again->at(p, i));
    const double before = squares(*rasterizer, model, merged, cameras);
    GaussianModel fitted = merged;
    ASSERT_TRUE(fit_colors(*rasterizer, model, fitted, cameras, 6));
    EXPECT_LT(squares(*rasterizer, model, fitted, cameras), 0.8 * before);
    for (int p = 0; p < kSh0; ++p)
        for (std::size_t i = 0; i < fitted.count; ++i)
            ASSERT_EQ(fitted.at(p, i), merged.at(p, i)) << "shapes stay";
    // A scene fitted to itself stays as it is.
    GaussianModel same = model;
    ASSERT_TRUE(fit_colors(*rasterizer, model, same, cameras, 2));
    EXPECT_LT(squares(*rasterizer, model, same, cameras), 1e-6);
}

TEST(Simplify, LevelsAreThirdsAndTheSameForEveryNumberOfThreads) {
    const GaussianModel model = random_model({.count = 70'000, .sh_degree = 0, .extent = 20});
    const auto levels = required(levels_of(model));
    ASSERT_EQ(levels.size(), 3u);
    EXPECT_EQ(levels[0].count, 70'000u);
    EXPECT_EQ(levels[1].count, 23'333u);
    EXPECT_EQ(levels[2].count, 7'777u);
    const int before = set_thread_count(1);
    const auto again = levels_of(model);
    set_thread_count(before);
    ASSERT_TRUE(again);
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < 7'777; ++i) ASSERT_EQ(levels[2].at(p, i), (*again)[2].at(p, i));
    EXPECT_EQ(levels_of(GaussianModel(0, 0))->size(), 1u);
}

TEST(Simplify, RowsAtOnePlaceMerge) {
    constexpr std::size_t kRows = 30'000;
    GaussianModel model = random_model({.count = kRows, .sh_degree = 0, .seed = 6});
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 1; i < kRows; ++i) model.at(p, i) = model.at(p, 0);
    const std::vector<double> weights(kRows, 1.0);
    for (const std::size_t n : {15'000, 10, 1}) EXPECT_EQ(merged_to(model, weights, n)->count, n);
}

// What a byte of 255 says of opacity, and a disc without thickness, mean something.
TEST(Simplify, InfiniteLogitsAndFlatOnesAreKept) {
    GaussianModel model = random_model({.count = 60, .sh_degree = 1, .seed = 9});
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < 60; i += 2) model.at(kOpacityLogits, i) = kInfinity;
    for (std::size_t i = 0; i < 60; i += 3) model.at(kLogScales + 2, i) = -kInfinity;
    for (std::size_t i = 0; i < 60; i += 6) model.at(kLogScales + 1, i) = -kInfinity;
    const std::vector<double> weights(60, 1.0);
    EXPECT_EQ(merged_to(model, weights, 60)->count, 60u);
    const auto fewer = required(merged_to(model, weights, 20));
    EXPECT_EQ(fewer.count, 20u);
    for (std::size_t i = 0; i < 20; ++i)
        for (int p = 0; p < fewer.planes(); ++p)
            EXPECT_FALSE(std::isnan(fewer.at(p, i))) << "plane " << p << " of " << i;
}

TEST(Simplify, PoisonAndWhatNobodySeesGoFirst) {
    GaussianModel model = random_model({.count = 50, .sh_degree = 0, .seed = 6});
    std::vector<double> weights(50, 1.0);
    model.at(kQuats, 3) = std::numeric_limits<float>::quiet_NaN();
    model.at(kMeans, 4) = std::numeric_limits<float>::infinity();
    weights[5] = 0;
    const auto kept = required(merged_to(model, weights, 47));
    EXPECT_EQ(kept.count, 47u);
    EXPECT_EQ(kept.at(kMeans, 3), model.at(kMeans, 6)) << "nothing else was touched";
    EXPECT_EQ(merged_to(model, weights, 1)->count, 1u);
    EXPECT_EQ(merged_to(model, weights, 100)->count, 47u);
    EXPECT_FALSE(merged_to(model, weights, 10, [](auto, auto, auto) { return false; }));
}

}  // namespace
}  // namespace gs::test
