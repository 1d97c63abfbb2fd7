// What drawn frames become as the work of a prediction: a count that was asked for is a count, 0
// included, so that a view of nothing is one of several and no hole in their mean.
#include "app/backend/counted_work.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "app/backend/frame_work.h"

namespace gs {
namespace {

RenderResult drawn_with(std::uint64_t isects, std::uint64_t near) {
    RenderResult out{.width = 32, .height = 32};
    out.counters.gaussians = 100;
    out.counters.isects = isects;
    out.counters.evaluated_pairs = near * 32;
    out.counters.warps.batches = isects;
    out.counters.warps.near = out.counters.warps.open = near;
    return out;
}

TEST(CountedWork, AViewOfNothingIsCounted) {
    for (const std::uint64_t isects : {0, 5}) {
        const PredictedWork nothing = predicted_work(drawn_with(isects, 0), 3, true);
        EXPECT_EQ(nothing.frame.near, 0);
        EXPECT_EQ(nothing.frame.evaluated, 0);
        EXPECT_EQ(nothing.frame.batches, static_cast<double>(isects));
    }
    std::vector<PredictedWork> views(7, predicted_work(drawn_with(800, 1600), 3, true));
    views.push_back(predicted_work(drawn_with(0, 0), 3, true));
    const FrameWork mean = mean_work(views).frame;
    EXPECT_DOUBLE_EQ(mean.near, 1400);
    EXPECT_DOUBLE_EQ(mean.evaluated, 1400 * 32);
    EXPECT_DOUBLE_EQ(mean.isects, 700);
}

/// A viewer's frame is drawn without counters: 0 says nothing there.
TEST(CountedWork, WhatWasNotAskedForIsNotACount) {
    const FrameWork work = frame_work(drawn_with(5, 0).counters, 32, 32, 3, true, false);
    EXPECT_FALSE(std::isfinite(work.near));
    EXPECT_FALSE(std::isfinite(work.evaluated));
    EXPECT_EQ(work.isects, 5);
}

}  // namespace
}  // namespace gs
