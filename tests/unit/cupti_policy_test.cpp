// How CUPTI is used so that it harms no program and its figures are true, against a mock that is as
// hard as CUPTI is: buffers that come back whole, versions that crash, other tools that steal.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "base/record/clock.h"
#include "profiler/serve/watch.h"
#include "tests/unit/cupti_program.h"

namespace gs::cupti_test {
namespace {

using abi::CuptiState;
using service::Answer;
using service::Op;

bool done(const service::Reply& reply) {
    return reply.answer == static_cast<std::uint32_t>(Answer::done);
}

TEST(CuptiPolicy, GraphsNodeByNodeForAWhileOnly) {
    Program program(program_path(), {}, {{"GAUSSCOPE_CUPTI_REST", "0"}});
    EXPECT_EQ(program.tell("init"), "0");
    EXPECT_EQ(program.tell("graph 1"), "0");
    program.drain_until([&] { return program.works(GpuWorkKind::graph).size() == 1; });
    EXPECT_EQ(program.kernels(), 0u);
    EXPECT_EQ(program.status("pinned"), 1);
    EXPECT_TRUE(done(program.ask(Op::graph_nodes, 1)));
    EXPECT_FALSE(done(program.ask(Op::graph_nodes, 3601)));
    program.drain_until([&] { return program.service().cupti_reason == "graphs node by node"; });
    EXPECT_EQ(program.tell("graph 2"), "0");
    program.drain_until([&] { return program.kernels() == 2; });
    EXPECT_EQ(program.works(GpuWorkKind::graph).size(), 1u);
    program.drain_until([&] { return program.service().cupti_reason.empty(); });
    EXPECT_EQ(program.tell("graph 3"), "0");
    program.drain_until([&] { return program.works(GpuWorkKind::graph).size() == 2; });
    EXPECT_EQ(program.kernels(), 2u);
    EXPECT_EQ(program.finish(), 0);
}

// Kinds stay as they are for half a minute (here: an hour, for a machine that is slow): what was
// just switched on is not switched again.
TEST(CuptiPolicy, KindsRest) {
    Program program(program_path(), {},
                    {{"MOCK_CUPTI_WHOLE", "1"}, {"GAUSSCOPE_CUPTI_REST", "3600"}});
    EXPECT_EQ(program.tell("busy"), "ok");
    program.drain_until([&] { return program.kernels() > 10; });
    const long changes = program.status("changes");
    EXPECT_TRUE(done(program.ask(Op::graph_nodes, 1)));
    EXPECT_TRUE(done(program.ask(Op::set_budget, 1)));
    program.drain_until([&] { return program.service().cupti == CuptiState::paused; });
    EXPECT_TRUE(done(program.ask(Op::set_budget, 0)));
    program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
    const std::size_t before = program.kernels();
    program.drain_until([&] { return program.kernels() > before; });
    EXPECT_EQ(program.tell("quiet"), "ok");
    EXPECT_EQ(program.status("changes"), changes);
    // Nothing that ran was cut off by a forced flush.
    EXPECT_EQ(program.service().cupti_dropped, 0u);
    EXPECT_EQ(program.finish(), 0);
}

bool has_range(const TraceStore& store, const std::string& name) {
    return std::ranges::any_of(store.tracks(), [&](const TraceTrack& track) {
        return std::ranges::any_of(track.rows, [&](const auto& row) {
            return std::ranges::any_of(
                row.view(), [&](const TraceSpan& span) { return store.name(span.name) == name; });
        });
    });
}

// What the driver opens belongs into the program's table, as if the program had called it.
TEST(CuptiPolicy, IsCalledBesideTheProgramsDescriptors) {
    Program program(program_path(), {}, {});
    EXPECT_EQ(program.tell("init"), "0");
    const auto open_in = [&](const std::filesystem::path& task) {
        std::set<std::string> numbers;
        for (const auto& entry : std::filesystem::directory_iterator(task / "fd"))
            numbers.insert(entry.path().filename());
        return numbers;
    };
    const std::filesystem::path process = "/proc/" + std::to_string(program.pid());
    // The thread names itself when it first gets a processor.
    const auto cupti_thread = [&]() -> std::filesystem::path {
        for (const auto& task : std::filesystem::directory_iterator(process / "task")) {
            std::string name;
            std::getline(std::ifstream(task.path() / "comm"), name);
            if (name == "gs-cupti") return task.path();
        }
        return {};
    };
    program.drain_until([&] { return !cupti_thread().empty(); });
    EXPECT_EQ(open_in(cupti_thread()), open_in(process));
    EXPECT_EQ(program.finish(), 0);
}

// CUPTI takes its time in every call, kept or not: three microseconds here, as on a real GPU. The
// program keeps to its budget because a pause turns everything off but the recording of ranges.
TEST(CuptiPolicy, APauseOfTheBudgetCostsNothing) {
    Program program(program_path(), {},
                    {{"MOCK_CUPTI_WHOLE", "1"}, {"MOCK_CUPTI_CALL_NS", "3000"}});
    EXPECT_EQ(program.tell("init"), "0");
    constexpr double kShare = 0.005;
    EXPECT_TRUE(done(program.ask(Op::set_budget, static_cast<std::uint64_t>(kShare * 1e6))));
    const std::uint64_t begin = monotonic_ns();
    EXPECT_EQ(program.tell("busy 250"), "ok");
    program.drain_until([&] { return program.service().cupti == CuptiState::paused; });
    EXPECT_GT(program.kernels(), 100u);
    program.drain_until([&] { return program.status("kinds") == 0; });
    const long made = program.status("made");
    for (const char* what : {"kinds", "calls", "domains"})
        EXPECT_EQ(program.status(what), 0) << what;
    EXPECT_EQ(program.tell("range meanwhile 1"), "ok");
    program.drain_until([&] { return has_range(program.store(), "meanwhile"); });
    EXPECT_EQ(program.status("made"), made);
    program.drain_until([&] { return program.service().cupti == CuptiState::recording; });
    // Three calls, their kernels and a wait are six records.
    const double spent_s = 0.5 * 3e-6 * static_cast<double>(made);
    const double passed_s = 1e-9 * static_cast<double>(monotonic_ns() - begin);
    EXPECT_LE(spent_s, kShare * (passed_s + 1) * 1.2);
    // How much less depends on how far a busy machine lets the program get.
    EXPECT_LT(program.service().duty, 1);
    EXPECT_EQ(program.service().budget_skipped, 0u);
    EXPECT_FALSE(program.store().processes()[0].pauses.view().empty());
    EXPECT_EQ(program.tell("quiet"), "ok");
    EXPECT_EQ(program.finish(), 0);
}

class Versions : public testing::TestWithParam<std::pair<const char*, long>> {};
INSTANTIATE_TEST_SUITE_P(Cupti, Versions, testing::Values(std::pair("23", 0), std::pair("24", 1)));

// Before 12.6 a program with graphs crashes when CUPTI comes again after it was detached.
TEST_P(Versions, AreDetachedFromWhereThatIsSafe) {
    Program program(program_path(), {},
                    {{"MOCK_CUDA_VERSION", "12040"}, {"MOCK_CUPTI_VERSION", GetParam().first}});
    EXPECT_EQ(program.tell("init"), "0");
    EXPECT_EQ(program.tell("graph 1"), "0");
    program.drain_until([&] { return program.works(GpuWorkKind::graph).size() == 1; });
    EXPECT_EQ(program.tell("busy"), "ok");
    EXPECT_TRUE(done(program.ask(Op::release_cupti)));
    EXPECT_EQ(program.tell("quiet"), "ok");
    EXPECT_EQ(program.status("finalized"), GetParam().second);
    for (const char* what : {"subscribed", "kinds", "calls", "domains"})
        EXPECT_EQ(program.status(what), 0) << what;
    EXPECT_TRUE(done(program.ask(Op::acquire_cupti)));
    EXPECT_EQ(program.tell("graph 2"), "0");
    program.drain_until([&] { return program.works(GpuWorkKind::graph).size() == 2; });
    EXPECT_EQ(program.finish(), 0);
}

TEST(CuptiPolicy, StolenBuffersAreNoticed) {
    Program program(program_path(), {}, {{"MOCK_CUPTI_WHOLE", "1"}});
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 2; });
    EXPECT_EQ(program.tell("steal"), "0");
    EXPECT_EQ(program.tell("busy"), "ok");
    program.drain_until([&] { return program.service().cupti == CuptiState::held; });
    EXPECT_NE(program.service().cupti_reason.find("another tool took over"), std::string::npos);
    // Whoever has them keeps what it asked for.
    EXPECT_GT(program.status("kinds"), 0);
    EXPECT_EQ(program.status("subscribed"), 0);
    EXPECT_TRUE(done(program.ask(Op::acquire_cupti)));
    program.drain_until([&] { return program.kernels() > 2; });
    EXPECT_EQ(program.tell("quiet"), "ok");
    EXPECT_EQ(program.finish(), 0);
}

// A program that does nothing for long has not been robbed.
TEST(CuptiPolicy, SilenceIsNoTheft) {
    Program program(program_path(), {}, {{"MOCK_CUPTI_WHOLE", "1"}});
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.status("domains") == 2; });
    EXPECT_EQ(program.tell("launch 2"), "ok");
    program.drain_until([&] { return program.kernels() == 4 && program.status("domains") == 0; });
    EXPECT_EQ(program.service().cupti, CuptiState::recording);
    EXPECT_EQ(program.finish(), 0);
}

// A child is a process of its own, with names, ranges and kernels; its parent keeps recording.
TEST(CuptiPolicy, AForkedChildRecords) {
    // What threads of the parent held at the fork is no leak of the child's.
    Program program(program_path(), {}, {{"ASAN_OPTIONS", "detect_leaks=0"}});
    std::string answer;
    std::jthread forks([&] { answer = program.tell("child"); });
    TraceStore child;
    program.read_child(child);
    forks.join();
    EXPECT_EQ(answer, "0");
    const std::vector<Work> works = works_of(child, GpuWorkKind::kernel);
    ASSERT_EQ(works.size(), 2u);
    EXPECT_EQ(works[0].range, "in the child");
    EXPECT_EQ(works[0].name, "step");
    ASSERT_EQ(child.processes().size(), 1u);
    EXPECT_EQ(child.sources().loss().total(), 0u);
    EXPECT_EQ(child.processes()[0].service->unmatched_ends, 0u);
    EXPECT_EQ(program.tell("range after 3"), "ok");
    program.drain_until([&] { return program.kernels() == 3; });
    EXPECT_EQ(program.works()[0].range, "after");
    EXPECT_EQ(program.store().sources().loss().total(), 0u);
    EXPECT_EQ(program.finish(), 0);
}

// CUDA is of no use to a child of one that has used it, and that is said; its ranges are recorded.
TEST(CuptiPolicy, AForkedChildOfOneThatUsedCuda) {
    Program program(trainer_path(), {"--iterations", "5", "--fork"});
    TraceStore child;
    program.read_child(child);
    EXPECT_EQ(program.finish(), 0);
    ASSERT_EQ(child.processes().size(), 1u);
    ASSERT_TRUE(child.processes()[0].service);
    EXPECT_EQ(child.processes()[0].service->cupti, CuptiState::not_asked);
    EXPECT_FALSE(child.processes()[0].service->cupti_reason.empty());
    EXPECT_NE(child.processes()[0].pid, program.store().processes()[0].pid);
    EXPECT_TRUE(std::ranges::any_of(child.tracks(), [&](const TraceTrack& track) {
        return !track.rows.empty() && track.rows[0].size() == 1 &&
               child.name(track.rows[0].view()[0].name) == "in the child";
    }));
    EXPECT_EQ(program.works().size(), 5u * 16);
    EXPECT_EQ(program.store().sources().loss().total(), 0u);
}

class Saturated : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cupti, Saturated, testing::Values("0", "1"));

// A GPU that is never idle and has few, long kernels: CUPTI keeps its buffers to the last.
TEST_P(Saturated, GpuIsNotCalledIdle) {
    Program program(program_path(), {},
                    {{"MOCK_CUPTI_WHOLE", "1"}, {"MOCK_CUPTI_PER_THREAD", GetParam()}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    program.drain_until([&] { return program.kernels() == 1; });
    std::string answer;
    std::jthread work([&] { answer = program.tell("saturate 100 70"); });
    serve::Watch watch;
    double busy_ms = 0, watched_ms = 0;
    std::int64_t from = 0, until = 0;
    for (int look = 0; look < 70; ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        program.drain();
        const auto now = static_cast<std::int64_t>(monotonic_ns());
        const std::vector<serve::News> news = watch.look(program.store(), now);
        ASSERT_EQ(news.size(), 1u);
        EXPECT_FALSE(news[0].gpu_incomplete);
        busy_ms += news[0].stretch.busy_ms;
        watched_ms += news[0].stretch.wall_ms;
        until = std::max(until, serve::settled_until(program.store().processes()[0], now));
        if (look == 0) from = until;
    }
    work.join();
    EXPECT_EQ(answer, "ok");
    EXPECT_EQ(program.finish(), 0);
    from = std::max(from, program.works().front().begin_ns);  // before, it was not watched
    double truth_ms = 0;
    for (const Work& w : program.works())
        truth_ms += static_cast<double>(std::max<std::int64_t>(
                        std::min(w.end_ns, until) - std::max(w.begin_ns, from), 0)) *
                    1e-6;
    const double wall_ms = static_cast<double>(until - from) * 1e-6;
    EXPECT_GT(watched_ms, 2000);
    EXPECT_NEAR(busy_ms / watched_ms, truth_ms / wall_ms, 0.03);
}

}  // namespace
}  // namespace gs::cupti_test
