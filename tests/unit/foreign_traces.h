// What the tests of traces that other programs write have in common: events in their words, and
// what is compared after reading and writing.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <set>

#include "profiler/files/export_lanes.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_text.h"
#include "profiler/files/import.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/io_mutator.h"

namespace gs::test {

using Lengths = std::multiset<std::tuple<std::string, std::int64_t, std::int64_t>>;

/// Name, begin and end of every span, open ones included.
inline Lengths lengths_of(const TraceStore& store) {
    Lengths out;
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& s : row.view())
                out.emplace(std::string(store.name(s.name)), s.begin_ns, s.end_ns);
    const OpenRanges open(store);
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (const OpenRange& range : open.of(t))
            out.emplace(std::string(store.name(range.span.name)), range.span.begin_ns,
                        range.span.end_ns);
    return out;
}

/// "the host: launch 10", microseconds, of all processes in their order.
inline std::vector<std::string> words_by_process(const TraceStore& store) {
    std::vector<std::string> out;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p)
        for (const TraceTrack& track : store.tracks())
            if (track.process == p)
                for (const auto& row : track.rows)
                    for (const TraceSpan& s : row.view())
                        out.push_back(fmt::format("{}/{}: {} {}", store.processes()[p].name,
                                                  track.name, store.name(s.name),
                                                  s.length_ns() / 1000));
    return out;
}

class ForeignTraces : public testing::Test {
  protected:
    ImportSummary read(const std::string& bytes, TraceStore& store, const char* name = "t.json") {
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
        const auto out = import_trace(folder_ / name, store);
        EXPECT_TRUE(out) << (out ? "" : out.error().text());
        return out.value_or(ImportSummary{});
    }
    Error refused(const std::string& bytes, const char* name = "t.json") {
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
        TraceStore store;
        const auto out = import_trace(folder_ / name, store);
        EXPECT_FALSE(out);
        return out ? Error{} : out.error();
    }
    /// Reads the file 500 times, broken in other ways.
    void hammer_reader(const std::string& whole) {
        hammer(whole, 500, [&](const std::string& bytes) {
            std::ofstream(folder_ / "m", std::ios::binary) << bytes;
            TraceStore into;
            const auto read = import_trace(folder_ / "m", into);
            if (!read) {
                EXPECT_FALSE(read.error().message.empty());
            }
            for (const auto& [name, begin, end] : lengths_of(into)) EXPECT_LE(begin, end);
            return read.has_value();
        });
    }
    /// What comes back from both trace formats.
    void expect_kept(const TraceStore& store) {
        ASSERT_TRUE(export_perfetto(store, folder_ / "out.pftrace"));
        ASSERT_TRUE(export_chrome(store, folder_ / "out.json"));
        const std::string check =
            fmt::format("python3 '{}' '{}' > '{}' 2>&1", GAUSSCOPE_CHECK_TRACE,
                        (folder_ / "out.pftrace").string(), (folder_ / "said").string());
        EXPECT_EQ(std::system(check.c_str()), 0) << *read_text_file(folder_ / "said");
        for (const char* file : {"out.pftrace", "out.json"}) {
            TraceStore back;
            const auto summary = required(import_trace(folder_ / file, back));
            EXPECT_EQ(summary.lost, 0u) << file;
            EXPECT_EQ(lengths_of(store), lengths_of(back)) << file;
            EXPECT_EQ(store.tracks().size(), back.tracks().size()) << file;
        }
    }
    std::string note_with(const ImportSummary& summary, const char* word) {
        for (const std::string& note : summary.notes)
            if (note.find(word) != std::string::npos) return note;
        return {};
    }
    TemporaryFolder folder_;
};

inline std::string events(const std::string& list) { return R"({"traceEvents": [)" + list + "]}"; }
inline std::string whole(const char* name, double begin, double length, const char* more = "") {
    return fmt::format(R"({{"ph": "X", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}{}}})",
                       name, begin, length, more);
}
inline std::pair<std::uint64_t, std::uint64_t> counts(std::uint64_t a, std::uint64_t b) {
    return {a, b};
}
inline std::string gzipped(const std::string& bytes) {
    z_stream z{};
    EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&z, bytes.size()), '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

}  // namespace gs::test
