// Traces from files: our own come back as they were, other people's as far as the store can hold
// them, broken ones are errors with a byte.
#include "profiler/files/import.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "profiler/analysis/timeline_facts.h"
#include "tests/support/required.h"
#include "tests/unit/foreign_traces.h"

namespace gs {
namespace {

using test::gzipped;

using protozero::pbf_writer;

constexpr std::int64_t kUs = 1000;

template <class T>
std::pair<T, T> pair_of(T a, T b) {
    return {a, b};
}

/// Ten steps of a thread that launches work on a stream, a second thread, a counter, an instant.
TraceStore recorded() {
    TraceStore store;
    TraceBatch batch{.pid = 41,
                     .process_name = "trainer",
                     .read_ns = 90'000'000,
                     .realtime_offset_ns = 1'700'000'000'000'000'000};
    batch.tracks = {{0, 41, 42, "engine", false, TrackKind::thread},
                    {1, 41, 0, "CUDA stream training", false, TrackKind::gpu_stream},
                    {2, 41, 43, "loader \"1\"", false, TrackKind::thread}};
    batch.names = {{1, "iteration"}, {2, "blend"}, {3, "rebuild \xC3\xA4"}, {4, "loss"}};
    for (std::int64_t i = 0; i < 10; ++i) {
        const std::int64_t t = 1'000'000 + i * 1000 * kUs;
        const auto step = static_cast<std::uint64_t>(i);
        batch.spans.push_back({t + 10 * kUs, t + 50 * kUs + 1, 0, 0, 2, 1, false});
        batch.spans.push_back({t + 60 * kUs, t + 70 * kUs, 1ull << 60, 0, 3, 1, true});
        batch.spans.push_back({t, t + 100 * kUs, step, 0, 1, 0, true});
        batch.gpu_work.push_back(stage_work({t + 40 * kUs, t + 180 * kUs, 0, 1, 2, 0, false},
                                            {t + 20 * kUs, 0, 1}, step + 1));
        batch.counters.push_back({t, 0.1 * static_cast<double>(i), 0, 4});
    }
    batch.spans.push_back({2'000'000, 3'000'000, 0, 2, 3, 0, false});
    batch.instants = {{2'500'000, 7, 2, 3},
                      {2'600'000, static_cast<std::uint64_t>(-5), 2, 3, PayloadKind::signed_whole},
                      {2'700'000, std::bit_cast<std::uint64_t>(-2.75), 2, 3, PayloadKind::real}};
    store.ingest(batch);
    return store;
}

void expect_equal(const TraceStore& a, const TraceStore& b) {
    ASSERT_EQ(a.tracks().size(), b.tracks().size());
    for (std::size_t t = 0; t < a.tracks().size(); ++t) {
        const TraceTrack &x = a.tracks()[t], &y = b.tracks()[t];
        EXPECT_EQ(x.name, y.name);
        EXPECT_EQ(x.kind, y.kind);
        EXPECT_EQ(std::pair(x.pid, x.tid), std::pair(y.pid, y.tid));
        ASSERT_EQ(x.rows.size(), y.rows.size()) << x.name;
        for (std::size_t r = 0; r < x.rows.size(); ++r) {
            const auto spans = x.rows[r].view(), others = y.rows[r].view();
            ASSERT_EQ(spans.size(), others.size()) << x.name << " " << r;
            for (std::size_t i = 0; i < spans.size(); ++i) {
                EXPECT_EQ(spans[i].begin_ns, others[i].begin_ns);
                EXPECT_EQ(spans[i].end_ns, others[i].end_ns);
                EXPECT_EQ(spans[i].payload, others[i].payload);
                EXPECT_EQ(spans[i].has_payload, others[i].has_payload);
                EXPECT_EQ(a.name(spans[i].name), b.name(others[i].name));
                const auto by = a.timeline().launching_span(t, r, spans[i]),
                           other = b.timeline().launching_span(t, r, others[i]);
                ASSERT_EQ(by.span == nullptr, other.span == nullptr);
                if (by.span == nullptr) continue;
                EXPECT_EQ(by.span->begin_ns, other.span->begin_ns);
                EXPECT_EQ(by.track, other.track);
            }
        }
    }
    ASSERT_EQ(a.counters().size(), b.counters().size());
    for (std::size_t c = 0; c < a.counters().size(); ++c) {
        EXPECT_EQ(a.name(a.counters()[c].name), b.name(b.counters()[c].name));
        const auto x = a.counters()[c].points.view(), y = b.counters()[c].points.view();
        ASSERT_EQ(x.size(), y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            EXPECT_EQ(x[i].time_ns, y[i].time_ns);
            EXPECT_EQ(x[i].value, y[i].value);
        }
    }
    ASSERT_EQ(a.instants().size(), b.instants().size());
    for (std::size_t i = 0; i < a.instants().size(); ++i) {
        EXPECT_EQ(a.instants()[i].time_ns, b.instants()[i].time_ns);
        EXPECT_EQ(a.instants()[i].payload, b.instants()[i].payload);
        EXPECT_EQ(a.instants()[i].payload_kind, b.instants()[i].payload_kind);
        EXPECT_EQ(a.instants()[i].track, b.instants()[i].track);
        EXPECT_EQ(a.name(a.instants()[i].name), b.name(b.instants()[i].name));
    }
    EXPECT_EQ(a.sources().process_name(), b.sources().process_name());
    EXPECT_EQ(a.sources().loss().total(), b.sources().loss().total());
}

class Import : public testing::Test {
  protected:
    Result<ImportSummary> import(const std::string& bytes, TraceStore& store,
                                 const ImportOptions& options = {}) {
        std::ofstream(folder_ / "t", std::ios::binary)
            << bytes;  // not write_file(): syncing each would take long
        return import_trace(folder_ / "t", store, options);
    }
    Error refused(const std::string& bytes, const ImportOptions& options = {}) {
        TraceStore store;
        const auto read = import(bytes, store, options);
        EXPECT_FALSE(read);
        EXPECT_EQ(store.span_count(), 0u);
        return read ? Error{} : read.error();
    }
    std::string exported() {
        EXPECT_TRUE(export_perfetto(recorded(), folder_ / "own.pftrace"));
        return *read_text_file(folder_ / "own.pftrace");
    }
    const test::TemporaryFolder folder_;
};

TEST_F(Import, OwnPerfettoExportComesBack) {
    const TraceStore store = recorded();
    const std::string bytes = exported();
    for (const std::string& file : {bytes, gzipped(bytes)}) {
        TraceStore back;
        const auto read = required(import(file, back));
        EXPECT_EQ(read.format, "Perfetto");
        EXPECT_EQ(std::tuple(read.spans, read.instants, read.points), std::tuple(41u, 3u, 10u));
        EXPECT_EQ(std::pair(read.threads, read.streams), pair_of<std::uint64_t>(2, 1));
        EXPECT_EQ(read.skipped, 0u);
        expect_equal(store, back);
        EXPECT_EQ(back.sources().realtime_offset_ns(), store.sources().realtime_offset_ns());
        EXPECT_EQ(back.frames().history(StatScope::iteration).size(), 10u);
        EXPECT_NEAR(back.frames().history(StatScope::iteration)[5].gpu_busy_ms, 0.14, 1e-9);
    }
}

TEST_F(Import, ChromeExportComesBack) {
    const TraceStore store = recorded();
    ASSERT_TRUE(export_chrome(store, folder_ / "t.json"));
    TraceStore back;
    const auto read = required(import_trace(folder_ / "t.json", back));
    EXPECT_EQ(read.format, "Chrome JSON");
    EXPECT_EQ(read.skipped, 0u);
    expect_equal(store, back);
}

TEST_F(Import, FoldedStacksHoldSelfTimes) {
    ASSERT_TRUE(export_folded(recorded(), folder_ / "t.folded"));
    EXPECT_EQ(*read_text_file(folder_ / "t.folded"),
              "CUDA stream training;blend 1400\n"
              "engine;iteration 500\n"
              "engine;iteration;blend 400\n"
              "engine;iteration;rebuild \xC3\xA4 100\n"
              "loader \"1\";rebuild \xC3\xA4 1000\n");
}

TEST_F(Import, SpeedscopeEventsNest) {
    ASSERT_TRUE(export_speedscope(recorded(), folder_ / "t.speedscope.json"));
    const auto json = nlohmann::json::parse(*read_text_file(folder_ / "t.speedscope.json"));
    ASSERT_EQ(json["profiles"].size(), 3u);
    std::size_t opened = 0;
    for (const auto& profile : json["profiles"]) {
        std::vector<int> stack;
        std::int64_t last = 0;
        for (const auto& event : profile["events"]) {
            EXPECT_GE(event["at"].get<std::int64_t>(), last);
            last = event["at"].get<std::int64_t>();
            if (event["type"] == "O") {
                stack.push_back(event["frame"].get<int>());
                ++opened;
            } else {
                ASSERT_FALSE(stack.empty());
                EXPECT_EQ(stack.back(), event["frame"].get<int>());
                stack.pop_back();
            }
        }
        EXPECT_TRUE(stack.empty());
        EXPECT_LE(last, profile["endValue"].get<std::int64_t>());
    }
    EXPECT_EQ(opened, 41u);
    EXPECT_EQ(json["shared"]["frames"].size(), 3u);
}

// An SDK's trace: incremental microseconds on a clock of the sequence, defaults, plain names, a
// late descriptor.
TEST_F(Import, ForeignPerfetto) {
    std::string bytes;
    pbf_writer trace(bytes);
    const auto packet = [&](auto write) {
        pbf_writer p(trace, 1);
        p.add_uint64(10, 9);
        write(p);
    };
    packet([](pbf_writer& p) {
        p.add_uint64(13, 1);
        {
            pbf_writer s(p, 6);
            const auto clock = [&](std::uint64_t id, std::uint64_t time) {
                pbf_writer c(s, 1);
                c.add_uint64(1, id);
                c.add_uint64(2, time);
                if (id == 64) c.add_uint64(3, 1), c.add_uint64(4, 1000);
            };
            clock(6, 5'000'000);
            clock(3, 4'000'000);
            clock(64, 100);
        }
        pbf_writer d(p, 59);
        d.add_uint64(58, 64);
        pbf_writer e(d, 11);
        e.add_uint64(11, 77);
    });
    const auto event = [&](std::uint64_t delta, std::uint64_t type, std::string_view name) {
        packet([&](pbf_writer& p) {
            p.add_uint64(8, delta);
            p.add_uint64(13, 2);
            pbf_writer e(p, 11);
            e.add_uint64(9, type);
            if (!name.empty()) e.add_string(23, name);
        });
    };
    event(10, 1, "outer");
    event(5, 1, "inner");
    event(5, 2, "");
    event(5, 2, "");
    event(5, 2, "");       // one end too many
    event(5, 1, "still");  // and a begin without an end
    packet([](pbf_writer& p) {
        pbf_writer t(p, 60);
        t.add_uint64(1, 77);
        pbf_writer d(t, 4);
        d.add_uint64(1, 3);
        d.add_uint64(2, 4);
        d.add_string(5, "worker");
    });
    TraceStore store;
    const auto read = required(import(bytes, store));
    EXPECT_EQ(read.spans, 2u);
    EXPECT_EQ(read.skipped, 1u);
    ASSERT_EQ(store.tracks().size(), 1u);
    EXPECT_EQ(store.tracks()[0].name, "worker");
    EXPECT_EQ(store.tracks()[0].tid, 4u);
    ASSERT_EQ(store.tracks()[0].rows.size(), 2u);
    const TraceSpan inner = store.tracks()[0].rows[1].view()[0];
    EXPECT_EQ(std::pair(inner.begin_ns, inner.end_ns), pair_of<std::int64_t>(4'015'000, 4'020'000));
    EXPECT_EQ(store.name(inner.name), "inner");
    ASSERT_EQ(store.sources().open_spans().size(), 1u);
    EXPECT_EQ(store.name(store.sources().open_spans()[0].name), "still");
}

// What torch.profiler writes, shortened.
const char* const kKineto =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "numSms": NaN}], "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 101, "ts": 1700000000000000.125, "dur": 50.5,
  "args": {"External id": 1, "Input Dims": [[1, 2], [3]]}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 101, "ts": 1700000000000010.0,
  "dur": 5, "args": {"correlation": 12}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1700000000000100.001, "dur": 20.002,
  "args": {"device": 0, "stream": 7, "correlation": 12}},
 {"ph": "s", "id": 12, "pid": 100, "tid": 101, "ts": 1700000000000010.0, "cat": "ac2g", "name": "ac2g"},
 {"ph": "M", "name": "thread_name", "pid": 100, "tid": 101, "ts": 0, "args": {"name": "python 101"}},
 {"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "ts": 0, "args": {"name": "python"}},
 {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)",
  "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1700000000000000, "dur": 200},
 {"ph": "C", "name": "memory", "pid": 100, "ts": 1700000000000001, "args": {"allocated": 5, "reserved": 8}},
 {"ph": "B", "name": "b", "pid": 100, "tid": 102, "ts": 1700000000000001, "args": {"step": 3}},
 {"ph": "E", "pid": 100, "tid": 102, "ts": "1700000000000002.5"},
 {"ph": "i", "name": "mark", "pid": 100, "tid": 102, "ts": 1700000000000002, "s": "t"}], "traceName": "t.json"})json";

TEST_F(Import, ChromeJsonOfTorch) {
    for (const std::string& file : {std::string(kKineto), gzipped(kKineto)}) {
        TraceStore store;
        const auto read = required(import(file, store));
        EXPECT_EQ(read.format, "Chrome JSON");
        EXPECT_EQ(std::tuple(read.spans, read.instants, read.points, read.skipped),
                  std::tuple(3u, 1u, 2u, 1u));
        EXPECT_EQ(std::tuple(read.processes, read.calls, read.work), std::tuple(1u, 1u, 1u));
        ASSERT_EQ(store.tracks().size(), 5u);
        EXPECT_EQ(store.tracks()[0].name, "python 101");
        EXPECT_EQ(store.tracks()[1].name, "PyTorch Profiler");
        EXPECT_EQ(store.sources().process_name(), "python");
        EXPECT_EQ(store.processes()[0].pid, 100u);
        ASSERT_EQ(store.processes()[0].devices.size(), 1u);
        EXPECT_EQ(store.processes()[0].devices[0].name, "GPU");
        EXPECT_EQ(store.processes()[0].devices[0].multiprocessors, 0);
        const TraceTrack& stream = store.tracks()[4];
        EXPECT_EQ(stream.kind, TrackKind::gpu_stream);
        EXPECT_EQ(stream.stream, 7u);
        const TraceSpan& kernel = stream.rows[0].view()[0];
        EXPECT_EQ(kernel.begin_ns, 1'700'000'000'000'100'001);
        EXPECT_EQ(kernel.length_ns(), 20'002);
        const auto by = store.timeline().launching_span(4, 0, kernel);
        ASSERT_NE(by.span, nullptr);
        EXPECT_EQ(store.name(by.span->name), "cudaLaunchKernel");
        EXPECT_EQ(store.name(range_of(store, 4, 0, kernel).span->name), "aten::mm");
        EXPECT_EQ(store.tracks()[2].rows[0].view()[0].payload, 3u);
        EXPECT_EQ(store.tracks()[2].rows[0].view()[0].length_ns(), 1500);
    }
}

// The same of a training step on a GPU of two: arrows between passes, the caching allocator, a
// collective.
const char* const kStep = R"json({"traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 2, "ts": 100, "dur": 50},
 {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 2, "ts": 100, "dur": 40},
 {"ph": "X", "cat": "cpu_op", "name": "aten::sum", "pid": 1, "tid": 2, "ts": 160, "dur": 5},
 {"ph": "X", "cat": "cpu_op", "name": "AddmmBackward0", "pid": 1, "tid": 3, "ts": 300, "dur": 25},
 {"ph": "s", "id": 9, "pid": 1, "tid": 2, "ts": 100, "cat": "fwdbwd", "name": "fwdbwd"},
 {"ph": "f", "id": 9, "pid": 1, "tid": 3, "ts": 300, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
 {"ph": "s", "id": 10, "pid": 1, "tid": 2, "ts": 160, "cat": "fwdbwd", "name": "fwdbwd"},
 {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 2, "ts": 110, "args": {
  "Total Reserved": 4194304, "Total Allocated": 1048576, "Bytes": 512, "Addr": 7, "Device Id": 0, "Device Type": 1}},
 {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 2, "ts": 111, "args": {
  "Total Reserved": 0, "Total Allocated": 524288, "Bytes": -512, "Addr": 8, "Device Id": -1, "Device Type": 0}},
 {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 3, "ts": 330, "dur": 5, "args": {
  "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2, "dtype": "Float",
  "Process Group Name": "0"}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20, "ts": 340, "dur": 30,
  "args": {"device": 0, "stream": 20, "correlation": 5, "Collective name": "allreduce", "In msg nelems": 1000,
           "Out msg nelems": 1000, "Group size": 2, "dtype": "Float", "Process Group Name": "0"}}]})json";

std::string fact(const TraceStore& store, std::size_t track, std::size_t row, const char* label) {
    for (const SpanFact& f : facts_of(store, track, row, store.tracks()[track].rows[row].view()[0]))
        if (f.label == label) return f.value;
    return "";
}

TEST_F(Import, PassesMemoryAndCollectivesOfTorch) {
    TraceStore store;
    const auto read = required(import(kStep, store));
    // The arrow without an end is counted; the innermost operator is the one that has a backward
    // pass.
    EXPECT_EQ(std::tuple(read.skipped, read.instants, read.points), std::tuple(1u, 0u, 3u));
    EXPECT_EQ(fact(store, 0, 1, "backward pass"), "AddmmBackward0, 200 us later, took 25.0 us");
    EXPECT_EQ(fact(store, 0, 0, "backward pass"), "");
    EXPECT_EQ(fact(store, 1, 0, "forward pass"), "aten::addmm, 200 us before, took 40.0 us");
    std::map<std::string, double> memory;
    for (const CounterSeries& series : store.counters())
        memory[std::string(store.name(series.name))] = series.points.back().value;
    EXPECT_EQ(memory, (std::map<std::string, double>{{"PyTorch allocated, GPU 0 [MiB]", 1},
                                                     {"PyTorch reserved, GPU 0 [MiB]", 4},
                                                     {"PyTorch allocated, host [MiB]", 0.5}}));
    const TraceSpan& call = store.tracks()[1].rows[0].view()[1];
    EXPECT_EQ(call.payload, 4000u);
    EXPECT_EQ(store.names().category(call.name, call.category),
              "allreduce of Float, group 0 of 2 ranks");
    EXPECT_EQ(fact(store, 2, 0, "collective"), "allreduce of Float, group 0 of 2 ranks");
    EXPECT_EQ(fact(store, 2, 0, "bytes"), "3.91 KiB");
}

TEST_F(Import, ChromeArrayNestsByTime) {
    TraceStore store;
    const auto read = import(
        R"(  [{"ph":"X","name":"b","pid":1,"tid":1,"ts":10,"dur":5},{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":100},
            {"ph":"X","name":"c","pid":1,"tid":1,"ts":14.5,"dur":20}])",
        store);
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(store.tracks()[0].rows.size(), 2u);
    const auto row = store.tracks()[0].rows[1].view();
    ASSERT_EQ(row.size(), 2u);
    EXPECT_EQ(row[1].begin_ns, 15'000);  // half a microsecond of overlap is rounding
    EXPECT_EQ(row[1].end_ns, 34'500);
}

TEST_F(Import, HostileFilesAreRefusedWithTheirByte) {
    const std::string own = exported();
    const auto expect_at = [&](const std::string& bytes, std::uint64_t byte, const char* why) {
        const Error error = refused(bytes);
        EXPECT_EQ(error.byte, byte) << why;
        EXPECT_NE(error.message.find(why), std::string::npos) << error.text();
    };
    expect_at("\x0A\xFF\xFF\xFF\xFF\x0F" + own, 0, "incomplete message field");
    expect_at(gzipped(own).substr(0, 12), 12, "cannot be unpacked");
    EXPECT_EQ(refused("").kind, ErrorKind::unsupported);
    EXPECT_EQ(refused("ply\nformat ascii 1.0\n").kind, ErrorKind::unsupported);
    expect_at(R"({"traceEvents": [{"ph": "X", "ts": 1)", 36, "ends inside its first event");
    expect_at(R"({"nothing": 1})", 0, "no traceEvents");
    expect_at(std::string(1'000'000, '['), 128, "nested too deep");
    ImportOptions small;
    small.max_bytes = 100'000;
    EXPECT_NE(
        refused(gzipped("[" + std::string(10'000'000, ' ') + "]"), small).message.find("unpacks"),
        std::string::npos);
}

TEST_F(Import, MoreThanIsKeptIsCounted) {
    ImportOptions few;
    few.max_events = 5;
    TraceStore store;
    const auto read = required(import(exported(), store, few));
    // Of begins and ends of 41 spans, 3 instants and 10 points, those of an iteration's beginning.
    EXPECT_EQ(std::tuple(read.spans, read.open, read.skipped), std::tuple(2u, 1u, 90u));
    ASSERT_FALSE(read.notes.empty());
    EXPECT_EQ(read.notes[0], fmt::format("skipped: {} events beyond the first 5", read.skipped));
}

TEST_F(Import, MutatedFiles) {
    const auto parse = [&](const std::string& bytes) {
        TraceStore store;
        const auto read = import(bytes, store);
        if (read) return store.span_count() <= bytes.size();
        EXPECT_FALSE(read.error().message.empty());
        return false;
    };
    test::hammer(exported(), 500, parse);
    test::hammer(kKineto, 500, parse);
    test::hammer(gzipped(kKineto), 100, parse);
}

}  // namespace
}  // namespace gs
