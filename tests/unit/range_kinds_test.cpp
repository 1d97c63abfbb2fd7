// What the ranges of any training program are for, with the own times of each kind.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "profiler/analysis/breakdown.h"
#include "tests/unit/trace_maker.h"

namespace gs {
namespace {

using namespace test;

/// Own times [ms] by kind of the second of three iterations, that holds `ranges`.
using NamedRange = std::tuple<const char*, double, double, int>;
std::map<std::string, double> kinds_of(const std::vector<NamedRange>& ranges) {
    TraceMaker maker;
    for (int i = 0; i < 3; ++i) {
        for (const auto& [name, begin, end, depth] : ranges)
            maker.range(1, name, 1000 * i + begin, 1000 * i + end, depth);
        maker.range(1, "step", 1000 * i, 1000 * i + 900, 0);
    }
    TraceStore store = maker.store();
    std::map<std::string, double> out;
    const std::vector<Breakdown> all = break_down(store, find_iterations(store, 0));
    for (const KindTime& kind : all.at(1).range_kinds)
        out[kind.kind] = std::round(1e4 * kind.ms) * 1e-4;
    return out;
}

TEST(RangeKinds, InnerRangesAreOfWhatIsAround) {
    EXPECT_EQ(kinds_of({{"next batch", 0, 100, 1},
                        {"layer1", 120, 150, 2},
                        {"forward", 100, 300, 1},
                        {"ncclAllReduce", 450, 500, 2},
                        {"loss.backward()", 300, 500, 1},
                        {"Optimizer.step#SGD.step", 500, 600, 1},
                        {"exchange 7", 600, 680, 1}}),
              (std::map<std::string, double>{{"backward", 0.15},
                                             {"communication", 0.05},
                                             {"data", 0.1},
                                             {"exchange", 0.08},
                                             {"forward", 0.2},
                                             {"optimizer", 0.1},
                                             {"other", 0.22}}));
}

TEST(RangeKinds, WhatNoRangeCoversIsOther) {
    TraceMaker maker;
    for (int i = 0; i < 9; ++i) maker.range(1, "forward", 1000 * i, 1000 * i + 300);
    TraceStore store = maker.store();
    // From begin to begin: inferred iterations have no range of their own.
    const Breakdown part = break_down(store, 0, TraceMaker::ns(0), TraceMaker::ns(1000), 0);
    ASSERT_EQ(part.range_kinds.size(), 2u);
    EXPECT_NEAR(part.range_kinds[0].ms, 0.3, 1e-9);
    EXPECT_EQ(part.range_kinds[1].kind, "other");
    EXPECT_NEAR(part.range_kinds[1].ms, 0.7, 1e-9);
}

TEST(RangeKinds, OneRangeWithAStagesNameIsNotGaussianSplatting) {
    const auto splats = [](const std::vector<const char*>& names) {
        TraceMaker maker;
        double t = 0;
        for (const char* name : names) maker.range(1, name, t, t + 100), t += 100;
        TraceStore store = maker.store();
        return break_down(store, 0, TraceMaker::ns(0), TraceMaker::ns(t), 0).host_splats;
    };
    EXPECT_FALSE(splats({"project", "solve", "project"}));
    EXPECT_TRUE(splats({"project", "sort", "blend"}));
}

TEST(RangeKinds, CategoriesSayMoreThanNames) {
    TraceMaker maker;
    maker.range(1, "Net", 0, 400, 0);
    maker.batch.spans.back().category = 3;
    maker.batch.names.push_back({.name = 90, .text = "forward", .domain = {}, .category = 3});
    TraceStore store = maker.store();
    const Breakdown part = break_down(store, 0, TraceMaker::ns(0), TraceMaker::ns(1000), 0);
    ASSERT_FALSE(part.range_kinds.empty());
    EXPECT_EQ(part.range_kinds[0].kind, "forward");
    EXPECT_FALSE(part.range_kinds[0].is_named);
}

TEST(RangeKinds, EvaluationAndCheckpointsHoldAllInThem) {
    EXPECT_EQ(
        kinds_of({{"forward", 10, 300, 2}, {"Evaluate", 0, 400, 1}, {"save", 400, 500, 1}}),
        (std::map<std::string, double>{{"checkpoint", 0.1}, {"evaluation", 0.4}, {"other", 0.4}}));
}

}  // namespace
}  // namespace gs
