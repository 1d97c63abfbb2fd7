// Processes under the injection library: armed and disarmed at run time, forked, replaced by exec,
// ended in every way.
#include "tests/unit/inject_program.h"

namespace gs::inject_test {
namespace {

const Environment kDisarmed{{service::kArmVariable, "0"}};

using Process = WithProgram;

TEST_P(Process, OnlyWhatHappensWhileArmedIsRecorded) {
    Program program(GetParam(), {"toggled"}, kDisarmed);
    for (int phase = 0; phase < 4; ++phase) {
        ASSERT_EQ(program.wait_until_ready(), "ready\n");
        program.arm(phase % 2 == 0);  // for the phase that comes
        program.go_on();
    }
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("phase 0"), 0u);
    EXPECT_EQ(seen.count("phase 1"), 1u);
    EXPECT_EQ(seen.count("phase 2"), 0u);
    EXPECT_EQ(seen.count("phase 3"), 1u);
    EXPECT_EQ(seen.count("the end"), 0u);
    // Handles made while nobody listened are good once somebody does.
    ASSERT_EQ(seen.count("early string"), 2u);
    EXPECT_EQ(seen.called("early string")[0].domain, "early domain");
    EXPECT_EQ(seen.only("phase 3").depth, 0);  // nothing is left of the ranges of the former period
    EXPECT_EQ(seen.last().loss.total(), 0u);
}

TEST_P(Process, NothingIsLeftInTheWayOnceDisarmed) {
    Program program(GetParam(), {"pointers"}, kDisarmed);
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    program.go_on();  // never armed
    EXPECT_EQ(program.wait_until_ready(), "leads nowhere\nready\n");
    program.arm(true);
    program.go_on();
    EXPECT_EQ(program.wait_until_ready(), "leads somewhere\nready\n");
    program.arm(false);
    program.go_on();
    EXPECT_EQ(program.wait_until_ready(), "leads nowhere\nready\n");
}

TEST_P(Process, WhatCannotBeReachedRunsOnAsIfNothingWasThere) {
    Program program(GetParam(), {"pointers"}, {{service::kDirectoryVariable, "/dev/null/nowhere"}});
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    program.go_on();
    EXPECT_EQ(program.wait_until_ready(), "leads nowhere\nready\n");
}

TEST_P(Process, StaysArmedWhileAnyClientHoldsALease) {
    Program program(GetParam(), {"toggled"}, kDisarmed);
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    program.arm(true);
    {
        auto second = service::Connection::open(program.connection().producer());
        ASSERT_TRUE(second);
        ASSERT_TRUE(second->ask(service::Op::arm));
        ASSERT_TRUE(program.connection().ask(service::Op::disarm));
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        program.settle(true);
        program.go_on();
        ASSERT_EQ(program.wait_until_ready(), "ready\n");
        TraceBatch theirs;
        second->drain(theirs);
        EXPECT_EQ(program.drain().count("phase 1"), 1u);
        EXPECT_EQ(theirs.spans.size(), 2u);  // both read all of it
    }
    program.settle(false);  // the second client has gone
}

TEST_P(Process, ArmingUnderLoadBreaksNothing) {
    Program program(GetParam(), {"busy"}, kDisarmed);
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    for (int round = 0; round < 3; ++round) {
        program.arm(true);
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        program.arm(false);
    }
    program.go_on();
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.last().loss.malformed, 0u);
    EXPECT_GT(seen.count("inner"), 0u);
    for (const Seen& s : seen.called("inner")) EXPECT_LE(s.depth, 1);
    program.go_on();
    EXPECT_EQ(program.wait(), 0);
}

TEST_P(Process, ABudgetLeavesOutWholeIterations) {
    Program program(GetParam(), {"iterations"}, kDisarmed);
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    ASSERT_TRUE(program.connection().ask(service::Op::set_budget, 1000));
    program.arm(true);
    // Long enough for the gate to have closed and opened some times; on a busy machine that is
    // later.
    const auto begin = std::chrono::steady_clock::now();
    const auto least = begin + std::chrono::seconds(1), most = begin + std::chrono::seconds(20);
    for (auto now = begin;
         now < least || (now < most && program.drain().last().service->budget_skipped == 0);
         now = std::chrono::steady_clock::now()) {
        program.drain();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    program.go_on();
    const Recording& seen = program.recorded();
    EXPECT_GT(seen.last().service->budget_skipped, 0u);
    EXPECT_LE(seen.last().service->unmatched_ends, 2u);  // of what was open when it was armed
    const std::vector<Seen> iterations = seen.called("iteration");
    ASSERT_GT(iterations.size(), 1u);
    for (const Seen& s : seen.called("stage"))
        EXPECT_TRUE(s.depth == 1 || s.begin_ns < iterations.front().begin_ns);
}

// A range that began while the gate was closed ends unseen, also when the gate has opened by then:
// else the ends of the ranges around it would be taken for its own, pause after pause.
TEST_P(Process, RangesThatWereLeftOutEndUnseen) {
    Program program(GetParam(), {"long_iterations"}, kDisarmed);
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    program.arm(true);
    for (int round = 0; round < 8; ++round)
        for (const std::uint64_t budget : {1, 0}) {
            ASSERT_TRUE(program.connection().ask(service::Op::set_budget, budget));
            std::this_thread::sleep_for(std::chrono::milliseconds(130));
            program.drain();
        }
    program.go_on();
    const Recording& seen = program.recorded();
    EXPECT_LE(seen.last().service->unmatched_ends, 2u);  // of what was open when it was armed
    ASSERT_GT(seen.count("iteration"), 20u);
    for (const Seen& s : seen.called("iteration")) EXPECT_EQ(s.depth, 0);
}

TEST_P(Process, AForkedChildRecordsNothing) {
    Program program(GetParam(), {"forks"});
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    EXPECT_EQ(program.drain().open(), std::vector<std::string>{"around the fork"});
    program.go_on();
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("child was well"), 1u);
    EXPECT_EQ(seen.count("around the fork"), 1u);
    EXPECT_EQ(seen.count("in the child"), 0u);
    EXPECT_EQ(seen.count("in the child's thread"), 0u);
    EXPECT_EQ(seen.last().loss.total(), 0u);
    EXPECT_EQ(seen.last().service->unmatched_ends, 0u);
    EXPECT_EQ(service::find_producers().size(),
              1u);  // the child's exit has not taken the parent's socket away
    program.go_on();
    EXPECT_EQ(program.wait(), 0);
    EXPECT_TRUE(service::find_producers().empty());  // the parent's own has
}

TEST_P(Process, ExecStartsAnewUnderTheSameNumber) {
    Program program(GetParam(), {"executes"});
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    EXPECT_EQ(program.drain().count("before exec"), 1u);
    program.disconnect();
    program.go_on();
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    Recording after;
    TraceBatch batch;
    program.connection().drain(batch);
    after.add(batch);
    EXPECT_EQ(after.count("after exec"), 1u);
    EXPECT_EQ(after.count("before exec"), 0u);
    EXPECT_EQ(batch.pid, static_cast<std::uint32_t>(program.pid()));
}

class Ending : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Ending, WhatWasRecordedIsThereAfterwards) {
    const auto [how, status] = GetParam();
    for (const Program::Build& build : Program::builds()) {
        Program program(build, {"leaves", how});
        ASSERT_EQ(program.wait_until_ready(), "ready\n");
        program.connection();
        if (std::string(how) == "kill") {
            ::kill(program.pid(), SIGKILL);
        } else {
            program.go_on();
        }
        EXPECT_EQ(program.wait(), status) << how;
        const Recording& seen = program.drain();
        EXPECT_EQ(seen.count("last words"), 1u);
        EXPECT_EQ(seen.count("after the meeting"), std::string(how) == "kill" ? 0u : 1u);
        EXPECT_EQ(seen.last().loss.total(), 0u);
        EXPECT_FALSE(program.connection().alive());
        // NVTX is also not notified when a thread returns or leaves by exit().
        EXPECT_EQ(seen.open(), std::vector<std::string>{"outer"});
    }
}
INSTANTIATE_TEST_SUITE_P(By, Ending,
                         testing::Values(std::pair{"exit", 7 << 8}, std::pair{"_exit", 7 << 8},
                                         std::pair{"abort", SIGABRT}, std::pair{"kill", SIGKILL}),
                         [](const auto& test) {
                             const std::string name = test.param.first;
                             return name == "_exit" ? std::string("UnderscoreExit") : name;
                         });

TEST_P(Process, RangesInStaticDestructorsAreRecorded) {
    Program program(GetParam(), {"late"});
    ASSERT_EQ(program.wait_until_ready(), "ready\n");
    program.connection();
    program.go_on();
    EXPECT_EQ(program.wait(), 0);
    const Recording& seen = program.drain();
    EXPECT_EQ(seen.count("in main"), 1u);
    EXPECT_EQ(seen.count("in a static destructor"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Client, Process, testing::ValuesIn(Program::builds()), name_of_build);

}  // namespace
}  // namespace gs::inject_test
