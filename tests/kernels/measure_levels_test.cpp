// Errors of a region's levels: known values of known pictures, the same at any size and place, and
// what merging does.
#include "renderer/raster/measure_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "renderer/edit/merge.h"
#include "renderer/math/sh.h"
#include "tests/support/random_scene.h"

namespace gs::test {
namespace {

using ::testing::Each;

/// A ball of one colour, opaque in its middle, around `at`.
GaussianModel ball(float red, float green, float blue, Vec3f at = {}, float scale = 1,
                   int degree = 0) {
    GaussianModel out(1, degree);
    const float rgb[] = {red, green, blue}, place[] = {at.x, at.y, at.z};
    for (int c = 0; c < 3; ++c) {
        out.at(kMeans + c, 0) = place[c];
        out.at(kLogScales + c, 0) = std::log(0.3f * scale);
        out.at(kSh0 + c, 0) = (rgb[c] - 0.5f) / math::kSh0Basis;
    }
    out.at(kQuats, 0) = 1;
    out.at(kOpacityLogits, 0) = 4;
    return out;
}
GaussianModel hidden() {
    GaussianModel out = ball(1, 1, 1);
    out.at(kOpacityLogits, 0) = -20;
    return out;
}

std::vector<double> errors(const std::vector<GaussianModel>& levels, Vec3d lo = {-1, -1, -1},
                           Vec3d hi = {1, 1, 1}) {
    return measure_levels(*make_cpu_rasterizer(), levels, lo, hi);
}

TEST(LevelErrors, AreSharesOfWhatTheFinestShows) {
    const GaussianModel white = ball(1, 1, 1), black = ball(0, 0, 0), red = ball(1, 0, 0);
    EXPECT_THAT(errors({white}), Each(0));
    EXPECT_EQ(errors({white, white})[1], 0);
    EXPECT_NEAR(errors({white, black})[1], 0.75, 1e-6) << "of four channels, alpha stays";
    EXPECT_NEAR(errors({red, black})[1], 0.5, 1e-6);
    EXPECT_NEAR(errors({white, hidden()})[1], 1, 1e-6);
    EXPECT_NEAR(errors({black, white})[1], 3, 1e-5) << "there is no most";
    const auto worst = errors({white, hidden(), white});
    EXPECT_NEAR(worst[2], 1, 1e-6) << "coarser is never better";
    EXPECT_EQ(errors({hidden(), white})[1], 1);
    EXPECT_EQ(errors({hidden(), hidden()})[1], 0);
    // Brighter than a screen is no difference.
    EXPECT_EQ(errors({ball(2, 2, 2, {}, 100), ball(3, 3, 3, {}, 100)})[1], 0);
}

TEST(LevelErrors, OfADirectionsColorCount) {
    for (int i = 0; i < 15; ++i) {
        const GaussianModel grey = ball(0.5f, 0.5f, 0.5f, {}, 1, 3);
        GaussianModel turned = grey;
        turned.at(kShRest + 3 * i, 0) = 0.3f;
        EXPECT_GT(errors({grey, turned})[1], 1e-5) << "harmonic " << i + 1;
    }
}

TEST(LevelErrors, AreTheSameAtAnySizeAndPlace) {
    const auto at = [](Vec3f middle, float scale) {
        const double s = static_cast<double>(scale);
        const Vec3d m{middle.x, middle.y, middle.z}, half{s, s, s};
        GaussianModel bent = ball(0.9f, 0.4f, 0.1f, middle, scale);
        bent.at(kLogScales, 0) += 0.5f;
        return errors({ball(0.9f, 0.4f, 0.1f, middle, scale), bent}, m - half, m + half)[1];
    };
    const double expected = at({}, 1);
    EXPECT_GT(expected, 0.05);
    EXPECT_NEAR(at({3, -2, 7}, 1), expected, 1e-4 * expected);
    EXPECT_NEAR(at({}, 1e-4f), expected, 1e-4 * expected);
    EXPECT_NEAR(at({4e5f, 0, 0}, 1e4f), expected, 1e-4 * expected);
}

TEST(LevelErrors, OfABoxWithoutSizeAreZero) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                     kInfinity = std::numeric_limits<double>::infinity();
    const std::vector<GaussianModel> two = {ball(1, 1, 1), hidden()};
    EXPECT_THAT(errors(two, {1, 1, 1}, {1, 1, 1}), Each(0));
    EXPECT_THAT(errors(two, {kNan, 0, 0}, {1, 1, 1}), Each(0));
    EXPECT_THAT(errors(two, {-kInfinity, 0, 0}, {kInfinity, 1, 1}), Each(0));
}

TEST(LevelErrors, GrowAsNeighboursMerge) {
    const GaussianModel scene = random_model({.count = 3000, .sh_degree = 1, .extent = 1});
    const auto levels = levels_of(scene, {}, 100);
    ASSERT_TRUE(levels);
    ASSERT_GE(levels->size(), 4u);
    const auto found = errors(*levels);
    EXPECT_EQ(found, errors(*levels)) << "each time";
    for (std::size_t i = 1; i < found.size(); ++i) EXPECT_GT(found[i], found[i - 1]) << i;
    EXPECT_LT(found.back(), 1);
}

}  // namespace
}  // namespace gs::test
