// Two traces side by side: shifts and their intervals, verdicts, matched iterations, ranges of one
// trace, the reports.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "profiler/analysis/compare.h"
#include "tests/unit/trace_maker.h"

namespace gs {
namespace {

using namespace test;

std::vector<double> normal(std::size_t n, double mean, double sigma, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> d(mean, sigma);
    std::vector<double> out(n);
    for (double& v : out) v = d(random);
    return out;
}

TEST(Shift, IntervalHoldsTheTrueDifferenceAsOftenAsItSays) {
    int holds = 0, paired = 0;
    constexpr int kRounds = 400;
    for (unsigned r = 0; r < kRounds; ++r) {
        const auto a = normal(30, 10, 1, 2 * r), b = normal(40, 10.5, 1, 2 * r + 1);
        const Shift s = shift_of(a, b);
        holds += s.low <= 0.5 && 0.5 <= s.high;
        EXPECT_LE(s.low, s.estimate);
        EXPECT_LE(s.estimate, s.high);
        const Shift p = paired_shift(normal(25, 0.5, 1, 7000 + r));
        paired += p.low <= 0.5 && 0.5 <= p.high;
    }
    EXPECT_NEAR(holds / double{kRounds}, 0.95, 0.04);
    EXPECT_NEAR(paired / double{kRounds}, 0.95, 0.04);
    EXPECT_TRUE(std::isnan(shift_of(normal(4, 1, 1, 1), normal(100, 1, 1, 2)).estimate));
}

TEST(Shift, OutliersDoNotMoveIt) {
    auto a = normal(60, 10, 0.1, 1), b = normal(60, 10, 0.1, 2);
    for (std::size_t i = 0; i < 6; ++i) b[i * 9] = 500;  // a checkpoint now and then
    EXPECT_NEAR(shift_of(a, b).estimate, 0, 0.1);
    EXPECT_EQ(verdict_of(shift_of(a, b), 10, 0.03), Verdict::same);
}

TEST(Shift, Verdicts) {
    EXPECT_EQ(verdict_of({0.5, 0.4, 0.6}, 10, 0.03), Verdict::slower);
    EXPECT_EQ(verdict_of({-0.5, -0.6, -0.4}, 10, 0.03), Verdict::faster);
    EXPECT_EQ(verdict_of({0.1, 0.05, 0.2}, 10, 0.03),
              Verdict::same);  // sure, and not worth the name
    EXPECT_EQ(verdict_of({0.5, -0.1, 1.2}, 10, 0.03), Verdict::ambiguous);
    EXPECT_EQ(verdict_of({0.1, -1, 1.2}, 10, 0.03), Verdict::ambiguous);
    EXPECT_STREQ(name_of(Verdict::ambiguous), "unclear");
    EXPECT_EQ(verdict_of({}, 10, 0.03), Verdict::too_few);
    EXPECT_EQ(verdict_of({0.5, 0.4, 0.6}, 0, 0.03), Verdict::too_few);
}

/// Iterations of forward and backward, some noise, the backward pass `slow` times as long.
/// `waited`: how long its threads waited for a CPU, in per cent; below 0 that is not recorded.
TraceStore trainer(double slow, int iterations, long first_number, unsigned seed, double extra = 0,
                   double waited = -1) {
    TraceMaker maker;
    std::mt19937 random(seed);
    double t = 0;
    for (int i = 0; i < iterations; ++i) {
        const double noise = static_cast<double>(random() % 40);
        const double forward = 1000 + noise, backward = slow * 2000 + noise;
        maker.range(1, "blend", t + 10, t + 500, 2);
        maker.range(1, "forward", t, t + forward, 1);
        maker.range(1, "backward", t + forward, t + forward + backward, 1);
        if (extra > 0)
            maker.range(1, "log", t + forward + backward, t + forward + backward + extra, 1);
        const double end = t + forward + backward + extra;
        maker.range(1, "iteration", t, end, 0, first_number + i);
        t = end + 50;
    }
    if (waited >= 0) {
        maker.counter("machine: threads waited %", t, waited);
        maker.counter("machine: load average", t, 4.2);
        maker.counter("machine: CPUs", t, 2);
    }
    TraceStore store = maker.store();
    return store;
}

const ComparedRow* row(const Comparison& c, ComparedRow::Kind kind, std::string_view name) {
    for (const ComparedRow& r : c.rows)
        if (r.kind == kind && r.name == name) return &r;
    return nullptr;
}

TEST(Compare, FindsTheStageThatGotSlower) {
    const TraceStore a = trainer(1, 40, 0, 1), b = trainer(1.2, 50, 1000, 2);
    const Comparison c = compare({.store = &a, .name = "a"}, {.store = &b, .name = "b"});
    ASSERT_GE(c.rows.size(), 4u);
    EXPECT_EQ(c.rows[0].kind, ComparedRow::Kind::iteration);
    EXPECT_EQ(c.rows[0].verdict, Verdict::slower);
    EXPECT_NEAR(c.rows[0].difference_ms, 0.4, 0.02);
    EXPECT_LE(c.rows[0].low_ms, 0.4);
    EXPECT_GE(c.rows[0].high_ms, 0.4 - 0.01);
    EXPECT_EQ(c.rows[0].a.count, 37u);  // warm-up left out
    EXPECT_FALSE(c.rows[0].matched);
    const ComparedRow* backward = row(c, ComparedRow::Kind::range, "backward");
    ASSERT_NE(backward, nullptr);
    EXPECT_EQ(backward->verdict, Verdict::slower);
    EXPECT_NEAR(backward->relative, 0.2, 0.01);
    EXPECT_EQ(row(c, ComparedRow::Kind::range, "forward")->verdict, Verdict::same);
    EXPECT_EQ(row(c, ComparedRow::Kind::cpu_stage, "blend")->verdict, Verdict::same);
    EXPECT_EQ(row(c, ComparedRow::Kind::gpu_total, "GPU idle"),
              nullptr);  // no GPU: no row, not a zero
}

TEST(Compare, WhatWaitingMayExplainIsNotDecided) {
    const TraceStore a = trainer(1, 40, 0, 1, 0, 2), busy = trainer(1.2, 50, 1000, 2, 0, 34),
                     quiet = trainer(1.2, 50, 1000, 2, 0, 3), slow = trainer(3, 50, 1000, 2, 0, 34);
    const Comparison c = compare({.store = &a}, {.store = &busy});
    EXPECT_EQ(c.rows[0].verdict, Verdict::not_quiet);
    EXPECT_NEAR(c.rows[0].difference_ms, 0.4, 0.02);
    EXPECT_LT(c.rows[0].low_ms, 0.4 - 0.34 * 3);
    EXPECT_NEAR(c.machine_b.waited, 0.34, 1e-9);
    const std::string said = comparison_text(c);
    EXPECT_NE(said.find("Inconclusive: the machine was busy"), std::string::npos) << said;
    EXPECT_NE(said.find("B: threads waited 34 % of the time for a CPU; load 4.2 on 2 CPUs"),
              std::string::npos)
        << said;
    const auto json = nlohmann::json::parse(comparison_json(c));
    EXPECT_EQ(json["rows"][0]["verdict"], "not quiet");
    EXPECT_NEAR(json["b"]["machine"]["threads_waited"].get<double>(), 0.34, 1e-9);
    // A difference that waiting cannot explain stays one, and so does one of a quiet machine.
    EXPECT_EQ(compare({.store = &a}, {.store = &slow}).rows[0].verdict, Verdict::slower);
    const Comparison sure = compare({.store = &a}, {.store = &quiet});
    EXPECT_EQ(sure.rows[0].verdict, Verdict::slower);
    EXPECT_EQ(quiet_text(sure), "");
}

TEST(Compare, MatchesIterationsByNumber) {
    const TraceStore a = trainer(1, 30, 100, 3), b = trainer(1, 30, 110, 3, 90);
    const Comparison c = compare({.store = &a}, {.store = &b});
    ASSERT_EQ(c.matched.size(), 17u);  // 113 to 129
    EXPECT_EQ(c.matched.front().number, 113u);
    EXPECT_TRUE(c.rows[0].matched);
    EXPECT_EQ(row(c, ComparedRow::Kind::range, "log")->a.median_ms, 0);
    EXPECT_NEAR(row(c, ComparedRow::Kind::range, "log")->difference_ms, 0.09, 1e-6);
}

TEST(Compare, TwoRangesOfOneTrace) {
    TraceMaker maker;
    for (int i = 0; i < 40; ++i)
        maker.range(1, "iteration", 2000 * i, 2000 * i + (i < 20 ? 1000 : 1500) + i % 5, 0, i);
    TraceStore store = maker.store();
    const std::int64_t middle = TraceMaker::ns(2000 * 20 - 10);
    const Comparison c = compare({.store = &store, .end_ns = middle},
                                 {.store = &store, .begin_ns = middle}, {.warm_up = 0});
    ASSERT_FALSE(c.rows.empty());
    EXPECT_EQ(c.rows[0].a.count, 20u);
    EXPECT_EQ(c.rows[0].b.count, 20u);
    EXPECT_NEAR(c.rows[0].difference_ms, 0.5, 0.01);
    EXPECT_EQ(c.rows[0].verdict, Verdict::slower);
    EXPECT_TRUE(c.matched.empty());
}

TEST(Compare, ReportsSayWhatIsMissing) {
    const TraceStore a = trainer(1, 20, 0, 1), nothing;
    const Comparison none = compare({.store = &a, .name = "a"}, {.store = &nothing, .name = "b"});
    EXPECT_TRUE(none.rows.empty());
    EXPECT_NE(comparison_text(none).find("nothing to compare"), std::string::npos);
    const TraceStore few = trainer(1, 3, 0, 1);
    const Comparison c = compare({.store = &a, .name = "a"}, {.store = &few, .name = "b"});
    EXPECT_EQ(c.rows[0].verdict, Verdict::too_few);
    const auto json = nlohmann::json::parse(comparison_json(c));
    EXPECT_TRUE(json["rows"][0]["difference_ms"].is_null());
    EXPECT_EQ(json["rows"][0]["verdict"], "too few");
    EXPECT_NE(comparison_text(c).find("too few"), std::string::npos);
}

}  // namespace
}  // namespace gs
