// Traces as other programs write them: overlapping spans, processes with any number or name,
// asynchronous ranges, ranges without an end. Lengths and processes come in as they are and go out
// as they came.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "tests/support/data.h"
#include "tests/support/required.h"
#include "tests/unit/foreign_traces.h"

namespace gs {
namespace {

using test::Lengths, test::lengths_of, test::words_by_process, test::events, test::whole,
    test::counts;

class Foreign : public test::ForeignTraces {};

TEST_F(Foreign, OverlappingSpansKeepTheirLengths) {
    TraceStore store;
    const auto summary = read(events(whole("long", 0, 1000) + "," + whole("child", 900, 500) + "," +
                                     whole("in", 1000, 50) + "," + whole("later", 1600, 10)),
                              store);
    EXPECT_EQ(summary.lost, 0u);
    EXPECT_NE(note_with(summary, "1 span overlaps others"), "");
    expect_kept(store);
    const auto folded = required(export_folded(store, folder_ / "t.folded"));
    EXPECT_EQ(folded, 2u);  // the child, and what is in it
    EXPECT_EQ(*read_text_file(folder_ / "t.folded"),
              "thread 1;child 450\nthread 1;child;in 50\nthread 1;later 10\nthread 1;long 1000\n");
    ASSERT_TRUE(export_speedscope(store, folder_ / "t.speedscope.json"));
    const auto json = nlohmann::json::parse(*read_text_file(folder_ / "t.speedscope.json"));
    std::int64_t child = 0;
    for (const auto& profile : json["profiles"])
        for (const auto& event : profile["events"])
            if (json["shared"]["frames"][event["frame"].get<std::size_t>()]["name"] == "child")
                child += event["at"].get<std::int64_t>() * (event["type"] == "O" ? -1 : 1);
    EXPECT_EQ(child, 500'000);
}

TEST_F(Foreign, AnyMixtureOfSpansSurvivesEveryExport) {
    for (std::uint64_t round = 0; round < 20; ++round) {
        std::string list;
        for (std::uint64_t i = 0; i < 150; ++i) {
            const auto number = [&](std::uint64_t k) { return random_bits(round, i, k); };
            const double begin = static_cast<double>(number(0) % 2000) + 0.125;
            const double length = static_cast<double>(number(1) % (round < 10 ? 40 : 400));
            list +=
                (list.empty() ? "" : ",") + whole(fmt::format("n{}", i % 7).c_str(), begin, length);
        }
        TraceStore store;
        const auto summary = read(events(list), store);
        EXPECT_EQ(summary.spans, 150u);
        EXPECT_EQ(store.timeline().misplaced(), 0u);
        expect_kept(store);
    }
}

// A chain in which each overlaps the next only needs two rows, however long it is; more at one time
// than there are rows are kept beside.
TEST_F(Foreign, ManyOverlappingSpansAreAllKept) {
    std::string chain, crowd;
    for (int i = 0; i < 300; ++i) {
        chain += (i == 0 ? "" : ",") + whole("chain", i * 100, 150);
        crowd += (i == 0 ? "" : ",") + whole("crowd", i * 10, 100'000);
    }
    TraceStore store;
    read(events(chain), store);
    EXPECT_EQ(store.tracks()[0].rows.size(), 2u);
    expect_kept(store);
    TraceStore many;
    const auto summary = read(events(crowd), many);
    EXPECT_EQ(std::pair(summary.spans, summary.lost), counts(300, 0));
    EXPECT_NE(note_with(summary, "overlap more than 64 others"), "");
    EXPECT_EQ(lengths_of(many).size(), 300u);
    expect_kept(many);
}

// As Python's call stacks are, which torch.profiler writes on request.
TEST_F(Foreign, RangesInMoreThanSixtyFourOthersKeepTheirLengths) {
    std::string inside, open;
    for (int i = 0; i < 300; ++i) {
        const char* const comma = i == 0 ? "" : ",";
        inside += comma + whole(fmt::format("n{}", i).c_str(), i, 600 - 2 * i);
        open += fmt::format(R"({}{{"ph": "B", "name": "o{}", "pid": 1, "tid": 1, "ts": {}}})",
                            comma, i, i);
    }
    for (const std::string& list : {inside, open + "," + whole("last", 900, 100)}) {
        TraceStore store;
        const auto summary = read(events(list), store);
        EXPECT_EQ(summary.lost, 0u) << fmt::format("{}", fmt::join(summary.notes, "; "));
        EXPECT_NE(note_with(summary, "more than 64 others"), "");
        const Lengths kept = lengths_of(store);
        EXPECT_EQ(kept.size(), list == inside ? 300u : 301u);
        EXPECT_EQ(kept.contains({"n299", 299'000, 301'000}), list == inside);
        EXPECT_EQ(kept.contains({"o299", 299'000, 1'000'000}), list != inside);
        expect_kept(store);
    }
}

// Zero is also how a file writes that there is no process, and torch the first GPU.
TEST_F(Foreign, AProcessThatIsCalledZeroIsOneOfItsOwn) {
    const auto event = [](const char* name, const char* more, int pid, int at) {
        return fmt::format(
            R"({{"ph": "X", "name": "{}", {} "pid": {}, "tid": 1, "ts": {}, "dur": 5}})", name,
            more, pid, at);
    };
    const std::string count = R"({"ph": "C", "name": "c", "pid": 0, "ts": 1, "args": {"v": 3}})";
    const std::string of_zero = event("a", "", 0, 0) + "," + count + "," +
                                event("k", R"("cat": "kernel",)", 0, 2) + "," +
                                R"({"ph": "M", "name": "process_name", "pid": 0,)"
                                R"( "args": {"name": "host"}})";
    TraceStore two, one;
    EXPECT_EQ(read(events(of_zero + "," + event("b", "", 1, 0) + "," + event("c", "", 1, 10)), two)
                  .processes,
              2u);
    EXPECT_EQ(words_by_process(two),
              (std::vector<std::string>{"host/thread 1: a 5", "host/GPU 0 stream 0: k 5",
                                        "/thread 1: b 5", "/thread 1: c 5"}))
        << fmt::format("{}", fmt::join(words_by_process(two), "\n"));
    ASSERT_EQ(two.counters().size(), 1u);
    EXPECT_EQ(two.processes()[two.counters()[0].process].name, "host");
    expect_kept(two);
    for (const char* file : {"out.json", "out.pftrace"}) {
        TraceStore again;
        ASSERT_TRUE(import_trace(folder_ / file, again));
        EXPECT_EQ(words_by_process(again).size(), 4u);
        EXPECT_EQ(again.processes().size(), 2u) << file;
    }
    EXPECT_EQ(read(events(of_zero), one).processes, 1u);
    EXPECT_EQ(one.processes()[0].pid, 0u);
    EXPECT_EQ(words_by_process(one),
              (std::vector<std::string>{"host/thread 1: a 5", "host/GPU 0 stream 0: k 5"}));
}

TEST_F(Foreign, TorchsOverheadIsOfTheProcessThatItRecorded) {
    TraceStore store;
    const auto summary =
        read(events(whole("a", 0, 10) + R"(,{"ph": "X", "cat": "overhead", "name": "Buffer Flush",)"
                                        R"( "pid": -1, "tid": 0, "ts": 2, "dur": 3})"),
             store);
    EXPECT_EQ(std::pair(summary.spans, std::uint64_t{summary.processes}), counts(2, 1));
    EXPECT_EQ(store.processes()[0].pid, 1u);
}

TEST_F(Foreign, CountersOfSmallProcessNumbersStayApart) {
    std::string list = whole("host", 0, 10);
    for (const int pid : {1, 2, 3})
        list += fmt::format(
            R"(,{{"ph": "C", "name": "c", "pid": {}, "ts": {}, "args": {{"v": 1}}}})", pid, pid);
    TraceStore store;
    EXPECT_EQ(read(events(list), store).processes, 3u);
    EXPECT_EQ(store.counters().size(), 3u);
}

TEST_F(Foreign, ProcessesAndThreadsOfAnyNumberStayApart) {
    const auto event = [](const char* name, const char* pid, const char* tid, int at) {
        return fmt::format(
            R"({{"ph": "X", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": 5}})", name, pid,
            tid, at);
    };
    TraceStore store;
    const auto summary = read(
        events(
            event("a", "7168000000", "140339968804608", 0) + "," +
            event("b", "7168000000", "140339968804609", 10) + "," +
            event("c", "7168000001", "140339968804608", 20) + "," +
            event("d", "-7", "\"main\"", 30) + "," + event("e", "\"card\"", "\"main\"", 40) + "," +
            event("f", "18446744073709551616", "1e300", 50) + "," + event("g", "12.0", "3", 60) +
            "," + event("h", "12", "3", 70) + "," +
            R"({"ph": "M", "name": "process_name", "pid": 7168000001, "args": {"name": "two"}},)"
            R"({"ph": "M", "name": "process_name", "pid": "card", "args": {"name": "GPU"}},)"
            R"({"ph": "M", "name": "thread_name", "pid": "card", "tid": "main", "args": {"name": "queue"}})"),
        store);
    EXPECT_EQ(summary.processes, 6u);
    EXPECT_EQ(words_by_process(store),
              (std::vector<std::string>{"two/thread 140339968804608: c 5", "GPU/queue: e 5",
                                        "7168000000/thread 140339968804608: a 5",
                                        "7168000000/thread 140339968804609: b 5", "-7/main: d 5",
                                        "18446744073709551616/thread 1e300: f 5", "/thread 3: g 5",
                                        "/thread 3: h 5"}))
        << fmt::format("{}", fmt::join(words_by_process(store), "\n"));
    std::set<std::uint32_t> pids, tids;
    for (const TraceProcess& process : store.processes()) pids.insert(process.pid);
    EXPECT_EQ(pids.size(), 6u);
    EXPECT_TRUE(pids.contains(12));
    expect_kept(store);
    // Read again, the names are still there.
    TraceStore again;
    ASSERT_TRUE(import_trace(folder_ / "out.pftrace", again));
    EXPECT_EQ(words_by_process(again), words_by_process(store));
}

TEST_F(Foreign, KernelsCountersAndMemoryStayWithTheirProcess) {
    std::string list;
    for (const char* pid : {"9000000001", "9000000002", "\"third\"", "4711", "4712"})
        list += fmt::format(
            R"({}{{"ph": "X", "cat": "kernel", "name": "k", "pid": {}, "tid": 7, "ts": 1, "dur": 2,)"
            R"( "args": {{"stream": 7}}}}, {{"ph": "C", "name": "c", "pid": {}, "ts": 1, "args": {{"v": 1}}}})",
            list.empty() ? "" : ",", pid, pid);
    TraceStore store;
    const auto summary = read(events(list + "," + whole("host", 0, 10)), store);
    EXPECT_EQ(summary.processes, 6u);
    EXPECT_EQ(summary.work, 5u);
    EXPECT_EQ(store.counters().size(), 5u);
    std::set<std::uint32_t> with_work;
    for (const TraceTrack& track : store.tracks())
        if (track.kind == TrackKind::gpu_stream) with_work.insert(track.process);
    EXPECT_EQ(with_work.size(), 5u);
}

std::string async(const char* phase, const char* name, int at, const char* rest, int pid = 1) {
    return fmt::format(
        R"({{"ph": "{}", "name": "{}", "cat": "c", "pid": {}, "tid": 1, "ts": {}, {}}})", phase,
        name, pid, at, rest);
}

TEST_F(Foreign, AsynchronousRangesAreKnownByTheirId) {
    const auto lengths = [&](const std::vector<std::string>& list) {
        TraceStore store;
        const auto summary = read(events(fmt::format("{}", fmt::join(list, ","))), store);
        EXPECT_EQ(summary.lost, 0u);
        expect_kept(store);
        std::multiset<std::string> out;
        for (const auto& [name, begin, end] : lengths_of(store))
            out.insert(fmt::format("{} {}", name, (end - begin) / 1000));
        return out;
    };
    using Set = std::multiset<std::string>;
    const char *const one = R"("id": 1)", *const two = R"("id": "2")";
    const char *const local = R"("id2": {"local": "0x1"})", *const global =
                                                                R"("id2": {"global": "1"})";
    EXPECT_EQ(
        lengths({async("b", "p", 0, local), async("b", "p", 2000, R"("id2": {"local": "0x2"})"),
                 async("e", "p", 4000, local),
                 async("e", "p", 5000, R"("id2": {"local": "0x2"})")}),
        (Set{"p 4000", "p 3000"}));
    EXPECT_EQ(lengths({async("b", "p", 0, one), async("b", "p", 1000, one),
                       async("e", "p", 3000, one), async("e", "p", 9000, one)}),
              (Set{"p 9000", "p 2000"}));
    // Names that cross, ids that differ, scopes, and an end that comes before its begin in the
    // file.
    EXPECT_EQ(lengths({async("b", "p", 0, one), async("b", "q", 10, one), async("e", "p", 20, one),
                       async("e", "q", 50, one), async("e", "r", 70, two), async("b", "r", 60, two),
                       async("b", "p", 0, R"("id": 1, "scope": "x")"),
                       async("e", "p", 99, R"("id": 1, "scope": "x")")}),
              (Set{"p 20", "q 40", "r 10", "p 99"}));
    // A local id is its process's own, a global one everybody's; a plain one its process's first.
    EXPECT_EQ(lengths({async("b", "p", 0, local, 1), async("b", "p", 5, local, 2),
                       async("e", "p", 20, local, 1), async("e", "p", 30, local, 2)}),
              (Set{"p 20", "p 25"}));
    EXPECT_EQ(lengths({async("b", "p", 0, global, 1), async("e", "p", 30, global, 2)}),
              (Set{"p 30"}));
    EXPECT_EQ(lengths({async("b", "p", 0, one, 1), async("b", "p", 5, one, 2),
                       async("e", "p", 20, one, 1), async("e", "p", 30, one, 2)}),
              (Set{"p 20", "p 25"}));
    EXPECT_EQ(lengths({async("S", "p", 0, one), async("T", "p", 5, one), async("F", "p", 8, one)}),
              (Set{"p 8"}));
    TraceStore store;
    const auto summary =
        read(events(async("b", "never", 10, one) + "," + async("n", "mark", 20, one) + "," +
                    async("e", "other", 30, two) + "," + whole("x", 0, 100)),
             store);
    EXPECT_EQ(std::tuple(summary.spans, summary.instants, summary.lost), std::tuple(2u, 1u, 1u));
    EXPECT_TRUE(lengths_of(store).contains({"never", 10'000, 100'000}));
    EXPECT_NE(note_with(summary, "1 asynchronous ranges never end"), "");
}

TEST_F(Foreign, RangesWithoutAnEndAreOpenToTheEndOfTheirProcess) {
    TraceStore store;
    const auto summary = read(
        events(R"({"ph": "B", "name": "run", "pid": 1, "tid": 1, "ts": 5, "args": {"value": 3}},)"
               R"({"ph": "B", "name": "step", "pid": 1, "tid": 1, "ts": 50},)" +
               whole("x", 10, 20) + "," + whole("y", 60, 40) +
               R"(,{"ph": "X", "name": "other", "pid": 2, "tid": 2, "ts": 0, "dur": 900})"),
        store);
    EXPECT_EQ(std::tuple(summary.spans, summary.open, summary.lost), std::tuple(3u, 2u, 0u));
    EXPECT_NE(note_with(summary, "2 ranges have no end"), "");
    EXPECT_EQ(lengths_of(store), (Lengths{{"run", 5'000, 100'000},
                                          {"step", 50'000, 100'000},
                                          {"x", 10'000, 30'000},
                                          {"y", 60'000, 100'000},
                                          {"other", 0, 900'000}}));
    expect_kept(store);
    TraceStore back;
    ASSERT_TRUE(import_trace(folder_ / "out.json", back));
    ASSERT_EQ(back.sources().open_spans().size(), 2u);
    for (const OpenSpan& open : back.sources().open_spans())
        EXPECT_EQ(open.payload, back.name(open.name) == "run" ? 3u : 0u);
    ASSERT_TRUE(export_folded(store, folder_ / "t.folded"));
    EXPECT_NE(read_text_file(folder_ / "t.folded")->find("thread 1;run;step 10"),
              std::string::npos);
}

TEST_F(Foreign, ReasonsOfLossesSurvive) {
    TraceStore store;
    TraceBatch batch{
        .tracks = {{0, 7, 7, "main"}},
        .names = {{1, "a"}},
        .spans = {{1000, 2000, 0, 0, 1, 0, false}},
        .loss = {.lapped = 1'651'371, .dropped = 3, .malformed = 2, .untimed = 4, .too_deep = 5},
        .source = 7,
        .pid = 7,
        .read_ns = 1'000'000};
    batch.loss.truncated_strings = 6;
    batch.service.emplace();
    batch.service->cupti_dropped = 8;
    batch.service->budget_skipped = 9;
    store.ingest(batch);
    ASSERT_TRUE(export_perfetto(store, folder_ / "l.pftrace"));
    ASSERT_TRUE(export_chrome(store, folder_ / "l.json"));
    for (const char* file : {"l.pftrace", "l.json"}) {
        TraceStore back;
        ASSERT_TRUE(import_trace(folder_ / file, back));
        const LossCounts& l = back.processes()[0].loss;
        EXPECT_EQ(std::tuple(l.lapped, l.dropped, l.malformed, l.untimed, l.too_deep),
                  std::tuple(1'651'371u, 3u, 2u, 4u, 5u))
            << file;
        EXPECT_EQ(std::tuple(l.truncated_strings, l.forgotten, l.unexplained),
                  std::tuple(6u, 0u, 0u));
        ASSERT_TRUE(back.processes()[0].service);
        EXPECT_EQ(back.processes()[0].service->cupti_dropped, 8u);
        EXPECT_EQ(back.processes()[0].service->budget_skipped, 9u);
    }
    // Records that do not fit into memory are counted separately.
    TraceStore small({.max_spans = 100});
    batch.spans.clear();
    for (std::int64_t i = 0; i < 1000; ++i)
        batch.spans.push_back({i * 10, i * 10 + 5, 0, 0, 1, 0, false});
    small.ingest(batch);
    const std::uint64_t forgotten = small.timeline().forgotten();
    ASSERT_GT(forgotten, 800u);
    for (const char* file : {"f.pftrace", "f.json"}) {
        const bool json = std::string_view(file).ends_with("json");
        ASSERT_TRUE(json ? export_chrome(small, folder_ / file).has_value()
                         : export_perfetto(small, folder_ / file).has_value());
        TraceStore back;
        ASSERT_TRUE(import_trace(folder_ / file, back));
        EXPECT_EQ(back.processes()[0].loss.forgotten, forgotten);
    }
}

// The small inputs of the reference data, each with its right outcome.
TEST_F(Foreign, ReferenceInputs) {
    GS_NEED_DATA("bugs/p01_unfinished_event");
    const auto sample = [](const char* name, TraceStore& store) {
        const auto summary =
            import_trace(test::data_path(fmt::format("bugs/{}/t.json", name)), store);
        EXPECT_TRUE(summary) << name;
        return summary.value_or(ImportSummary{});
    };
    TraceStore unfinished, open, text, large, ids, nested, overlapping;
    EXPECT_EQ(sample("p01_unfinished_event", unfinished).spans, 5u);
    EXPECT_EQ(sample("p02_list_not_closed", open).spans, 5u);
    sample("p03_names_for_numbers", text);
    EXPECT_EQ(words_by_process(text),
              (std::vector<std::string>{"the host/main: launch 10", "the card/queue 0: kernel a 30",
                                        "the card/queue 1: kernel b 5"}));
    sample("p04_large_numbers", large);
    ASSERT_EQ(large.processes().size(), 2u);
    EXPECT_EQ(large.tracks().size(), 4u);
    EXPECT_EQ(large.processes()[1].name, "proc 7168000001");
    sample("p05_async_id2", ids);
    EXPECT_EQ(lengths_of(ids), (Lengths{{"parse", 0, 4'000'000}, {"parse", 2'000'000, 5'000'000}}));
    sample("p06_async_nested", nested);
    EXPECT_EQ(lengths_of(nested),
              (Lengths{{"request", 0, 9'000'000}, {"request", 1'000'000, 3'000'000}}));
    sample("p11_overlapping", overlapping);
    for (const TraceStore* store : {&unfinished, &open, &text, &large, &ids, &nested, &overlapping})
        expect_kept(*store);
}

}  // namespace
}  // namespace gs
