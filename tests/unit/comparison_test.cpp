#include "base/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace gs {
namespace {

double apart(const std::vector<float>& truth, const std::vector<float>& got, Measure measure) {
    return compare({"numbers", 0, measure}, truth, got).figure();
}

TEST(Comparison, ANumberThatIsNoneIsFarFromAll) {
    const float nan = NAN, infinity = HUGE_VALF;
    for (const Measure measure : {Measure::largest, Measure::of_largest, Measure::l2}) {
        EXPECT_EQ(apart({1, 3, 2}, {1, nan, 2}, measure), HUGE_VAL);
        EXPECT_EQ(apart({1, nan, 2}, {1, 3, 2}, measure), HUGE_VAL);
        EXPECT_EQ(apart({1, infinity, 2}, {1, 3, 2}, measure), HUGE_VAL);
        EXPECT_EQ(apart({1, nan}, {1, nan}, measure), HUGE_VAL);
        ComparisonRow repeated{"numbers", 0, measure};
        repeated.nan_is_nan = true;
        EXPECT_EQ(
            compare(repeated, std::vector{nan, infinity}, std::vector{nan, infinity}).figure(), 0);
        EXPECT_EQ(apart({1, 2}, {1}, measure), HUGE_VAL) << "other lengths";
        EXPECT_EQ(apart({}, {}, measure), 0);
    }
    ComparisonRow row{"a NaN that comes first stays", 1};
    row.add(1, NAN);
    row.add(1, 3);
    EXPECT_EQ(row.figure(), HUGE_VAL);
    EXPECT_FALSE(row.passed());
}

TEST(Comparison, EachMeasure) {
    const std::vector<float> truth{3, 4, INFINITY}, got{3, 5, INFINITY};
    EXPECT_EQ(apart(truth, got, Measure::largest), 1);
    EXPECT_EQ(apart(truth, got, Measure::of_largest), 0.25);
    EXPECT_EQ(apart(truth, got, Measure::l2), 0.2);
    EXPECT_EQ(apart(truth, got, Measure::bits), 1);
    EXPECT_EQ(apart({0.0f, 1}, {-0.0f, 1}, Measure::bits), 1) << "zeros of two signs";
    EXPECT_EQ(apart({0.0f, 1}, {-0.0f, 1}, Measure::largest), 0);
    EXPECT_EQ(apart({0, 0}, {0, 1e-9f}, Measure::l2), HUGE_VAL) << "of nothing";
    const ComparisonRow row = compare({"", 0, Measure::of_largest}, truth, got);
    EXPECT_EQ(row.values, 3u);
    EXPECT_DOUBLE_EQ(row.mean(), 0.25 / 3);
}

TEST(Comparison, NamesTheWorstAndTheFirst) {
    ComparisonRow row{"colour", 1, Measure::largest, "px", "picture"};
    row.add_all(std::vector{1.0, 2.0, 3.0}, std::vector{1.0, 2.5, 5.0},
                [](std::size_t i) { return "place " + std::to_string(i); });
    EXPECT_EQ(row.where, "place 2");
    EXPECT_EQ(row.first, "place 1: 2 / 2.5");
    const ComparisonRow near{"opacity", 1}, count{"count", 0};
    const std::vector rows{near, row, count};
    EXPECT_EQ(comparison_text(rows), "opacity 0, colour 2 at place 2 (limit 1), count 0 (limit 0)");
    EXPECT_FALSE(all_passed(rows));
    const auto truth = table_json(comparison_table(rows, Against::truth));
    EXPECT_EQ(truth[1]["verdict"], "differs");
    EXPECT_EQ(truth[1]["worst"], 2);
    EXPECT_EQ(truth[1]["where"], "place 2");
    EXPECT_EQ(truth[0]["verdict"], "agrees");
    const auto itself = table_json(comparison_table(rows, Against::itself));
    EXPECT_EQ(itself[1]["first"], "place 1: 2 / 2.5");
    EXPECT_EQ(itself[0]["verdict"], "same bits");
    EXPECT_TRUE(itself[0]["first"].is_null());
}

}  // namespace
}  // namespace gs
