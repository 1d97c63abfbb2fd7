// Time that goes into others: R25 waiting for a CPU, by the thread that the iterations are on, also
// where two traces are compared, the CPUs' other rules, and R29 communication that nothing hides.
#include <gtest/gtest.h>

#include "base/record/machine_counters.h"
#include "profiler/analysis/compare.h"
#include "tests/unit/insights_checks.h"

namespace gs {
namespace {

using namespace test;

struct Waiting {
    double threads = 99, main = 1, most = 60;  ///< percent
    bool in_loops = false;
    std::uint32_t pid = 77;
};

/// 60 iterations on thread 77, of which `busy` us work and the rest sleep.
TraceStore sleeper(double period, const Waiting& waiting) {
    TraceMaker maker(waiting.pid, "python");
    for (int i = 0; i < 60; ++i) {
        const double t = period * i;
        maker.range(77, "step", t, t + period - 100 + 10 * (i % 5), 0, i);
        if (i % 10 != 9) continue;
        maker.counter(machine_counter::kWaited, t, waiting.threads);
        if (waiting.main >= 0) maker.counter(machine_counter::kMainWaited, t, waiting.main);
        if (waiting.most >= 0) maker.counter(machine_counter::kMostWaited, t, waiting.most);
        if (waiting.in_loops) maker.counter("machine: in parallel loops %", t, 90);
    }
    TraceStore store = maker.store();
    return store;
}

TEST(Waiting, IsThatOfTheIterationsThreadInAllTime) {
    // It sleeps: of the little that it could have run it waited nearly all, of its time nearly
    // none.
    const Insights asleep = find_insights(sleeper(20'000, {}));
    EXPECT_TRUE(is_clear(asleep, "R25")) << rules_of(asleep);
    const Insights late = find_insights(sleeper(20'000, {.main = 28}));
    ASSERT_NE(find(late, "R25"), nullptr);
    EXPECT_NEAR(find(late, "R25")->share, 0.28, 0.001);
    EXPECT_NEAR(find(late, "R25")->recoverable_ms, 0.28 * 19.92, 0.02);
}

TEST(Waiting, IsTheLongestOfAnyThreadWhereOthersDecide) {
    const auto held = [](const Waiting& waiting) {
        const Insights all = find_insights(sleeper(20'000, waiting));
        const Insight* busy = find(all, "R25");
        return busy == nullptr ? 0 : busy->share;
    };
    EXPECT_NEAR(held({.in_loops = true}), 0.6, 0.001);  // the main thread's loops end with others
    EXPECT_NEAR(held({.pid = 12}), 0.6, 0.001);         // the iterations are on another thread
    EXPECT_NEAR(held({.main = -1, .most = -1}), 0.99, 0.001);  // recorded by an older gausscope
}

TEST(Waiting, ASleepingProgramIsComparedOnABusyMachine) {
    const TraceStore a = sleeper(20'000, {}), b = sleeper(30'000, {});
    const Comparison c = compare({.store = &a}, {.store = &b});
    EXPECT_EQ(c.rows[0].verdict, Verdict::slower);
    EXPECT_NEAR(c.rows[0].relative, 0.5, 0.01);
    EXPECT_EQ(quiet_text(c), "");
    const TraceStore held = sleeper(30'000, {.main = 70});
    EXPECT_EQ(compare({.store = &a}, {.store = &held}).rows[0].verdict, Verdict::not_quiet);
}

/// One kernel of 2 ms and one all-reduce of 2 ms in each iteration of 5 ms, `apart` us after it.
TraceMaker reducing(double apart, std::uint64_t bytes) {
    TraceMaker maker;
    maker.device();
    for (int i = 0; i < 20; ++i) {
        const double t = 5000 * i;
        maker.kernel("sgemm", t + 10, t + 2010);
        GpuWorkEvent& reduce = maker.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)",
                                            t + 10 + apart, t + 2010 + apart);
        reduce.stream = 8;
        reduce.grid[0] = 16;
        reduce.registers = 96;
        reduce.bytes = bytes;
        maker.range(kMainThread, "iteration", t, t + 4990, 0, i);
    }
    return maker;
}
Insights insights_of(TraceMaker maker) {
    TraceStore store = maker.store();
    return find_insights(store);
}

TEST(Communication, ExposedIsFoundWithBytesAndRate) {
    const Insights all = insights_of(reducing(2000, 80'000'000));
    const Insight* exposed = find(all, "R29");
    ASSERT_NE(exposed, nullptr) << rules_of(all);
    EXPECT_NEAR(exposed->recoverable_ms, 2, 0.01);
    EXPECT_EQ(exposed->confidence, Confidence::measured);
    EXPECT_NE(exposed->text.find("all_reduce 1.0 times, 2.00 ms, 80.00 MB, 40.0 GB/s"),
              std::string::npos)
        << exposed->text;
    EXPECT_FALSE(exposed->evidence.empty());
    // By design it is on few multiprocessors: no advice for its grid or its registers.
    EXPECT_EQ(find(all, "R7"), nullptr);
    EXPECT_EQ(find(all, "R8"), nullptr);
}

TEST(Communication, WhatKernelsHideCostsNothing) {
    const Insights half = insights_of(reducing(1000, 0));
    ASSERT_NE(find(half, "R29"), nullptr);
    EXPECT_NEAR(find(half, "R29")->recoverable_ms, 1, 0.01);
    EXPECT_NE(find(half, "R29")->text.find("50 % is hidden"), std::string::npos);
    EXPECT_EQ(find(half, "R29")->text.find("GB/s"), std::string::npos);  // bytes are not known
    EXPECT_TRUE(is_clear(insights_of(reducing(0, 0)), "R29"));
    EXPECT_NE(why(of({}), "R29").find("no collective was recorded"), std::string::npos);
}

TEST(Communication, OfTheHostIsWhatHoldsUpTheLoop) {
    const auto ranks = [](std::uint32_t thread, const char* name) {
        TraceMaker maker;
        for (int i = 0; i < 20; ++i) {
            const double t = 5000 * i;
            maker.range(thread, name, t + 3000, t + 4500, thread == 1 ? 1 : 0);
            maker.range(1, "iteration", t, t + 4990, 0, i);
        }
        return insights_of(std::move(maker));
    };
    const Insights held = ranks(1, "gloo:all_reduce");
    ASSERT_NE(find(held, "R29"), nullptr) << rules_of(held);
    EXPECT_NEAR(find(held, "R29")->recoverable_ms, 1.5, 0.01);
    // On another thread, or in a call that only enqueues, it holds up nobody.
    EXPECT_EQ(find(ranks(9, "gloo:all_reduce"), "R29"), nullptr);
    EXPECT_EQ(find(ranks(1, "c10d::allreduce_"), "R29"), nullptr);
}

TEST(Waits, AreToldByWhatNumberedRangesHaveInCommon) {
    Loop loop;
    loop.edit = [](int, std::vector<LoopKernel>& kernels) { kernels.resize(20); };
    loop.range = "iteration";
    loop.more = [](TraceMaker& maker, int i, double t) {
        maker.call(kMainThread, "cudaStreamSynchronize", t + 2500, t + 5025);
        maker.range(kMainThread, "batch#" + std::to_string(i), t + 2400, t + 5030, 1);
    };
    const Insights all = of(loop);
    ASSERT_NE(find(all, "R3"), nullptr) << rules_of(all);
    EXPECT_NE(find(all, "R3")->text.find("cudaStreamSynchronize in 'batch' (1.0 times"),
              std::string::npos)
        << find(all, "R3")->text;
}

/// Our trainer on two CPUs, 1 ms blending in iterations of 2 ms; `machine` writes a second's
/// counters.
TraceStore on_cpus(const std::function<void(TraceMaker&, double t)>& machine) {
    TraceMaker maker(77, "gausscope");
    for (int i = 0; i < 2000; ++i) {
        const double t = 2000 * i;
        maker.range(1, "blend", t + 100, t + 1100, 1);
        maker.range(1, "iteration", t, t + 1990, 0, i);
        if (i % 500 == 499) machine(maker, t + 1995);
    }
    TraceStore store = maker.store();
    return store;
}

void quiet_machine(TraceMaker& maker, double t, double waited, double in_loops, double busy) {
    maker.counter("machine: threads waited %", t, waited);
    maker.counter("machine: involuntary switches /s", t, 120);
    maker.counter("machine: load average", t, 3.1);
    maker.counter("machine: CPUs", t, 2);
    maker.counter("machine: CPUs used", t, 1.5);
    maker.counter("machine: threads of loops", t, 2);
    maker.counter("machine: in parallel loops %", t, in_loops);
    maker.counter("machine: workers busy in loops %", t, busy);
    maker.counter("machine: vector bits", t, 256);
    maker.counter("machine: vector bits of the CPU", t, 256);
}

TEST(Rules, R25ToR28OnCpus) {
    const Insights quiet =
        find_insights(on_cpus([](TraceMaker& m, double t) { quiet_machine(m, t, 1, 90, 95); }));
    EXPECT_EQ(rules_of(quiet), "");
    for (const char* rule : {"R25", "R26", "R27", "R28"})
        EXPECT_TRUE(is_clear(quiet, rule)) << rule << ": " << why(quiet, rule);
    const Insights busy =
        find_insights(on_cpus([](TraceMaker& m, double t) { quiet_machine(m, t, 34, 90, 95); }));
    ASSERT_NE(find(busy, "R25"), nullptr);
    EXPECT_NEAR(find(busy, "R25")->recoverable_ms, 0.34 * 1.99, 0.01);
    EXPECT_NE(find(busy, "R25")->title.find("34 % of the time"), std::string::npos);
    EXPECT_NE(find(busy, "R25")->text.find("load 3.1 on 2 CPUs"), std::string::npos)
        << find(busy, "R25")->text;
    const Insights serial =
        find_insights(on_cpus([](TraceMaker& m, double t) { quiet_machine(m, t, 1, 40, 95); }));
    ASSERT_NE(find(serial, "R26"), nullptr) << rules_of(serial);
    EXPECT_NEAR(find(serial, "R26")->recoverable_ms, 0.6 / 2 * 1.99, 0.01);
    const Insights uneven =
        find_insights(on_cpus([](TraceMaker& m, double t) { quiet_machine(m, t, 1, 90, 60); }));
    ASSERT_NE(find(uneven, "R27"), nullptr) << rules_of(uneven);
    EXPECT_NEAR(find(uneven, "R27")->recoverable_ms, 0.9 * 0.4 * 1.99, 0.01);
    const Insights neither =
        find_insights(on_cpus([](TraceMaker& m, double t) { quiet_machine(m, t, 34, 90, 60); }));
    EXPECT_NE(why(neither, "R27").find("threads waited 34 %"), std::string::npos);
    const Insights narrow = find_insights(on_cpus([](TraceMaker& m, double t) {
        quiet_machine(m, t, 1, 90, 95);
        m.counter("machine: vector bits of the CPU", t + 1, 768);
    }));
    ASSERT_NE(find(narrow, "R28"), nullptr) << rules_of(narrow);
    EXPECT_NE(why(of({}), "R26").find("GPU"), std::string::npos);
    EXPECT_NE(why(of({}), "R25").find("predates"), std::string::npos);
}

TEST(Rules, CpusGetNoAdviceForGpusAndNoLimitsOnABusyMachine) {
    InsightOptions options;
    options.floors.resize(1);
    options.floors[0].stage = Stage::blend;
    options.floors[0].floor_ms = 0.2;
    options.floors[0].limit = CostLimit::arithmetic;
    const auto at = [&](double waited) {
        return find_insights(
            on_cpus([waited](TraceMaker& m, double t) { quiet_machine(m, t, waited, 90, 95); }),
            options);
    };
    const Insights quiet = at(1);
    ASSERT_NE(find(quiet, "R11"), nullptr) << rules_of(quiet);
    const std::string& advice = find(quiet, "R11")->advice;
    EXPECT_EQ(advice.find("warps"), std::string::npos) << advice;
    EXPECT_NE(advice.find("thread"), std::string::npos) << advice;
    EXPECT_NEAR(find(quiet, "R11")->recoverable_ms, 1 - 0.2 / 0.6, 0.01);
    EXPECT_NEAR(find(at(10), "R11")->recoverable_ms, 0.9 - 0.2 / 0.6, 0.01);  // less the waiting
    const Insights busy = at(34);
    EXPECT_EQ(find(busy, "R11"), nullptr);
    EXPECT_NE(why(busy, "R11").find("threads waited 34 % of the time"), std::string::npos)
        << why(busy, "R11");
}

}  // namespace
}  // namespace gs
