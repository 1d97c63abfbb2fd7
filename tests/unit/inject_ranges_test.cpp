// A reader of a program's ring sees what the program passed to NVTX: names, domains, categories,
// payloads, threads, nesting.
#include "tests/unit/inject_program.h"

#include <bit>

namespace gs::inject_test {
namespace {

using Range = WithProgram;

TEST_P(Range, EverythingArrivesAsItWasTold) {
    Program program(GetParam(), {"everything"});
    const Recording& seen = program.recorded();

    const Seen iteration = seen.only("iteration"), forward = seen.only("forw\u00E4rd");
    EXPECT_EQ(iteration.depth, 0);
    EXPECT_EQ(forward.depth, 1);
    EXPECT_LE(iteration.begin_ns, forward.begin_ns);
    EXPECT_GE(iteration.end_ns, forward.end_ns);
    EXPECT_EQ(iteration.thread, "trainer");
    EXPECT_EQ(iteration.domain, "");
    EXPECT_FALSE(iteration.has_payload);
    EXPECT_TRUE(seen.only("checkpoint").mark);
    EXPECT_TRUE(seen.only("eval").mark);
    EXPECT_EQ(seen.count("short-lived name"), 1u);

    EXPECT_EQ(seen.last().loss.total(), 0u);
    EXPECT_EQ(seen.last().pid, static_cast<std::uint32_t>(program.pid()));
    ASSERT_TRUE(seen.last().service);
    EXPECT_TRUE(seen.last().service->armed);
    EXPECT_EQ(seen.last().service->unmatched_ends, 0u);
    EXPECT_TRUE(seen.open().empty());
}

TEST_P(Range, PayloadsOfEveryTypeKeepTheirValue) {
    Program program(GetParam(), {"everything"});
    const std::vector<Seen> p = program.recorded().called("payload");
    ASSERT_EQ(p.size(), 6u);
    for (const Seen& s : p) EXPECT_TRUE(s.has_payload);
    EXPECT_EQ(p[0].payload_kind, PayloadKind::whole);
    EXPECT_EQ(p[0].payload, 18'000'000'000'000'000'000u);
    EXPECT_EQ(p[1].payload_kind, PayloadKind::signed_whole);
    EXPECT_EQ(static_cast<std::int64_t>(p[1].payload), -5'000'000'000);
    EXPECT_EQ(p[2].payload_kind, PayloadKind::real);
    EXPECT_EQ(std::bit_cast<double>(p[2].payload), 0.25);
    EXPECT_EQ(p[3].payload_kind, PayloadKind::whole);
    EXPECT_EQ(p[3].payload, 4'000'000'000u);
    EXPECT_EQ(p[4].payload_kind, PayloadKind::signed_whole);
    EXPECT_EQ(static_cast<std::int64_t>(p[4].payload), -7);
    EXPECT_EQ(p[5].payload_kind, PayloadKind::real);
    EXPECT_EQ(std::bit_cast<double>(p[5].payload), -1.5);
}

TEST_P(Range, DomainsCategoriesAndColoursAreKept) {
    Program program(GetParam(), {"everything"});
    const Recording& seen = program.recorded();
    const std::vector<Seen> render = seen.called("render");
    ASSERT_EQ(render.size(), 2u);
    EXPECT_EQ(render[0].domain, "gsplat");
    EXPECT_EQ(render[0].category, "raster");
    EXPECT_EQ(render[0].color, 0x0176B900u);
    EXPECT_EQ(render[1].domain, "");
    EXPECT_EQ(render[1].category, "");
    EXPECT_EQ(render[1].color, 0u);
    EXPECT_EQ(seen.only("isect-t\u00EFles \U0001F600").depth, 1);
    EXPECT_EQ(seen.only("reset").domain, "gsplat");
}

TEST_P(Range, RangesThatOverlapAreOnTheThreadThatEndedThem) {
    Program program(GetParam(), {"everything"});
    const Recording& seen = program.recorded();
    const Seen a = seen.only("download"), b = seen.only("upload");
    EXPECT_TRUE(a.overlapping && b.overlapping);
    EXPECT_LT(a.begin_ns, b.begin_ns);
    EXPECT_LT(b.begin_ns, a.end_ns);
    EXPECT_LT(a.end_ns, b.end_ns);
    EXPECT_NE(a.track, b.track);
}

TEST_P(Range, MistakesAreHarmlessAndCounted) {
    Program program(GetParam(), {"mistakes"});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.last().service->unmatched_ends, 3u);
    EXPECT_EQ(seen.count("deep"), 64u);
    EXPECT_EQ(seen.last().loss.too_deep, 36u);
    EXPECT_EQ(seen.last().loss.dropped, 0u);
    EXPECT_EQ(seen.only("wrong handles").domain, "");
    EXPECT_EQ(seen.count(std::string(240, 'x')), 1u);
    EXPECT_EQ(seen.last().loss.truncated_strings, 1u);
    EXPECT_EQ(seen.only("after all that").depth, 1);
    EXPECT_EQ(seen.open(), std::vector<std::string>{"left open"});
    program.go_on();
    EXPECT_EQ(program.wait(), 0);
}

TEST_P(Range, DomainsNestEachByItself) {
    Program program(GetParam(), {"crossing"});
    const Recording& seen = program.recorded();
    const Seen a = seen.only("in a"), b = seen.only("in b");
    EXPECT_TRUE(a.overlapping);   // ended while another was open inside it
    EXPECT_FALSE(b.overlapping);  // and moved outwards then
    EXPECT_EQ(b.depth, 0);
    EXPECT_EQ(seen.last().service->unmatched_ends, 1u);
    EXPECT_TRUE(seen.open().empty());
}

TEST_P(Range, AThreadCanBeNamedByAnother) {
    Program program(GetParam(), {"names"});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.only("as first").track, seen.only("as second").track);
    EXPECT_EQ(seen.only("as second").thread, "second name");
}

TEST_P(Range, NamesMadeUpForEveryStepDoNotPushOutTheOthers) {
    Program program(GetParam(), {"many_names"});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("a name without digits"), 1u);
    EXPECT_GT(seen.count("iteration #"), 1000u);
    EXPECT_EQ(seen.last().loss.dropped_strings, 0u);
    EXPECT_GT(seen.last().loss.truncated_strings, 0u);  // it says so
}

TEST_P(Range, SixtyFourThreadsAtOnceLoseNothing) {
    Program program(GetParam(), {"threads", "64", "400"});
    service::Connection& connection = program.connection();
    EXPECT_TRUE(connection.alive());
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.last().loss.total(), 0u);
    EXPECT_EQ(seen.count("inner"), 64u * 400u);
    std::map<std::string, std::uint64_t> next;
    for (const Seen& s : seen.called("outer")) EXPECT_EQ(s.payload, next[s.thread]++) << s.thread;
    EXPECT_EQ(next.size(), 64u);
    for (const auto& [thread, ranges] : next) {
        EXPECT_EQ(thread.substr(0, 7), "worker ");
        EXPECT_EQ(ranges, 400u);
    }
}

TEST_P(Range, LanesOfThreadsThatEndedServeOthers) {
    Program program(GetParam(), {"thread_exits"});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("short life"), 300u);
    EXPECT_EQ(seen.last().loss.total(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Client, Range, testing::ValuesIn(Program::builds()), name_of_build);

}  // namespace
}  // namespace gs::inject_test
