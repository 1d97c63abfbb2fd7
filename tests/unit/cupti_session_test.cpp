// CUPTI's failures in a watched program: another tool has it or wants it, buffers run out, records
// are dropped, damaged or refused. NVTX ranges must be recorded through all of it, and the trace
// must say what happened.
#include <set>
#include <thread>

#include "base/record/clock.h"
#include "tests/unit/cupti_program.h"

namespace gs::cupti_test {
namespace {

using abi::CuptiState;
using service::Answer;
using service::Op;

bool has_range(const Program& program, const std::string& name) {
    for (const TraceTrack& track : program.store().tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view())
                if (program.store().name(span.name) == name) return true;
    return false;
}

TEST(CuptiSession, CallsThatMatterAndNoOthers) {
    Program program(program_path(), {});
    EXPECT_EQ(program.tell("launch 3"), "ok");
    EXPECT_EQ(program.tell("driver 2"), "ok");
    EXPECT_EQ(program.tell("poll 50"), "ok");
    EXPECT_EQ(program.tell("copy"), "ok");
    ASSERT_EQ(program.finish(), 0);
    EXPECT_EQ(program.calls("cudaLaunchKernel"), 3u);
    EXPECT_EQ(program.calls("cuLaunchKernel"), 2u);
    EXPECT_EQ(program.calls("cuStreamSynchronize"), 1u);
    EXPECT_EQ(program.calls("cudaFree"), 1u);
    EXPECT_EQ(program.calls("cudaGetLastError"), 0u);
    EXPECT_EQ(program.kernels(), 5u);
    for (const Work& w : program.works()) {
        EXPECT_TRUE(w.name == "step" || w.name == "other") << w.name;
        if (w.name != "step") continue;
        EXPECT_EQ(w.detail.grid[1], 2u);
        EXPECT_EQ(w.detail.block[0], 128);
        EXPECT_EQ(w.detail.dynamic_shared, 512u);
    }
    std::multiset<std::string> copies;
    for (const Work& w : program.works(GpuWorkKind::copy)) copies.insert(w.name);
    EXPECT_EQ(copies, (std::multiset<std::string>{"copy host to device", "copy host to device",
                                                  "copy device to host", "copy device to device",
                                                  "copy device to device"}));
}

TEST(CuptiSession, HeldByAnotherTool) {
    Program program(program_path(), {}, {{"MOCK_CUPTI_HELD_BY", "CUPTI for Nsight Systems"}});
    EXPECT_EQ(program.tell("range first 2"), "ok");
    program.drain_until([&] { return program.service().cupti == CuptiState::held; });
    EXPECT_EQ(program.service().cupti_reason, "CUPTI is in use by CUPTI for Nsight Systems");
    // Asking for it does not help while the other has it, and says why.
    const service::Reply refused = program.ask(Op::acquire_cupti);
    EXPECT_EQ(refused.answer, static_cast<std::uint32_t>(Answer::not_possible));
    EXPECT_STREQ(refused.text, "CUPTI is in use by CUPTI for Nsight Systems");
    program.drain_until([&] { return has_range(program, "first"); });
    EXPECT_EQ(program.kernels(), 0u);
    EXPECT_EQ(program.tell("unhold"), "ok");
    EXPECT_EQ(program.ask(Op::acquire_cupti).answer, static_cast<std::uint32_t>(Answer::done));
    EXPECT_EQ(program.tell("range second 2"), "ok");
    program.drain_until([&] { return program.kernels() == 2; });
    EXPECT_EQ(program.works()[0].range, "second");
    EXPECT_EQ(program.service().cupti, CuptiState::recording);
    EXPECT_EQ(program.finish(), 0);
}

// Nobody asks: the first retry comes after a second.
TEST(CuptiSession, TakenByItselfWhenTheOtherToolHasGone) {
    Program program(program_path(), {},
                    {{"MOCK_CUPTI_HELD_BY", "somebody"}, {"MOCK_CUDA_VERSION", "12040"}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    program.drain_until([&] { return program.service().cupti == CuptiState::held; });
    // CUPTI 12 cannot tell who it is.
    EXPECT_EQ(program.service().cupti_reason, "CUPTI is in use by another tool");
    EXPECT_EQ(program.tell("unhold"), "ok");
    program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
    EXPECT_EQ(program.tell("launch 4"), "ok");
    program.drain_until([&] { return program.kernels() == 4; });
}

TEST(CuptiSession, ReleasedCompletelyAndTakenAgain) {
    Program program(program_path(), {});
    EXPECT_EQ(program.tell("range before 3"), "ok");
    program.drain_until([&] { return program.kernels() == 3; });
    EXPECT_EQ(program.status("subscribed"), 1);
    EXPECT_GT(program.status("calls"), 5);
    EXPECT_NE(program.tell("subscribe"), "0");  // the other tool does not get it
    EXPECT_EQ(program.tell("busy"), "ok");
    EXPECT_EQ(program.ask(Op::release_cupti).answer, static_cast<std::uint32_t>(Answer::done));
    EXPECT_EQ(program.tell("quiet"), "ok");
    // Nothing stays: detached at the end of one of the program's calls, no kind, no call, no
    // callback enabled.
    EXPECT_EQ(program.status("finalized"), 1);
    for (const char* what : {"subscribed", "kinds", "calls", "domains"})
        EXPECT_EQ(program.status(what), 0) << what;
    program.drain_until([&] { return program.service().cupti == CuptiState::released; });
    EXPECT_EQ(program.service().cupti_reason, "on request");
    const std::size_t kernels = program.kernels();
    EXPECT_EQ(program.tell("range meanwhile 3"), "ok");
    program.drain_until([&] { return has_range(program, "meanwhile"); });
    EXPECT_EQ(program.kernels(), kernels);
    // Now the other tool gets it, and we do not.
    EXPECT_EQ(program.tell("subscribe"), "0");
    EXPECT_EQ(program.ask(Op::acquire_cupti).answer,
              static_cast<std::uint32_t>(Answer::not_possible));
    EXPECT_EQ(program.tell("unsubscribe"), "0");
    EXPECT_EQ(program.ask(Op::acquire_cupti).answer, static_cast<std::uint32_t>(Answer::done));
    EXPECT_EQ(program.tell("range after 3"), "ok");
    program.drain_until([&] { return program.kernels() == kernels + 3; });
    std::size_t after = 0;
    for (const Work& w : program.works()) after += w.range == "after" && !w.inferred;
    EXPECT_EQ(after, 3u);
    EXPECT_EQ(program.finish(), 0);
}

// A program that makes no CUDA call gives no chance to detach; the other tool gets CUPTI all the
// same.
TEST(CuptiSession, ReleasedByAnIdleProgram) {
    Program program(program_path(), {});
    EXPECT_EQ(program.tell("launch 3"), "ok");
    program.drain_until([&] { return program.kernels() == 3; });
    EXPECT_EQ(program.ask(Op::release_cupti).answer, static_cast<std::uint32_t>(Answer::done));
    for (const char* what : {"subscribed", "kinds", "calls", "domains"})
        EXPECT_EQ(program.status(what), 0) << what;
    EXPECT_EQ(program.tell("subscribe"), "0");
    EXPECT_EQ(program.tell("unsubscribe"), "0");
    EXPECT_EQ(program.ask(Op::acquire_cupti).answer, static_cast<std::uint32_t>(Answer::done));
    EXPECT_EQ(program.tell("launch 3"), "ok");
    program.drain_until([&] { return program.kernels() == 6; });
}

TEST(CuptiSession, DisarmedNothingStays) {
    Program program(program_path(), {}, {{service::kArmVariable, "0"}});
    EXPECT_EQ(program.tell("launch 2"), "ok");
    EXPECT_EQ(program.tell("status"), "no CUPTI");  // not even loaded for a program nobody watches
    EXPECT_EQ(program.ask(Op::arm).answer, static_cast<std::uint32_t>(Answer::done));
    program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 2; });
    EXPECT_EQ(program.ask(Op::disarm).answer, static_cast<std::uint32_t>(Answer::done));
    program.drain_until([&] { return program.service().cupti == CuptiState::released; });
    EXPECT_EQ(program.service().cupti_reason, "with the program's next CUDA call");
    EXPECT_EQ(program.tell("launch 1"), "ok");
    EXPECT_EQ(program.status("finalized"), 1);
    for (const char* what : {"subscribed", "kinds", "calls", "domains"})
        EXPECT_EQ(program.status(what), 0) << what;
    program.drain_until([&] { return program.service().cupti_reason == "nobody records"; });
    EXPECT_EQ(program.kernels(), 2u);
    EXPECT_EQ(program.ask(Op::arm).answer, static_cast<std::uint32_t>(Answer::done));
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 4; });
}

// Armed again before the program's next call: CUPTI simply stays.
TEST(CuptiSession, DisarmedAndArmedWhileIdle) {
    Program program(program_path(), {}, {{service::kArmVariable, "0"}});
    EXPECT_EQ(program.tell("init"), "0");
    for (int round = 1; round <= 3; ++round) {
        EXPECT_EQ(program.ask(Op::arm).answer, static_cast<std::uint32_t>(Answer::done));
        program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
        EXPECT_EQ(program.tell("launch 2"), "ok");
        program.drain_until(
            [&] { return program.kernels() == 2u * static_cast<std::size_t>(round); });
        EXPECT_EQ(program.ask(Op::disarm).answer, static_cast<std::uint32_t>(Answer::done));
    }
    EXPECT_EQ(program.status("finalized"), 0);
}

// A budget that cannot be kept switches recording off and on; CUPTI stays ours meanwhile, its kinds
// of records go off when it lasts.
TEST(CuptiSession, PausedByTheBudget) {
    Program program(program_path(), {}, {{"GAUSSCOPE_CUPTI_REST", "1"}});
    EXPECT_EQ(program.tell("busy"), "ok");
    program.drain_until([&] { return program.kernels() > 10; });
    EXPECT_EQ(program.ask(Op::set_budget, 1).answer, static_cast<std::uint32_t>(Answer::done));
    program.drain_until([&] {
        return program.service().cupti == CuptiState::paused && program.status("kinds") == 0;
    });
    EXPECT_EQ(program.status("subscribed"), 1);
    EXPECT_EQ(program.ask(Op::set_budget, 0).answer, static_cast<std::uint32_t>(Answer::done));
    program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
    const std::size_t before = program.kernels();
    program.drain_until([&] { return program.kernels() > before; });
    EXPECT_EQ(program.tell("quiet"), "ok");
    EXPECT_EQ(program.finish(), 0);
}

/// The longest stretch of a pause in which no kernel of `works` began.
std::int64_t longest_quiet(const PauseEvent& pause, const std::vector<Work>& works) {
    std::vector<std::int64_t> marks{pause.begin_ns, pause.end_ns};
    for (const Work& work : works)
        if (work.begin_ns > pause.begin_ns && work.begin_ns < pause.end_ns)
            marks.push_back(work.begin_ns);
    std::ranges::sort(marks);
    std::int64_t longest = 0;
    for (std::size_t i = 1; i < marks.size(); ++i)
        longest = std::max(longest, marks[i] - marks[i - 1]);
    return longest;
}

// The trace lists the pauses of the budget. A listed pause begins before recording stops and ends
// after it has begun again, and on a busy machine either may take long: so there may be kernels at
// the edges of a pause, but most of it is empty.
TEST(CuptiSession, PausesAreTold) {
    Program program(program_path(), {});
    EXPECT_EQ(program.tell("busy"), "ok");
    program.drain_until([&] { return program.kernels() > 10; });
    EXPECT_EQ(program.ask(Op::set_budget, 1).answer, static_cast<std::uint32_t>(Answer::done));
    const auto pauses = [&] { return program.store().processes()[0].pauses.view(); };
    program.drain_until([&] {
        return !pauses().empty() && pauses().back().gpu &&
               pauses().back().end_ns - pauses().back().begin_ns > 600'000'000;
    });
    EXPECT_EQ(program.ask(Op::set_budget, 0).answer, static_cast<std::uint32_t>(Answer::done));
    program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
    const std::size_t before = program.kernels();
    program.drain_until([&] { return program.kernels() > before + 10; });
    EXPECT_EQ(program.tell("quiet"), "ok");
    const std::size_t told = pauses().size();
    const PauseEvent last = pauses().back();
    EXPECT_GT(longest_quiet(last, program.works()), (last.end_ns - last.begin_ns) / 2);
    EXPECT_TRUE(std::ranges::any_of(program.works(),
                                    [&](const Work& work) { return work.begin_ns > last.end_ns; }));
    EXPECT_EQ(program.finish(), 0);
    EXPECT_EQ(pauses().size(), told);
}

class Exhausted : public testing::TestWithParam<const char*> {};
// CUPTI may be refused a buffer since 12.9; older ones get one whose contents are thrown away.
INSTANTIATE_TEST_SUITE_P(Cupti, Exhausted, testing::Values("13000", "12040"));

TEST_P(Exhausted, LossIsCountedAndRecordingGoesOn) {
    Program program(program_path(), {}, {{"MOCK_CUDA_VERSION", GetParam()}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    program.drain_until([&] { return program.kernels() == 1; });
    EXPECT_GE(std::stoi(program.tell("hoard 70")), 64);
    const long delivered = program.status("delivered");
    EXPECT_EQ(program.tell("launch 500"), "ok");
    program.drain_until([&] { return program.service().cupti_dropped >= 1000; });
    EXPECT_EQ(program.kernels(), 1u);
    EXPECT_EQ(program.tell("hoard 0"), "0");
    // What was lost is counted exactly: what CUPTI dropped, or what it delivered into the void.
    const auto lost = [&] {
        return program.status("dropped") + program.status("delivered") - delivered;
    };
    program.drain_until(
        [&] { return static_cast<long>(program.service().cupti_dropped) == lost(); });
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 3; });
    EXPECT_EQ(program.finish(), 0);
}

TEST(CuptiSession, WhatCuptiDropsIsTold) {
    Program program(program_path(), {}, {{"MOCK_CUPTI_DROP_EVERY", "7"}});
    EXPECT_EQ(program.tell("launch 500"), "ok");
    program.drain_until([&] {
        return program.service().cupti_dropped > 130 &&
               static_cast<long>(program.service().cupti_dropped) == program.status("dropped");
    });
    program.drain();
    EXPECT_LT(program.kernels(), 500u);
    EXPECT_GT(program.kernels(), 300u);
}

class Damaged : public testing::TestWithParam<std::pair<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Cupti, Damaged,
                         testing::Values(std::pair("MOCK_CUPTI_CUT", "13000"),
                                         std::pair("MOCK_CUPTI_CUT", "12040"),
                                         std::pair("MOCK_CUPTI_FORGE", "13000"),
                                         std::pair("MOCK_CUPTI_FORGE", "12040")));

// The program must not crash, and what is whole must come through.
TEST_P(Damaged, RecordsAreLeftOutAndCounted) {
    Program program(program_path(), {},
                    {{GetParam().first, "1"}, {"MOCK_CUDA_VERSION", GetParam().second}});
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(program.tell("launch 10"), "ok");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    program.drain_until(
        [&] { return program.kernels() > 0 && program.service().cupti_dropped > 0; });
    EXPECT_EQ(program.finish(), 0);
    // A cut buffer loses its last record, a forged kernel only itself.
    EXPECT_GE(program.kernels() + program.service().cupti_dropped, 200u);
    for (const Work& w : program.works()) {
        EXPECT_GE(w.end_ns, w.begin_ns);
        EXPECT_LT(w.end_ns, now_ns());
    }
}

TEST(CuptiSession, AKindThatIsRefusedIsNamed) {
    Program program(program_path(), {}, {{"MOCK_CUPTI_REFUSE", "49"}});
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 2; });
    EXPECT_EQ(program.service().cupti, CuptiState::recording);
    EXPECT_EQ(program.service().cupti_reason, "without allocations: CUPTI_ERROR_NOT_SUPPORTED");
}

TEST(CuptiSession, NoCuptiNoKernelsAndAReason) {
    const struct {
        Environment environment;
        CuptiState state;
        const char* reason;
    } cases[] = {
        {{{"GAUSSCOPE_CUPTI_LIBRARY", "/nowhere/libcupti.so"}},
         CuptiState::unavailable,
         "no libcupti found"},
        {{{"MOCK_CUPTI_VERSION", "12"}}, CuptiState::unavailable, "older than CUDA 11.8"},
        {{{"MOCK_CUPTI_REFUSE", "10"}},
         CuptiState::unavailable,
         "kernels: CUPTI_ERROR_NOT_SUPPORTED"},
        {{{"GAUSSCOPE_CUPTI", "0"}}, CuptiState::not_asked, "switched off by GAUSSCOPE_CUPTI=0"},
    };
    for (const auto& c : cases) {
        Program program(program_path(), {}, c.environment);
        EXPECT_EQ(program.tell("range here 2"), "ok");
        program.drain_until(
            [&] { return has_range(program, "here") && !program.service().cupti_reason.empty(); });
        EXPECT_EQ(program.service().cupti, c.state) << c.reason;
        EXPECT_NE(program.service().cupti_reason.find(c.reason), std::string::npos)
            << program.service().cupti_reason;
        EXPECT_EQ(program.kernels(), 0u);
        EXPECT_EQ(program.finish(), 0);
    }
}

// No CUDA call so far: nothing is loaded or initialised on the program's behalf, for it may still
// fork.
TEST(CuptiSession, AProgramThatHasNotUsedCudaIsLeftAlone) {
    Program program(program_path(), {});
    program.drain_until([&] { return !program.service().cupti_reason.empty(); });
    EXPECT_EQ(program.service().cupti, CuptiState::not_asked);
    EXPECT_EQ(program.tell("status"), "no CUPTI");
    EXPECT_EQ(program.tell("forget"), "0");
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 2; });
    EXPECT_EQ(program.tell("forget"), "0");
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 4; });
}

}  // namespace
}  // namespace gs::cupti_test
