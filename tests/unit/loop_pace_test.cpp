// How much slower a loop runs while CUPTI records, from the ranges in this process's own ring.
#include <gtest/gtest.h>

#include "base/record/loop_pace.h"
#include "base/record/ring.h"

namespace gs::service {
namespace {

/// A thread whose ranges are as long as a test says; a stretch is what passes between two switches.
struct Loop {
    LoopPace pace;
    StringId step = register_string("step"), inner = register_string("inner");
    std::uint64_t last_ns = 0;

    void settle(bool on) {
        for (int i = 0; i < 8; ++i) look(on);
    }
    void look(bool on) {
        if (const auto slower = pace.look(on)) found.push_back(*slower);
    }
    /// `count` ranges, `ticks` from begin to begin, and more of others inside.
    void go_round(bool on, int count, double ticks) {
        settle(on);
        std::uint64_t at = read_ticks() + 1000;
        for (int i = 0; i < count; ++i) {
            const double uneven = i % 10 == 9 ? 5 : i % 3 == 1 ? 1.02 : 0.99;
            detail::ThreadLane& t = detail::thread_lane;
            detail::write_record_at(t, 1, abi::RecordKind::span, at + 10, at + 20, 0, inner, 0);
            detail::write_record_at(t, 0, abi::RecordKind::span, at, at + 100, 0, step, 0);
            at += static_cast<std::uint64_t>(ticks * uneven);
            if (i % 50 == 49) look(on);
        }
        look(on);
    }
    std::vector<double> found;
};

class LoopPaceTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(start_recording());
        ASSERT_TRUE(detail::take_lane(detail::thread_lane));
    }
    Loop loop;
};

TEST_F(LoopPaceTest, TellsHowMuchSlowerAWindowWas) {
    // A training that takes longer and longer: 2 % from stretch to stretch.
    double ticks = 100'000;
    for (int i = 0; i < 9; ++i) {
        const bool on = i % 2 == 1;
        loop.go_round(on, 120, ticks * (on ? 1.05 : 1));
        ticks *= 1.02;
    }
    loop.settle(true);
    ASSERT_EQ(loop.found.size(), 4u);
    for (const double slower : loop.found) EXPECT_NEAR(slower, 0.05, 0.005);
}

TEST_F(LoopPaceTest, SaysNothingOfTooFewIterationsOrOfOneSideOnly) {
    loop.go_round(false, 200, 100'000);
    loop.go_round(true, 10, 100'000);
    loop.go_round(false, 200, 100'000);
    loop.go_round(true, 200, 100'000);
    loop.settle(false);
    EXPECT_TRUE(loop.found.empty());
}

TEST_F(LoopPaceTest, OfSeveralLoopsTheOneThatTakesTheTime) {
    const StringId often = register_string("heartbeat");
    for (int i = 0; i < 3; ++i) {
        const bool on = i == 1;
        loop.settle(on);
        const std::uint64_t begin = read_ticks() + 1000;
        std::uint64_t at = begin;
        for (int k = 0; k < 100; ++k) {  // short, and not slower at all
            detail::write_record_at(detail::thread_lane, 0, abi::RecordKind::span, at, at + 1, 0,
                                    often, 0);
            at += 50;
        }
        loop.go_round(on, 100, on ? 220'000 : 200'000);
    }
    loop.settle(true);
    ASSERT_EQ(loop.found.size(), 1u);
    EXPECT_NEAR(loop.found[0], 0.1, 0.01);
}

}  // namespace
}  // namespace gs::service
