// Traces with impossible events, traces that were cut, and files that are none: what is whole comes
// in, the rest is counted with its place.
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "profiler/files/import_ranks.h"
#include "tests/unit/foreign_traces.h"

namespace gs {
namespace {

using test::events, test::whole, test::counts;

using protozero::pbf_writer;

class Damaged : public test::ForeignTraces {};

TEST_F(Damaged, ABadEventCostsThatEventOnly) {
    const std::pair<const char*, const char*> bad[] = {
        {R"("ts": 5, "dur": -1)", "1 events whose dur is negative (the first at byte 87)"},
        {R"("ts": -5, "dur": 1)", "events whose ts is negative"},
        {R"("ts": NaN, "dur": 1)", "events whose ts is not a number"},
        {R"("ts": 1, "dur": NaN)", "events whose dur is not a number"},
        {R"("ts": 1, "dur": Infinity)", "events whose dur is too large for a time"},
        {R"("ts": -Infinity, "dur": 1)", "events whose ts is negative"},
        {R"("ts": 1e300, "dur": 1)", "events whose ts is too large"},
        {R"("ts": 99999999999999999999999, "dur": 1)", "events whose ts is too large"},
        {R"("ts": "soon", "dur": 1)", "events whose ts is not numeric"},
        {R"("ts": "", "dur": 1)", "events whose ts is not numeric"},
        {R"("ts": null, "dur": 1)", "events without ts"},
        {R"("ts": [1], "dur": 1)", "events without ts"},
        {R"("dur": 1)", "events without ts"},
        {R"("ts": 1)", "events without dur"},
        {R"("ts": 1, "dur": )", "damaged events"},
        {R"("ts": 1, "dur": 1.2.3)", "damaged events"},
        {R"("ts": 1, "dur": 1, "name: 3)", "damaged events"},
        {R"("ts": 1 "dur": 1)", "damaged events"},
        {R"("ts": 1, "dur": 1, "args": {"a": tru})", "damaged events"},
    };
    for (const auto& [fields, said] : bad) {
        TraceStore store;
        const auto summary =
            read(events(whole("first", 0, 10) + ",\n" +
                        R"({"ph": "X", "name": "bad", "pid": 1, "tid": 1, )" + fields + "},\n" +
                        whole("second", 20, 10) + "," + whole("third", 30, 5)),
                 store);
        EXPECT_EQ(std::pair(summary.spans, summary.lost), counts(3, 1)) << fields;
        EXPECT_FALSE(summary.cut);
        EXPECT_NE(note_with(summary, said), "")
            << fields << "\n"
            << fmt::format("{}", fmt::join(summary.notes, "\n"));
    }
    TraceStore store;
    const std::string deep = std::string(200, '[') + std::string(200, ']');
    const auto summary =
        read(events("null, 7, " + whole("a", 0, 1) + ",{\"ph\": \"X\", \"args\": " + deep + "}," +
                    whole("b", 0, 1)),
             store);
    EXPECT_EQ(std::pair(summary.spans, summary.lost), counts(2, 2));  // null is nothing
}

TEST_F(Damaged, CutFilesGiveWhatIsWhole) {
    const std::string first = whole("a", 0, 10), file = events(first + ", " + whole("b", 20, 10));
    for (std::size_t length = 0; length < file.size(); ++length) {
        const std::string cut = file.substr(0, length);
        if (length < 17 + first.size()) {
            EXPECT_FALSE(refused(cut).message.empty()) << cut;
            continue;
        }
        TraceStore store;
        const auto summary = read(cut, store);
        EXPECT_EQ(summary.spans, length + 2 < file.size() ? 1u : 2u) << cut;
        EXPECT_TRUE(summary.cut) << cut;
        EXPECT_NE(note_with(summary, "events before"), "") << cut;
    }
    // The list alone needs no end.
    for (const char* end : {"", ",", "\n", ",\n", "]", ",]"}) {
        TraceStore store;
        const auto summary = read("[" + first + end, store);
        EXPECT_EQ(std::pair(summary.spans, summary.lost), counts(1, 0)) << end;
        EXPECT_FALSE(summary.cut) << end;
    }
    // Of several files together as well.
    std::ofstream(folder_ / "cut.json") << file.substr(0, file.size() - 5);
    std::ofstream(folder_ / "fine.json") << file;
    const std::vector<std::string> files = {(folder_ / "fine.json").string(),
                                            (folder_ / "cut.json").string()};
    TraceStore both;
    const auto together = import_ranks(
        files, [] { return TraceStore(); }, both);
    ASSERT_TRUE(together);
    EXPECT_TRUE(together->cut);
    TraceStore store;
    EXPECT_TRUE(read("[" + first + R"(,{"ph": "X", "na)", store).cut);
    EXPECT_TRUE(read(file + "and more", store).cut);
}

TEST_F(Damaged, CutPacketsAndArchivesGiveWhatIsWhole) {
    std::string list;
    for (int i = 0; i < 200; ++i) list += (i == 0 ? "" : ",") + whole("a", i * 20, 10.5 + i % 7);
    TraceStore made;
    read(events(list), made);
    ASSERT_TRUE(export_perfetto(made, folder_ / "whole.pftrace"));
    const std::string file = *read_text_file(folder_ / "whole.pftrace");
    std::uint64_t before = 0;
    for (std::size_t length = file.size() / 4; length < file.size(); length += 97) {
        TraceStore store;
        const auto summary = read(file.substr(0, length), store, "t.pftrace");
        EXPECT_GE(summary.spans, before);
        before = summary.spans;
    }
    EXPECT_GT(before, 150u);
    TraceStore store;
    const auto cut = read(file.substr(0, file.size() - 3), store, "t.pftrace");
    EXPECT_TRUE(cut.cut);
    EXPECT_NE(note_with(cut, "cannot read the file from byte"), "");
    TraceStore longer;
    EXPECT_NE(note_with(read(file + "\x0A\xFF\xFF\xFF\xFF\x0F", longer, "t.pftrace"),
                        fmt::format("from byte {} on", file.size()).c_str()),
              "");
    const std::string archive = gzipped(events(list));
    TraceStore half;
    const auto summary = read(archive.substr(0, archive.size() / 2), half, "t.json.gz");
    EXPECT_GT(summary.spans, 10u);
    EXPECT_LT(summary.spans, 200u);
    EXPECT_TRUE(summary.cut);
    EXPECT_NE(note_with(summary, "cannot unpack the whole file"), "");
}

TEST_F(Damaged, ABadPacketCostsThatPacketOnly) {
    std::string bytes;
    pbf_writer trace(bytes);
    const auto event = [&](std::uint64_t time, std::uint64_t type, bool broken = false) {
        pbf_writer p(trace, 1);
        p.add_uint64(8, time);
        p.add_uint64(10, 5);
        if (broken) return p.add_string(11, "\x0A\x7F");
        pbf_writer e(p, 11);
        e.add_uint64(9, type);
        e.add_uint64(11, 77);
        e.add_string(23, "range");
    };
    event(100, 1);
    event(~0ull, 3);      // no time
    event(150, 3, true);  // no event
    event(200, 2);
    {
        pbf_writer p(trace, 1);
        p.add_string(1, "ftrace");  // of a kind that is not read
    }
    TraceStore store;
    const auto summary = read(bytes, store, "t.pftrace");
    EXPECT_EQ(std::pair(summary.spans, summary.lost), counts(1, 3));
    EXPECT_NE(note_with(summary, "packets that cannot be read (a time is out of range"), "");
    EXPECT_NE(note_with(summary, "packets of another kind (field 1 of TracePacket)"), "");
}

TEST_F(Damaged, WhatMemoryHasNoPlaceForIsCounted) {
    std::string list;
    for (int i = 0; i < 6000; ++i) list += (i == 0 ? "" : ",") + whole("a", i * 20, 10);
    std::ofstream(folder_ / "t.json", std::ios::binary) << events(list);
    TraceStore store;
    const auto read = required(import_trace(folder_ / "t.json", store, {.max_bytes = 1'000'000}));
    EXPECT_GT(read.spans, 1000u);
    EXPECT_EQ(read.spans + read.lost, 6000u);
    EXPECT_NE(note_with(read, "not enough memory for more"), "");
}

TEST_F(Damaged, MarksAtTheHeadAreNoContent) {
    const std::string file = events(whole("a", 0, 10));
    for (const char* mark : {"\xEF\xBB\xBF", "\n\n \t", "\xEF\xBB\xBF\r\n", " \xEF\xBB\xBF "}) {
        TraceStore store;
        EXPECT_EQ(read(mark + file, store).spans, 1u);
    }
    EXPECT_NE(refused(std::string("\xFF\xFE[\0", 4)).message.find("UTF-16"), std::string::npos);
}

/// Events of every phase and of every way to call a process.
std::string everything() {
    std::string list = whole("outer", 0, 1000) + "," + whole("across", 900, 500);
    for (
        const char* more :
        {R"({"ph": "B", "name": "open", "pid": "host", "tid": 140339968804608, "ts": 1.5})",
         R"({"ph": "b", "name": "a", "cat": "c", "id2": {"local": "0x1"}, "pid": 7168000000, "tid": 1, "ts": 1})",
         R"({"ph": "b", "name": "a", "cat": "c", "id": 1, "scope": "s", "pid": 1, "tid": 1, "ts": 2})",
         R"({"ph": "e", "name": "a", "cat": "c", "id2": {"local": "0x1"}, "pid": 7168000000, "tid": 1, "ts": 9})",
         R"({"ph": "S", "name": "o", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 2})",
         R"({"ph": "F", "name": "o", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 8})",
         R"({"ph": "n", "name": "m", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 3})",
         R"({"ph": "X", "name": "\u00e4\ud83d\ude00\n", "pid": 1, "tid": 1, "ts": NaN, "dur": 1e3})",
         R"({"ph": "M", "name": "lost_records", "pid": 1, "args": {"overwritten": 5, "forgotten": 7}})",
         R"({"ph": "M", "name": "process_name", "pid": "host", "args": {"name": "the host"}})"})
        list += std::string(",\n") + more;
    return R"({"otherData": {"exporter": "gausscope"}, "traceEvents": [)" + list + "]}";
}

TEST_F(Damaged, MutatedFiles) {
    const auto parse = [&](const std::string& bytes) {
        std::ofstream(folder_ / "m", std::ios::binary) << bytes;
        TraceStore store;
        const auto read = import_trace(folder_ / "m", store);
        if (!read) {
            EXPECT_FALSE(read.error().message.empty());
            return false;
        }
        for (const auto& [name, begin, end] : test::lengths_of(store)) EXPECT_LE(begin, end);
        return true;
    };
    TraceStore store;
    read(everything(), store);
    ASSERT_TRUE(export_perfetto(store, folder_ / "all.pftrace"));
    ASSERT_TRUE(export_chrome(store, folder_ / "all.json"));
    test::hammer(everything(), 500, parse);
    test::hammer(*read_text_file(folder_ / "all.json"), 300, parse);
    test::hammer(*read_text_file(folder_ / "all.pftrace"), 500, parse);
    test::hammer(gzipped(everything()), 200, parse);
}

}  // namespace
}  // namespace gs
