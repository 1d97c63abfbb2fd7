// Iterations of programs that run: what is counted while they do is what their files say, once.
#include <gtest/gtest.h>

#include <map>

#include "../support/loop_programs.h"
#include "profiler/analysis/iterations.h"

namespace gs {
namespace {

using test::Program;
using test::TraceMaker;

const std::vector<std::string> kTurn{"alpha", "beta", "gamma"};

/// What an IterationFollower reports in all its looks, in any loop.
struct Reported {
    std::map<std::string, std::vector<Iteration>> by_name;

    void look(IterationFollower& follower, const TraceStore& store, std::int64_t until_ns,
              bool complete) {
        const Iterations news = follower.take(store, 0, until_ns, complete);
        auto& items = by_name[news.name];
        items.insert(items.end(), news.items.begin(), news.items.end());
        if (items.empty()) by_name.erase(news.name);
    }
    std::vector<Iteration> all() const {
        std::vector<Iteration> out;
        for (const auto& [name, items] : by_name) out.insert(out.end(), items.begin(), items.end());
        std::sort(out.begin(), out.end(),
                  [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
        return out;
    }
    void expect_each_moment_once() const {
        std::int64_t end_ns = 0;
        for (const Iteration& i : all()) {
            EXPECT_GE(i.begin_ns, end_ns) << "counted twice";
            end_ns = i.end_ns;
        }
    }
};

Reported reported_live(Program& program, TraceStore& store) {
    Reported out;
    IterationFollower follower(0);
    std::int64_t now = 0;
    program.into(
        store, [&](std::int64_t end) { out.look(follower, store, now = end, false); }, 40);
    out.look(follower, store, now, true);
    return out;
}

TEST(Following, CountsTwoThreadsThatDoTheSameAsOne) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Program program(seed);
        for (int i = 0; i < 200; ++i)
            for (const std::uint32_t thread : {2u, 3u})
                for (const std::string& name : kTurn) program.op(name, 1, 0.5, thread);
        TraceStore store;
        const Reported reported = reported_live(program, store);
        EXPECT_NEAR(static_cast<double>(reported.all().size()), 200, 1) << seed;
        reported.expect_each_moment_once();
        EXPECT_NEAR(static_cast<double>(find_iterations(store, 0).items.size()), 200, 1) << seed;
    }
}

TEST(Following, GoesOnWithTheNextThread) {
    Program program(1);
    for (const std::uint32_t thread : {2u, 3u}) {
        program.clock(thread) = program.clock(2) + 5;
        for (int i = 0; i < 100; ++i)
            for (const std::string& name : kTurn) program.op(name, 1, 0.2, thread);
    }
    TraceStore store;
    const Reported reported = reported_live(program, store);
    EXPECT_NEAR(static_cast<double>(reported.all().size()), 199, 2);
    reported.expect_each_moment_once();
    EXPECT_NEAR(static_cast<double>(find_iterations(store, 0).items.size()), 199, 2);
}

TEST(Following, TellsTheLoopBeforeThisOneToo) {
    Program program(1);
    for (int i = 0; i < 15; ++i) program.ops({"compile", "autotune"});
    for (int i = 0; i < 200; ++i) program.ops(kTurn);
    TraceStore store;
    const Reported reported = reported_live(program, store);
    EXPECT_NEAR(static_cast<double>(reported.all().size()), 215, 2);
    reported.expect_each_moment_once();
}

/// A kernel each turn could be the loop as well, long before the ranges say that they are.
TEST(Following, WaitsForTheLoopOfSlowRanges) {
    constexpr double kTurnNeedsUs = 1e6;
    for (const bool ranges_later : {false, true}) {
        TraceMaker maker;
        TraceStore store;
        Reported reported;
        IterationFollower follower(0);
        for (int turn = 0; turn < 90; ++turn) {
            const double begin = kTurnNeedsUs * turn;
            maker.batch.spans.clear();
            maker.batch.gpu_work.clear();
            maker.kernel("adam_kernel", begin + 9e5, begin + 9.5e5);
            if (!ranges_later || turn > 30)
                for (std::size_t i = 0; i < kTurn.size(); ++i)
                    maker.range(77, kTurn[i], begin + 3e5 * static_cast<double>(i),
                                begin + 3e5 * static_cast<double>(i) + 2.9e5);
            maker.into(store);
            const auto end_ns = static_cast<std::int64_t>(1e3 * (begin + kTurnNeedsUs));
            reported.look(follower, store, end_ns, turn == 89);
        }
        reported.expect_each_moment_once();
        EXPECT_NEAR(static_cast<double>(reported.all().size()), 88, 2);
        EXPECT_EQ(reported.by_name.size(), ranges_later ? 2u : 1u);
        EXPECT_TRUE(reported.by_name.contains("alpha"));
    }
}

TEST(Following, TwoRangesWithTheNameOfAStepAreNoLoop) {
    Program program(1);
    for (int i = 0; i < 2; ++i) program.op("step");
    for (int i = 0; i < 200; ++i) program.ops(kTurn);
    TraceStore store;
    reported_live(program, store);
    EXPECT_NEAR(static_cast<double>(find_iterations(store, 0).items.size()), 200, 1);
}

/// Ranges named like steps, then a loop without such names; `turns_after`: and the steps again.
void expect_after_warm_up(int steps, int turns, int steps_after, double expected) {
    Program program(1);
    const auto step = [&] {
        program.op("step", 1, 0.2, Program::kMain, [&] { program.ops(kTurn); });
    };
    for (int i = 0; i < steps; ++i) step();
    for (int i = 0; i < turns; ++i) program.ops(kTurn);
    for (int i = 0; i < steps_after; ++i) step();
    TraceStore store;
    const Reported live = reported_live(program, store);
    EXPECT_NEAR(static_cast<double>(live.all().size()), expected, 1) << steps << " " << turns;
    live.expect_each_moment_once();
    if (steps_after > 0) expected = steps + steps_after;
    EXPECT_NEAR(static_cast<double>(find_iterations(store, 0).items.size()), expected, 1);
    EXPECT_EQ(find_iterations(store, 0).name == "step", steps_after > 0);
}

TEST(Following, FindsTheLoopAfterAWarmUpWithTheNameOfAStep) {
    expect_after_warm_up(4, 200, 0, 204);
    expect_after_warm_up(30, 400, 0, 430);
}

TEST(Following, KeepsTheNamedLoopThatOnlyRests) {
    expect_after_warm_up(100, 300, 100, 200);  // an evaluation
}

TEST(Following, AThreadThatTrainsHasALaneAmongManyShortOnes) {
    Program program(1);
    for (std::uint32_t i = 0; i < 600; ++i) {
        program.clock(10 + i) = program.clock(2);
        for (int k = 0; k < 14; ++k) program.op("task", 0.1, 0.2, 10 + i);
        if (i > 250)
            for (const std::string& name : kTurn) program.op(name, 30, 0.2, 2);
        else
            program.clock(2) += 100;
    }
    TraceStore store;
    const Reported reported = reported_live(program, store);
    const std::vector<Iteration> all = reported.all();
    const auto turns =
        std::count_if(all.begin(), all.end(), [](const auto& i) { return i.milliseconds() > 40; });
    EXPECT_NEAR(static_cast<double>(turns), 348, 2);
}

TEST(Following, LeavesLostTimeOut) {
    TraceMaker maker;
    TraceStore store;
    Reported reported;
    IterationFollower follower(0);
    for (int batch = 0; batch < 20; ++batch) {
        maker.batch.spans.clear();
        for (int turn = 10 * batch; turn < 10 * (batch + 1) && batch != 12; ++turn)
            for (std::size_t i = 0; i < kTurn.size(); ++i)
                maker.range(77, kTurn[i], 3000.0 * turn + 1000.0 * static_cast<double>(i),
                            3000.0 * turn + 1000.0 * static_cast<double>(i) + 900);
        maker.batch.read_ns = 30'000'000ll * (batch + 1);
        if (batch == 13) maker.batch.loss.lapped = 30;
        if (batch != 12) maker.into(store);
        reported.look(follower, store, maker.batch.read_ns, batch == 19);
    }
    const std::vector<Iteration> all = reported.all();
    EXPECT_NEAR(static_cast<double>(all.size()), 188, 2);
    for (const Iteration& i : all) EXPECT_LT(i.milliseconds(), 4);
}

/// Its process is thought to have ended, and continues.
TEST(Following, CountsNoTurnAcrossAnEnd) {
    Program program(1);
    for (int part = 0; part < 2; ++part) {
        for (int i = 0; i < 100; ++i) program.ops(kTurn);
        program.rest(5000);
    }
    TraceStore store;
    Reported reported;
    IterationFollower follower(0);
    program.into(
        store, [&](std::int64_t end) { reported.look(follower, store, end, true); }, 300);
    for (const Iteration& i : reported.all()) EXPECT_LT(i.milliseconds(), 10);
    reported.expect_each_moment_once();
    EXPECT_NEAR(static_cast<double>(reported.all().size()), 200, 1);
}

/// What it was found from is given back.
TEST(Following, KnowsTheLoopOfAProcessThatHasEnded) {
    TraceMaker maker;
    TraceStore store;
    for (int turn = 0; turn < 200; ++turn)
        for (std::size_t i = 0; i < kTurn.size(); ++i)
            maker.range(77, kTurn[i], 3000.0 * turn + 1000.0 * static_cast<double>(i),
                        3000.0 * turn + 1000.0 * static_cast<double>(i) + 900);
    maker.into(store);
    EXPECT_GT(store.frames().loops().bytes(), 1000u);
    maker.batch.spans.clear();
    maker.batch.ended = true;
    maker.into(store);
    EXPECT_LT(store.frames().loops().bytes(), 1000u);
    EXPECT_EQ(find_iterations(store, 0).items.size(), 200u);
}

TEST(Following, TextInManyDomainsIsOneSpelling) {
    NameBook names;
    const std::uint32_t one = names.intern("layer1"), two = names.intern("layer2");
    for (int domain = 0; domain < 20; ++domain) names.intern("layer1", std::to_string(domain));
    EXPECT_NE(names.numbers().key(one), names.numbers().key(two));
    for (int layer = 3; layer <= 17; ++layer) names.intern("layer" + std::to_string(layer));
    EXPECT_EQ(names.numbers().key(one), names.numbers().key(two));
}

}  // namespace
}  // namespace gs
