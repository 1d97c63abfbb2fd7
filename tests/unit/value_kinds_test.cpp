// The numbers that Gaussians are coloured by, against values worked out by hand.
#include "app/session/parts/value_kinds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "renderer/math/sh.h"

namespace gs {
namespace {

/// 20 rows, so that a block is not full; row i has what its number says.
GaussianModel model() {
    GaussianModel m(20, 1);
    for (std::size_t i = 0; i < m.count; ++i) {
        const auto x = static_cast<float>(i);
        m.at(kOpacityLogits, i) = x - 10;
        m.at(kLogScales, i) = std::log(0.1f);
        m.at(kLogScales + 1, i) = std::log(0.1f * (1 + x));
        m.at(kLogScales + 2, i) = std::log(0.2f * (1 + x));
        m.at(kShRest, i) = 3 * x;
        m.at(kShRest + 1, i) = 4 * x;
    }
    return m;
}

TEST(ValueKinds, of_the_model) {
    const GaussianModel m = model();
    Buffer<float> out;
    const auto values = [&](GaussianValue value) {
        values_of_model(value, m, out);
        EXPECT_EQ(out.size(), m.count);
        return out.span();
    };
    EXPECT_NEAR(values(GaussianValue::opacity)[10], 0.5, 1e-6);
    EXPECT_NEAR(values(GaussianValue::size)[4], 1.0, 1e-5);
    EXPECT_NEAR(values(GaussianValue::anisotropy)[4], 10.0, 1e-4);
    EXPECT_NEAR(values(GaussianValue::sh_energy)[19], 95.0, 1e-3);
    values_of_model(GaussianValue::age, m, out);
    EXPECT_TRUE(out.empty()) << "a model does not know";
}

TEST(ValueKinds, of_a_run) {
    const GaussianModel m = model();
    RunArrays run = new_run(m);
    AdamState& adam = run.adam;
    adam.steps = 100;
    // Row 17 is lane 1 of the second block: v of planes 0 and 2 are 3 and 4.
    float* block = adam.moments.data() + static_cast<std::size_t>(m.planes()) * 2 * kBlock;
    block[1 * kBlock + 1] = 3;
    block[5 * kBlock + 1] = 4;
    DensityStatistics& seen = run.statistics;
    seen.gradient_sum[3] = 6;
    seen.views[3] = 4;
    RowIdentity& identity = run.identity;
    identity.tags[2] = identity.book.give(1, 70) | kLockedTag;
    Buffer<float> out;
    values_of_run(GaussianValue::second_moment, run, out);
    EXPECT_EQ(out[17], 5.0f);
    EXPECT_EQ(out[16], 0.0f);
    values_of_run(GaussianValue::density, run, out);
    EXPECT_EQ(out[3], 1.5f);
    EXPECT_TRUE(std::isnan(out[4])) << "never seen: no mean";
    values_of_run(GaussianValue::views, run, out);
    EXPECT_EQ(out[3], 4.0f);
    values_of_run(GaussianValue::age, run, out);
    EXPECT_EQ(out[0], 100.0f);
    EXPECT_EQ(out[2], 30.0f) << "locked or not";
    values_of_run(GaussianValue::filter, run, out);
    EXPECT_TRUE(out.empty()) << "this run has no filter";
    run.filter.resize_discard(20);
    run.filter.fill(0.25f);
    values_of_run(GaussianValue::filter, run, out);
    EXPECT_EQ(out.size(), m.count);
    EXPECT_EQ(out[19], 0.25f);
    values_of_run(GaussianValue::opacity, run, out);
    EXPECT_TRUE(out.empty());
}

TEST(ValueKinds, of_levels) {
    const LevelRun runs[] = {{2, 3}, {4, kEveryLevel}, {5, 0}};
    Buffer<float> out;
    values_of_levels(runs, 6, out);
    EXPECT_EQ(out[0], 3.0f);
    EXPECT_EQ(out[1], 3.0f);
    EXPECT_TRUE(std::isnan(out[2]) && std::isnan(out[3]) && std::isnan(out[5]));
    EXPECT_EQ(out[4], 0.0f);
    values_of_levels(runs, 1, out);  // fewer rows than the levels say
    EXPECT_EQ(out.size(), 1u);
}

TEST(ValueKinds, of_gradients) {
    Buffer<float> norms(20), errors(20);
    norms.fill(0);
    errors.fill(0);
    BlockGradients g{};
    g.block = 1;
    g.mask = 0b10010;  // rows 17 and 20, which is no row
    for (const int lane : {1, 4}) {
        g.planes[0][lane] = 2;
        g.planes[kSh0][lane] = 3 * math::kSh0Basis;
        g.planes[kSh0 + 2][lane] = 6 * math::kSh0Basis;
    }
    GradientNorms(norms).take(g);
    ErrorShares(errors).take(g);
    EXPECT_NEAR(norms[17], std::sqrt(4 + 45 * math::kSh0Basis * math::kSh0Basis), 1e-5);
    EXPECT_NEAR(errors[17], 3, 1e-5);
    for (std::size_t row = 0; row < 17; ++row) EXPECT_EQ(norms[row] + errors[row], 0.0f);
}

}  // namespace
}  // namespace gs
