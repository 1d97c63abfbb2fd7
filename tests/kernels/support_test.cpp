// The helpers that prove other things are proven first: readers, comparisons, dual numbers.
#include <gtest/gtest.h>

#include "tests/support/bad_data.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/dual.h"
#include "tests/support/npz.h"
#include "tests/support/random_scene.h"
#include "tests/support/safetensors.h"

namespace gs::test {
namespace {

TEST(Support, NpzHasShapesTypesAndText) {
    GS_NEED_DATA("reference/render/dense_overlap.npz");
    const Arrays npz = load_npz(data_path("reference/render/dense_overlap.npz"));
    const std::size_t n = npz["in_means"].dim(0);
    EXPECT_EQ(npz["in_means"].size(), 3 * n);
    EXPECT_EQ(npz["in_camera_model"].texts.at(0), "pinhole");
    EXPECT_EQ(npz["out_n_contrib"].dim(2), static_cast<std::size_t>(npz["in_width"].scalar()));
    // Stored in Fortran order in the known file: projected means must match depth order of axes.
    EXPECT_EQ(npz["out_means2d"].slice(0).size(), 2 * n);
}

TEST(Support, SafetensorsHasShapes) {
    GS_NEED_DATA("reference/brush/tiny_case.safetensors");
    const Arrays file = load_safetensors(data_path("reference/brush/tiny_case.safetensors"));
    EXPECT_EQ(file["means"].size(), 3 * file["opacities"].size());
    EXPECT_EQ(file["out_img"].dim(2), 4u);
}

// A file that lacks an array fails the test that asks for it, and no other.
TEST(Support, WhatAFileLacksIsThrown) {
    const Arrays file("some.npz", {{"a", Array{{2}, {1, 2}, {}}}});
    EXPECT_EQ(file["a"].size(), 2u);
    EXPECT_THROW(file["out_v_depths"], BadData);
    EXPECT_THROW(file["a"].scalar(), BadData);
    EXPECT_THROW(file["a"].dim(1), BadData);
    EXPECT_THROW(file["a"].slice(2), BadData);
}

TEST(Support, RelativeL2AndMasks) {
    const std::vector<double> a{1, 2, 3, 4}, b{1, 2, 3, 5};
    EXPECT_NEAR(relative_l2(a, b), 1 / std::sqrt(39.0), 1e-15);
    EXPECT_EQ(max_abs_difference(a, b), 1);
    EXPECT_EQ(max_abs_difference(a, b, std::vector<int>{0, 1}), 0);
    EXPECT_TRUE(std::isinf(max_abs_difference(std::vector<double>{NAN}, std::vector<double>{0})));
    EXPECT_TRUE(std::isinf(relative_l2(std::vector<double>{NAN}, std::vector<double>{0})));
    EXPECT_EQ(silent_zero_share(std::vector<double>{0, 1}, std::vector<double>{1, 1}, 0.5), 0.5);
}

TEST(Support, BandForgivesFlipsOnlyInsideTheBand) {
    std::vector<double> a(1000, 0.5), b = a;
    std::vector<int> band(1000, 0);
    band[7] = 1;
    a[7] += 0.004;
    EXPECT_EQ(violation(compare_with_band(a, b, band, 2e-5), {}), "");
    a[8] += 0.004;
    EXPECT_NE(violation(compare_with_band(a, b, band, 2e-5), {}), "");
    a[8] = b[8];
    a[7] += 0.5;
    EXPECT_NE(violation(compare_with_band(a, b, band, 2e-5), {}), "");
    a[7] = NAN;
    EXPECT_NE(violation(compare_with_band(a, b, band, 2e-5), {}), "");
    const std::vector<int> everything(1000, 1);
    EXPECT_NE(violation(compare_with_band(b, b, everything, 2e-5), {}), "");
}

TEST(Support, DualAgreesWithDifferences) {
    const auto f = [](auto x) {
        using std::exp, std::exp2, std::log, std::log2, std::sqrt, std::abs;
        return sqrt(x) * exp(-x) / (x + 1.0) + log(x) * exp2(x) - log2(x) * abs(x - 2.0);
    };
    for (const double x : {0.3, 1.1, 2.7}) {
        const double h = 1e-6;
        EXPECT_NEAR(f(Dual(x, 1)).slope, (f(x + h) - f(x - h)) / (2 * h), 1e-7);
        EXPECT_EQ(f(Dual(x, 1)).value, f(x));
    }
    EXPECT_EQ(min(Dual(1, 5), Dual(2, 7)).slope, 5);
    EXPECT_EQ(max(Dual(1, 5), Dual(2, 7)).slope, 7);
    EXPECT_EQ(select(false, Dual(1, 5), Dual(2, 7)).slope, 7);
}

TEST(Support, RandomScenesRepeat) {
    const GaussianModel a = random_model({}), b = random_model({});
    EXPECT_EQ(max_abs_difference(a.values, b.values), 0);
    EXPECT_TRUE(random_camera(1, 0, 64, 48).valid());
}

}  // namespace
}  // namespace gs::test
