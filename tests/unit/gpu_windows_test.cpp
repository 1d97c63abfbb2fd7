// When CUPTI may record, with programs whose calls it slows by a known time: the time spent stays
// within the share at every moment, and cheap programs are recorded all the time.
#include <gtest/gtest.h>

#include "base/record/gpu_windows.h"

namespace gs::service {
namespace {

constexpr std::uint64_t kWindowTick = 50'000'000;

/// A program with `launches` a second, on one core that is always busy. CUPTI takes `launch_ns` in
/// each while it is on, which the controller cannot see; it sees two records.
struct Launching {
    GpuWindows windows{1500};
    double launches = 0, launch_ns = 3000, share = 0.01;
    CostSample now{.now_ns = 1'000'000'000};
    bool on = true;
    int switches = 0;
    double spent_ns = 0, on_s = 0, told = 0;
    std::uint64_t switch_ns = 0;

    /// Share of the time that was spent on CUPTI in `seconds`.
    double run(double seconds) {
        const double before = spent_ns;
        for (double t = 0; t < seconds; t += 0.05) {
            now.now_ns += kWindowTick;
            now.process_cpu_ns += kWindowTick;
            if (on) {
                told += 2 * launches * 0.05;
                spent_ns += launch_ns * launches * 0.05;
                on_s += 0.05;
            }
            now.cupti_records = static_cast<std::uint64_t>(told);
            const bool was = on;
            on = windows.update(now, share);
            if (on == was) continue;
            ++switches;
            now.cupti_ns += switch_ns;
            spent_ns += static_cast<double>(switch_ns);
        }
        return (spent_ns - before) / (seconds * 1e9);
    }
};

TEST(GpuWindows, LeaveACheapProgramAlone) {
    Launching program;
    program.launches = 3000;  // 0.9 %
    program.run(120);
    EXPECT_EQ(program.switches, 0);
    EXPECT_EQ(program.windows.duty(), 1);
}

TEST(GpuWindows, WithoutALimitNothingIsHeldBack) {
    Launching program;
    program.launches = 200'000;
    program.share = 0;
    program.run(60);
    EXPECT_EQ(program.switches, 0);
}

class Dear : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Launches, Dear, ::testing::Values(4e3, 2e4, 1e5, 3e5));

TEST_P(Dear, AtNoMomentMoreThanOneWindowAhead) {
    Launching program;
    program.launches = GetParam();
    const double window = program.launch_ns * program.launches * 1.2e-9;  // of a second or so
    for (int i = 1; i <= 600; ++i) {
        program.run(1);
        ASSERT_LE(program.spent_ns * 1e-9, program.share * (i + 1) + window) << i << " s";
    }
    EXPECT_NEAR(program.spent_ns / 600e9, program.share, 0.2 * program.share);
    EXPECT_NEAR(program.on_s / 600, program.windows.duty(), 0.3 * program.windows.duty() + 0.02);
    // A window is a second at least, or it holds too little.
    EXPECT_LE(program.switches, 2 * program.on_s + 2);
}

TEST(GpuWindows, SwitchingIsPaidForToo) {
    Launching program;
    program.launches = 20'000;
    program.switch_ns = 40'000'000;
    program.run(60);
    EXPECT_NEAR(program.run(600), program.share, 0.2 * program.share);
}

TEST(GpuWindows, APriceFoundWrongIsCorrected) {
    Launching program;
    program.launches = 20'000;
    program.launch_ns = 9000;  // a slow processor
    program.run(60);
    EXPECT_GT(program.run(300), 2 * program.share);
    // 20,000 launches of 9 us: the loop takes 18 % longer. One window lies beside something else.
    for (const double slower : {0.18, 5.0, 0.18, 0.17, 0.19}) program.windows.learn(slower);
    EXPECT_NEAR(program.windows.factor(), 3, 0.3);
    program.run(60);
    EXPECT_NEAR(program.run(300), program.share, 0.2 * program.share);
    // Who waits for the GPU loses nothing; recorded more often then, but not as if it were free.
    for (int i = 0; i < 5; ++i) program.windows.learn(-0.01);
    EXPECT_EQ(program.windows.factor(), 0.25);
}

TEST(GpuWindows, TheirShareFallsWhileThePauseLasts) {
    Launching program;
    program.launches = 1e6;  // a second of it is paid for by minutes
    program.run(20);
    EXPECT_NEAR(program.windows.duty(), 1.0 / 20, 0.01);
}

TEST(GpuWindows, ComeBackWhenTheProgramIsCheapAgain) {
    Launching program;
    program.launches = 100'000;
    program.run(100);
    ASSERT_LT(program.windows.duty(), 0.1);
    program.launches = 1000;
    program.run(100);
    EXPECT_EQ(program.windows.duty(), 1);
    program.share = 0;
    program.launches = 1e6;
    program.switches = 0;
    program.run(10);
    EXPECT_EQ(program.switches, 0);
}

}  // namespace
}  // namespace gs::service
