// Reasons for a tint: which of them has priority, and when the tint is computed again.
#include "app/session/shown_tint.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "renderer/maps/colormap.h"

namespace gs {
namespace {

std::uint32_t word_at(Colormap map, double t) {
    const Rgb8 c = colormap_color(map, t);
    return GaussianTint::word(c.r, c.g, c.b);
}

TEST(ShownTint, is_none_without_a_reason) {
    ShownTint tint;
    EXPECT_EQ(tint.tint(), nullptr);
    tint.set_flags(std::vector<std::uint8_t>{0, 0, ShownTint::kLocked});
    EXPECT_EQ(tint.tint(), nullptr) << "locked Gaussians look as they are";
    tint.set_values({});
    EXPECT_EQ(tint.tint(), nullptr);
}

TEST(ShownTint, the_first_reason_counts) {
    ShownTint tint;
    const std::vector<float> values{0, 0.5f, 1, 1, 0.5f};
    tint.set_values({values, 0, 1, false, true, Colormap::viridis});
    const std::vector<std::uint8_t> flags{0, ShownTint::kSelected, ShownTint::kHidden,
                                          ShownTint::kHidden | ShownTint::kSelected,
                                          ShownTint::kLocked};
    tint.set_flags(flags);
    const auto made = tint.tint();
    ASSERT_TRUE(made);
    ASSERT_EQ(made->words.size(), 5u);
    EXPECT_EQ(made->words[0], word_at(Colormap::viridis, 0));
    EXPECT_NE(made->words[1], made->words[4]) << "selected before its value";
    EXPECT_FALSE(GaussianTint::hidden(made->words[1]));
    EXPECT_TRUE(GaussianTint::hidden(made->words[2]));
    EXPECT_TRUE(GaussianTint::hidden(made->words[3])) << "hidden before selected";
    EXPECT_EQ(made->words[4], word_at(Colormap::viridis, 128.0 / 255));
    EXPECT_EQ(tint.tint(), made) << "nothing has changed";
    tint.set_flags({});
    EXPECT_NE(tint.tint(), made);
    EXPECT_NE(tint.tint()->serial, made->serial);
}

TEST(ShownTint, a_filter_hides_what_is_outside_of_the_range) {
    ShownTint tint;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> values{-1, 2, 3, 4, 5, nan};
    ShownValues shown{values, 2, 4, false, false, Colormap::gray};
    tint.set_values(shown);
    auto made = tint.tint();
    EXPECT_EQ(made->words[0], word_at(Colormap::gray, 0)) << "below the range: its end";
    EXPECT_EQ(made->words[4], word_at(Colormap::gray, 1));
    EXPECT_EQ(made->words[5], GaussianTint::kOwn) << "no value";
    shown.filter = true;
    tint.set_values(shown);
    made = tint.tint();
    for (const std::size_t row : {0u, 4u, 5u}) EXPECT_TRUE(GaussianTint::hidden(made->words[row]));
    for (const std::size_t row : {1u, 2u, 3u}) EXPECT_FALSE(GaussianTint::hidden(made->words[row]));
    // Selected does not show what the filter hides.
    tint.set_flags(std::vector<std::uint8_t>{ShownTint::kSelected});
    EXPECT_TRUE(GaussianTint::hidden(tint.tint()->words[0]));
}

TEST(ShownTint, logarithmic_colours) {
    ShownTint tint;
    const std::vector<float> values{1, 10, 100, 0, -5};
    tint.set_values({values, 1, 100, true, false, Colormap::gray});
    const auto made = tint.tint();
    EXPECT_EQ(made->words[0], word_at(Colormap::gray, 0));
    EXPECT_EQ(made->words[1], word_at(Colormap::gray, 128.0 / 255));
    EXPECT_EQ(made->words[2], word_at(Colormap::gray, 1));
    EXPECT_EQ(made->words[3], word_at(Colormap::gray, 0)) << "zero has no logarithm";
    EXPECT_EQ(made->words[4], word_at(Colormap::gray, 0));
    // An empty range is no division by zero.
    tint.set_values({values, 3, 3, false, false, Colormap::gray});
    EXPECT_EQ(tint.tint()->words[2], word_at(Colormap::gray, 0));
}

TEST(ShownTint, levels_are_told_apart_by_colour) {
    GaussianModel model(6, 1);
    for (std::size_t i = 0; i < model.count; ++i) model.at(kSh0 + 1, i) = 0.5f;
    const LevelRun runs[] = {{2, 0}, {4, 1}, {5, kEveryLevel}};
    ShownTint tint;
    tint.set_levels(model, runs);
    const auto made = tint.tint();
    ASSERT_TRUE(made);
    const auto& w = made->words;
    EXPECT_EQ(w[0], w[1]);
    EXPECT_NE(w[1], w[2]);
    EXPECT_EQ(w[2], w[3]);
    EXPECT_GT(w[0] >> 16 & 255u, w[0] & 255u) << "blue";
    EXPECT_GT(w[2] & 255u, w[2] >> 16 & 255u) << "orange";
    EXPECT_EQ(w[4], GaussianTint::kOwn) << "of every level: as it was";
    EXPECT_EQ(w[5], GaussianTint::kOwn);
    tint.set_levels(model, runs);
    EXPECT_EQ(tint.tint(), made) << "the same model";
    tint.set_levels(model, {});
    EXPECT_EQ(tint.tint(), nullptr);
}

TEST(ShownTint, other_rows_have_no_reasons) {
    ShownTint tint;
    tint.set_flags(std::vector<std::uint8_t>(3, ShownTint::kHidden));
    const std::uint64_t before = tint.serial();
    tint.forget();
    EXPECT_NE(tint.serial(), before);
    EXPECT_EQ(tint.tint(), nullptr);
}

}  // namespace
}  // namespace gs
