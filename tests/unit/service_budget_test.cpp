// The budget controller against programs whose cost is known: what recording costs in the long run
// stays within the budget, and it does not hold back where there is no need.
#include <gtest/gtest.h>

#include "base/record/budget.h"
#include "base/record/scope.h"

namespace gs::service {
namespace {

constexpr std::uint64_t kTick = 50'000'000;
constexpr double kRecordNs = 40;

/// A program that would record `rate` records a second, on one core that is always busy.
struct Program {
    BudgetController controller{kRecordNs};
    double rate = 0;
    double ring = 0;  // records written
    CostSample now{.now_ns = 1'000'000'000};
    Gate gate = Gate::open;
    std::uint64_t switches = 0;

    /// Lets `seconds` pass; the share of time spent on recording.
    double run(double seconds) {
        const CostSample begin = now;
        for (double t = 0; t < seconds; t += 0.05) {
            // Between outermost ranges a program stops at once: iterations are short against a
            // tick.
            if (gate == Gate::open) ring += rate * 0.05;
            now.now_ns += kTick;
            now.process_cpu_ns += kTick;
            now.records = static_cast<std::uint64_t>(ring);
            const Gate before = gate;
            gate = controller.update(now);
            switches += gate != before;
        }
        return kRecordNs * static_cast<double>(now.records - begin.records) /
               static_cast<double>(now.now_ns - begin.now_ns);
    }
};

TEST(Budget, LeavesACheapProgramAlone) {
    Program program;
    program.rate = 100'000;  // 0.4 %
    program.controller.set_budget(10'000);
    program.run(120);
    EXPECT_EQ(program.switches, 0u);
    EXPECT_EQ(program.controller.duty_ppm(), 1'000'000u);
    EXPECT_EQ(program.now.records, static_cast<std::uint64_t>(program.ring));
}

TEST(Budget, WithoutALimitNothingIsHeldBack) {
    Program program;
    program.rate = 20'000'000;
    program.controller.set_budget(0);
    program.run(60);
    EXPECT_EQ(program.switches, 0u);
}

class Expensive : public ::testing::TestWithParam<double> {};

TEST_P(Expensive, ConvergesToTheBudgetAndStaysThere) {
    Program program;
    program.rate = GetParam();
    program.controller.set_budget(10'000);
    program.run(200);  // eight steps of sqrt(2) for each factor of 16
    const double later = program.run(400);
    EXPECT_LE(later, 0.01 * 1.3);
    EXPECT_GE(later, 0.01 * 0.5);
    // The duty cycle does the work in the end, not the bucket: what is on is on for at least half a
    // second.
    const std::uint64_t before = program.switches;
    program.run(100);
    EXPECT_LE(program.switches - before, 300u);
}
INSTANTIATE_TEST_SUITE_P(Rates, Expensive, ::testing::Values(400'000.0, 1e6, 4e6, 16e6));

TEST(Budget, ABurstCostsNoMoreThanTheBucketHolds) {
    Program program;
    program.controller.set_budget(10'000);
    program.rate = 0;
    program.run(60);
    program.rate = 25'000'000;  // recording takes all the time there is
    const double burst = program.run(5);
    // One and a half periods' worth was saved up; a tick may overspend by its own length.
    EXPECT_LE(burst, 0.01 * 2.5 + 0.05 / 5);
    EXPECT_GT(burst, 0.01);
}

TEST(Budget, ComesBackWhenTheProgramIsCheapAgain) {
    Program program;
    program.controller.set_budget(10'000);
    program.rate = 4e6;
    program.run(200);
    ASSERT_LT(program.controller.duty_ppm(), 200'000u);
    program.rate = 10'000;
    program.run(300);
    EXPECT_EQ(program.controller.duty_ppm(), 1'000'000u);
}

TEST(Budget, ANewBudgetStartsAfresh) {
    Program program;
    program.controller.set_budget(1'000);
    program.rate = 4e6;
    program.run(100);
    program.controller.set_budget(0);
    program.gate = Gate::open;
    program.switches = 0;
    program.run(60);
    EXPECT_EQ(program.switches, 0u);
    EXPECT_EQ(program.controller.duty_ppm(), 1'000'000u);
}

TEST(Budget, ClosesBetweenOutermostRangesFirst) {
    Program program;
    program.controller.set_budget(10'000);
    program.rate = 4e6;
    program.run(200);
    // Of every stretch without recording the first part lets what has begun come to its end.
    int open = 0, closing = 0, closed = 0;
    Gate before = Gate::open;
    for (int i = 0; i < 4000; ++i) {
        program.run(0.05);
        if (program.gate == Gate::closed && before == Gate::open) ++closed;
        if (program.gate == Gate::closing && before == Gate::open) ++closing;
        open += program.gate == Gate::open;
        before = program.gate;
    }
    EXPECT_GT(open, 0);
    EXPECT_GT(closing, 0);
    EXPECT_LE(closed, closing);
}

TEST(Budget, CountsWhatTheRingHolds) {
    ASSERT_TRUE(start_recording());
    { const Span first(Stage::load); }
    const CostSample before = sample_costs();
    for (int i = 0; i < 1000; ++i) const Span span(Stage::load);
    const CostSample after = sample_costs();
    EXPECT_EQ(after.records - before.records, 1000u);
    EXPECT_GT(after.now_ns, before.now_ns);
    EXPECT_GE(after.process_cpu_ns, before.process_cpu_ns);
    EXPECT_GT(price_of_record(), 0.0);
}

}  // namespace
}  // namespace gs::service
