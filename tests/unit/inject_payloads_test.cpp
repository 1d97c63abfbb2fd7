// NVTX's payload extension: what ranges and marks tell by name, and layouts that lie.

#include "profiler/store/store.h"
#include "tests/unit/inject_program.h"

namespace gs::inject_test {
namespace {

class Payloads : public WithProgram {};

using Words = std::vector<std::string>;

TEST_P(Payloads, CollectivesAreToldAsNcclTellsThem) {
    Program program(GetParam(), {"payloads"});
    const std::vector<Seen> seen = program.recorded().called("ncclAllReduce");
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].domain, "NCCL");
    EXPECT_TRUE(seen[0].has_payload);
    EXPECT_EQ(seen[0].payload, 1u << 20);  // the bytes
    EXPECT_EQ(seen[0].values, (Words{"NCCL communicator ID 12648430",
                                     "Message size [bytes] 1048576", "Reduction operation sum"}));
    EXPECT_EQ(seen[1].payload, 64u);
    EXPECT_EQ(seen[1].values.back(), "Reduction operation 7");  // its enum has no name for it
}

TEST_P(Payloads, LayoutsOfEveryKind) {
    Program program(GetParam(), {"payloads"});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.only("structs").values,
              (Words{"first -3", "x -1", "y 0.5", "x 2", "y 1.5", "text hi", "last 2.25"}));
    EXPECT_FALSE(seen.only("structs").has_payload);  // of several numbers none is the payload
    EXPECT_EQ(seen.only("dynamic").values,
              (Words{"count 3", "items 10", "items 20", "items 30", "word ok", "after 99"}));
    EXPECT_EQ(static_cast<std::int64_t>(seen.only("alone").payload), -40);
    EXPECT_EQ(seen.only("inside").values, Words{});
    const std::vector<Seen> by_payload = seen.called("by payload");
    ASSERT_EQ(by_payload.size(), 3u);
    for (const Seen& s : by_payload) {
        EXPECT_TRUE(s.has_payload || s.mark);
        EXPECT_EQ(s.payload, 12u);
        // A range that any thread may end has only its payload.
        const Words expected = s.mark ? Words{"step 12"} : Words{"step 12", " -40"};
        EXPECT_EQ(s.values, s.overlapping ? Words{} : expected);
    }
    EXPECT_EQ(seen.last().loss.total(), 0u);
}

TEST_P(Payloads, LiesDoNoHarm) {
    Program program(GetParam(), {"payload_lies"});
    const Recording& seen = program.recorded();
    EXPECT_GT(seen.count("lie"), 600u);
    EXPECT_EQ(seen.last().loss.malformed, 0u);
    EXPECT_EQ(seen.count("after the lies"), 1u);
    EXPECT_TRUE(seen.open().empty());
    program.go_on();
    EXPECT_EQ(program.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Payloads, testing::ValuesIn(Program::builds()), name_of_build);

// ---- in the store ----

TEST(RangeValuesTest, AreFoundByTheirRange) {
    TraceStore store;
    TraceBatch b{.tracks = {{0, 1, 1, "main"}, {1, 1, 2, "other"}},
                 .names = {{1, "bytes"}, {2, "op"}, {3, "sum"}, {4, "outer"}, {5, "inner"}},
                 .source = 1,
                 .pid = 1,
                 .read_ns = 1};
    // What ends a range may tell more of it, after those inside.
    b.values = {{100, 4096, 0, 1, 0}, {100, 7, 0, 1, 1},
                {150, 1, 0, 1, 1},    {100, 3, 0, 2, 0, PayloadKind::name},
                {150, 2, 1, 1, 0},    {9, 9, 77, 1, 0}};
    b.spans = {{150, 160, 0, 0, 5, 1}, {100, 200, 0, 0, 4, 0}};
    store.ingest(b);
    const auto texts = [&](std::size_t track, std::int64_t begin, std::size_t row) {
        Words out;
        for (const TraceValue& v : store.values().of(track, begin, row))
            out.push_back(std::string(store.name(v.name)) + " " + value_text(store.names(), v));
        return out;
    };
    EXPECT_EQ(texts(0, 100, 0), (Words{"bytes 4096", "op sum"}));
    EXPECT_EQ(texts(0, 100, 1), (Words{"bytes 7"}));
    EXPECT_EQ(texts(1, 150, 0), (Words{"bytes 2"}));
    EXPECT_EQ(texts(1, 100, 0), Words{});
    const TraceStore part = store.excerpt(120, 300);
    EXPECT_TRUE(part.values().of(0, 100, 0).empty());
    EXPECT_EQ(part.values().of(0, 150, 1).size(), 1u);
    store.clear();
    EXPECT_TRUE(store.values().of(0, 100, 0).empty());
}

}  // namespace
}  // namespace gs::inject_test
