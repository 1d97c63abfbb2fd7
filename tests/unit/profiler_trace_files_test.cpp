// Traces of GPU programs through files: kernels with their details, CUDA calls, several processes
// with their labels go out and come back; several files come together on one clock. Stores are
// compared by what they say in words.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <protozero/pbf_writer.hpp>

#include "profiler/analysis/collectives.h"
#include "profiler/analysis/timeline_facts.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/files/export_text.h"
#include "profiler/files/import_ranks.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/io_mutator.h"
#include "tests/unit/trace_files.h"

namespace gs {
namespace {

using protozero::pbf_writer;
using namespace test;

class TraceFiles : public testing::Test {
  protected:
    TraceFiles() {
        recorded_.ingest(process(100, 0, 5'000'000));
        recorded_.ingest(process(300, 1, 5'500'000));
    }
    const test::TemporaryFolder folder_;
    TraceStore recorded_;
};

TEST_F(TraceFiles, PerfettoBringsEverythingBack) {
    const fs::path path = folder_ / "gpu.pftrace";
    ASSERT_TRUE(export_perfetto(recorded_, path));
    TraceStore back;
    const auto read = required(import_trace(path, back));
    EXPECT_EQ(read.skipped, 0u);
    EXPECT_EQ(std::tuple(read.processes, read.calls, read.work), std::tuple(2u, 50u, 40u));
    EXPECT_EQ(words_of(recorded_, true), words_of(back, true));
    ASSERT_EQ(back.frames().history(StatScope::iteration).size(), 10u);
    EXPECT_NEAR(static_cast<double>(back.frames()
                                        .history(StatScope::iteration)[3]
                                        .gpu_ms[static_cast<std::size_t>(Stage::blend)]),
                0.05, 1e-6);
}

TEST_F(TraceFiles, ChromeJsonBringsBackWhatItCanHold) {
    const fs::path path = folder_ / "gpu.json";
    ASSERT_TRUE(export_chrome(recorded_, path));
    TraceStore back;
    const auto read = required(import_trace(path, back));
    EXPECT_EQ(read.skipped, 0u);
    EXPECT_EQ(words_of(recorded_, false), words_of(back, false));
}

TEST_F(TraceFiles, PerfettoIsWellFormedForOthers) {
    const fs::path path = folder_ / "gpu.pftrace";
    ASSERT_TRUE(export_perfetto(recorded_, path));
    std::FILE* pipe = ::popen(
        fmt::format("python3 '{}' '{}' 2>&1", GAUSSCOPE_CHECK_TRACE, path.string()).c_str(), "r");
    std::array<char, 4096> piece{};
    std::string said;
    while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) said += piece.data();
    EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 0) << said;
    for (const char* expected :
         {"\"renderCUDA(float)\": 10", R"("adam_kernel": 20)", R"("copy pageable to device": 10)",
          R"("launched": 40)", R"("gpus": 1)", R"("ranges on the GPU": 4)", R"("rank=1")",
          R"("CUDA calls of thread 101": 1)", R"("overhead in thread 300": 1)"})
        EXPECT_NE(said.find(expected), std::string::npos) << expected << " not in " << said;
}

// Byte for byte what one kernel, its call and its range look like to others:
// tests/unit/golden/kernel.textproto.
TEST_F(TraceFiles, AKernelAsItHasAlwaysBeenWritten) {
    TraceStore store;
    TraceBatch b = process(100, 0, 5'000'000, 1);
    b.gpu_work.resize(1);
    b.api_calls.resize(1);
    b.async_spans.clear();
    b.pauses.clear();
    b.overheads.clear();
    b.memory.clear();
    store.ingest(b);
    ASSERT_TRUE(export_perfetto(store, folder_ / "kernel.pftrace"));
    const fs::path golden = fs::path(GAUSSCOPE_GOLDEN) / "kernel.textproto",
                   proto = GAUSSCOPE_PROTO;
    const std::string command = fmt::format(
        "protoc --decode=gausscope.perfetto.Trace -I '{}' perfetto_subset.proto < '{}' 2>&1",
        proto.string(), (folder_ / "kernel.pftrace").string());
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> piece{};
    std::string text;
    while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) text += piece.data();
    ASSERT_EQ(::pclose(pipe), 0) << text;
    text.erase(0, text.find("packet {", 1));  // the first is of clocks, which run
    const auto expected = required(read_text_file(golden));
    EXPECT_EQ(text, expected);
}

TEST_F(TraceFiles, RanksComeTogetherByTheWallClock) {
    // The second rank's machine was started a second later, and its monotonic clock is another.
    TraceStore one, two;
    one.ingest(process(100, 0, 5'000'000));
    TraceBatch late = process(100, 1, 77'000'000'000);
    late.realtime_offset_ns += 1'000'000'000 - 77'000'000'000 + 5'000'000;
    two.ingest(late);
    ASSERT_TRUE(export_perfetto(one, folder_ / "rank0.pftrace"));
    ASSERT_TRUE(export_chrome(two, folder_ / "rank1.json"));
    TraceStore both;
    ASSERT_TRUE(import_trace(folder_ / "rank0.pftrace", both));
    ASSERT_TRUE(import_trace(folder_ / "rank1.json", both));
    ASSERT_EQ(both.processes().size(), 2u);  // with the same number, on two machines
    EXPECT_EQ(both.processes()[0].name, "trainer 0");
    EXPECT_EQ(both.end_ns() - one.end_ns(), 1'000'000'000);
    EXPECT_EQ(words_of(both, false, 0), words_of(one, false));
    EXPECT_EQ(words_of(both, false, 1), words_of(two, false));
    // Written together they stay two, though the numbers of their processes were the same.
    ASSERT_TRUE(export_perfetto(both, folder_ / "all.pftrace"));
    TraceStore again;
    ASSERT_TRUE(import_trace(folder_ / "all.pftrace", again));
    EXPECT_EQ(again.processes().size(), 2u);
    EXPECT_EQ(again.processes()[1].labels.rank, 1);
    EXPECT_EQ(again.span_count(), both.span_count());
}

/// 40 steps of a rank of `host`, whose clock shows `ahead` more than true time; the ranks enter
/// their all-reduce when they come to it, and leave it together.
TraceBatch rank_on(const char* host, int rank, std::int64_t ahead, const char* collective) {
    TraceBatch b;
    b.source = b.pid = static_cast<std::uint32_t>(500 + rank);
    b.read_ns = 10'000'000 * kUs;
    b.realtime_offset_ns = 1'700'000'000'000'000'000;
    b.labels.host = host;
    b.labels.rank = rank;
    b.names = {{1, "iteration"}, {2, collective}};
    b.tracks = {{0, b.pid, b.pid, "main"}};
    for (std::int64_t i = 0; i < 40; ++i) {
        const std::int64_t t = (i * 10'000 + i * i * 7 % 900) * kUs;
        const std::int64_t enters = t + (i * (rank + 3) * 31 % 800) * kUs;
        const std::int64_t leaves = t + 850 * kUs + rank * 3 * kUs;
        b.spans.push_back({enters + ahead, leaves + ahead, 4096, 0, 2, 1, true});
        b.spans.push_back({t + ahead, t + 900 * kUs + ahead, 0, 0, 1, 0, false});
    }
    return b;
}

TEST_F(TraceFiles, HostsComeTogetherByTheirCollectives) {
    const auto write = [&](const char* file, const TraceBatch& batch) {
        TraceStore store;
        store.ingest(batch);
        EXPECT_TRUE(export_perfetto(store, folder_ / file));
        return (folder_ / file).string();
    };
    const auto empty = [] { return TraceStore(); };
    const std::int64_t behind = -3'210 * kUs;
    const std::vector<std::string> files = {write("a0", rank_on("a", 0, 0, "all_reduce")),
                                            write("b1", rank_on("b", 1, behind, "all_reduce")),
                                            write("b2", rank_on("b", 2, behind, "all_reduce")),
                                            write("c3", rank_on("c", 3, 0, "all_reduce"))};
    TraceStore all;
    auto read = import_ranks(files, empty, all);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->notes.size(), 2u);
    EXPECT_EQ(read->spans, 4 * 80u);
    EXPECT_NE(read->notes[0].find("the clock of host b is 3.2"), std::string::npos);
    EXPECT_NE(read->notes[0].find(" ms behind host a ("), std::string::npos) << read->notes[0];
    EXPECT_NE(read->notes[0].find("; its times are corrected"), std::string::npos);
    EXPECT_NE(read->notes[1].find("the clock of host c is within 0."), std::string::npos);
    const auto ends = [&](std::size_t process) {
        for (const TraceTrack& track : all.tracks())
            if (track.process == process) return track.rows[1].view()[20].end_ns;
        return std::int64_t{0};
    };
    for (const std::size_t p : {1u, 2u})
        EXPECT_NEAR(static_cast<double>(ends(p)), static_cast<double>(ends(0)), 100e3) << p;
    EXPECT_EQ(ends(3), ends(0) + 9 * kUs);  // not moved
    // What is written says it.
    ASSERT_TRUE(export_perfetto(all, folder_ / "all.pftrace"));
    TraceStore back;
    ASSERT_TRUE(import_trace(folder_ / "all.pftrace", back));
    EXPECT_EQ(back.processes()[0].labels.clock, "");
    EXPECT_EQ(back.processes()[2].labels.clock.find("3.2"), 0u) << back.processes()[2].labels.clock;
    // A broadcast's root does not wait for the others, so it cannot align clocks.
    const std::vector<std::string> others = {write("a0", rank_on("a", 0, 0, "broadcast")),
                                             write("b1", rank_on("b", 1, behind, "broadcast"))};
    read = import_ranks(others, empty, all);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->notes.size(), 1u);
    EXPECT_NE(read->notes[0].find("are not aligned"), std::string::npos);
    EXPECT_EQ(ends(1) - ends(0), behind + 3 * kUs);
}

TEST_F(TraceFiles, AClockThatIsFarOffAndDriftsIsSetRight) {
    const std::int64_t kSecond = 1'000'000 * kUs;
    const ClockShift shift{.offset_ns = 10e9, .drift = 50e-6, .at_ns = 30 * kSecond};
    TraceStore store, theirs;
    store.ingest(rank_on("a", 0, 0, "all_reduce"));
    TraceBatch b = rank_on("b", 1, 0, "all_reduce");
    b.spans.clear();
    std::vector<std::int64_t> truth;
    for (std::int64_t t = 0; t < 7200 * kSecond; t += 600 * kSecond) {
        truth.push_back(t + kSecond);
        const auto since = static_cast<double>(truth.back() - shift.at_ns);
        const auto shown = truth.back() + std::llround(shift.offset_ns + shift.drift * since);
        b.spans.push_back({shown, shown + kUs, 0, 0, 1, 0, false});
    }
    theirs.ingest(b);
    ASSERT_TRUE(export_perfetto(theirs, folder_ / "b"));
    ASSERT_TRUE(import_trace(folder_ / "b", store, {.shift = shift}));
    const auto found = store.tracks().back().rows[0].view();
    ASSERT_EQ(found.size(), truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i)
        EXPECT_NEAR(static_cast<double>(found[i].begin_ns), static_cast<double>(truth[i]), 10);
}

TEST_F(TraceFiles, ValuesOfRangesAreToldAndComeBack) {
    TraceStore store;
    TraceBatch b = rank_on("a", 0, 0, "ncclAllReduce");
    b.names.insert(b.names.end(),
                   {{3, "NCCL communicator ID"}, {4, "Reduction \"op\""}, {5, "sum"}});
    const std::int64_t begin = b.spans[0].begin_ns;
    b.values = {{begin, 77, 0, 3, 1}, {begin, 5, 0, 4, 1, PayloadKind::name}};
    store.ingest(b);
    ASSERT_TRUE(export_perfetto(store, folder_ / "v.pftrace"));
    ASSERT_TRUE(export_chrome(store, folder_ / "v.json"));
    TraceStore back;
    ASSERT_TRUE(import_trace(folder_ / "v.pftrace", back));
    const TraceSpan& first = back.tracks()[0].rows[1].view()[0];
    const auto values = back.values().of(0, first.begin_ns, 1);
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(back.name(values[0].name), "NCCL communicator ID");
    EXPECT_EQ(value_text(back.names(), values[0]), "77");
    EXPECT_EQ(value_text(back.names(), values[1]), "sum");
    EXPECT_EQ(first.payload, 4096u);
    std::string facts;
    for (const SpanFact& fact : facts_of(back, 0, 1, first))
        facts += fact.label + "=" + fact.value + ";";
    EXPECT_NE(facts.find("NCCL communicator ID=77;Reduction \"op\"=sum;"), std::string::npos)
        << facts;
    EXPECT_TRUE(back.values().of(0, back.tracks()[0].rows[1].view()[1].begin_ns, 1).empty());
    const auto json = required(read_text_file(folder_ / "v.json"));
    EXPECT_NE(json.find(R"("NCCL communicator ID": 77, "Reduction \"op\"": "sum")"),
              std::string::npos);
    const auto all = collectives(back);
    ASSERT_EQ(all[0].size(), 40u);
    EXPECT_EQ(all[0][0].operation, "all_reduce");
    EXPECT_EQ(all[0][0].bytes, 4096u);
    EXPECT_EQ(all[0][0].communicator, 77u);
    EXPECT_TRUE(all[0][0].enqueues);
    EXPECT_FALSE(all[0][0].together);
}

// Kernels of collectives have their bytes from the range that launched them.
TEST_F(TraceFiles, KernelsOfCollectivesKnowTheirBytes) {
    TraceStore store;
    TraceBatch b = process(100, 0, 5'000'000, 1);
    b.names[3].text = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
    b.names[1] = {2, "ncclAllReduce", "NCCL"};
    b.spans[0].payload = 1 << 20;
    b.spans[0].payload_kind = PayloadKind::whole;
    store.ingest(b);
    const auto all = collectives(store);
    ASSERT_EQ(all[0].size(), 1u);
    EXPECT_TRUE(all[0][0].on_gpu && all[0][0].together);
    EXPECT_EQ(all[0][0].bytes, 1u << 20);
    EXPECT_EQ(all[0][0].end_ns - all[0][0].begin_ns, 50 * kUs);
}

TEST_F(TraceFiles, OnlyTheStretchAskedFor) {
    ASSERT_TRUE(export_perfetto(recorded_, folder_ / "part.pftrace",
                                {.begin_ns = 5'000'000, .end_ns = 5'300'000}));
    TraceStore back;
    const auto read = required(import_trace(folder_ / "part.pftrace", back));
    EXPECT_EQ(read.work, 1u);
    EXPECT_EQ(read.calls, 2u);
}

// As torch.profiler writes them since it counts from a base; a copy, a fill, a wait, a projected
// annotation, and a kernel whose rounded times overlap its successor's.
const char* const kTorch =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85,
 "computeMajor": 9, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048, "numSms": 132, "regsPerMultiprocessor": 65536}],
 "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
 "traceEvents": [
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9, "tid": 9, "ts": 1.0, "dur": 500.0, "args": {}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 9, "tid": 9, "ts": 5, "dur": 5, "args": {"correlation": 1}},
 {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 9, "tid": 22, "ts": 20, "dur": 5, "args": {"correlation": 2}},
 {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 12, "dur": 3,
  "args": {"device": 0, "context": 1, "stream": 7, "correlation": 1, "bytes": 512}},
 {"ph": "X", "cat": "kernel", "name": "void adam_kernel<float>(int)", "pid": 0, "tid": 7, "ts": 30, "dur": 11.0,
  "args": {"device": 0, "context": 1, "stream": 7, "correlation": 2, "registers per thread": 32, "shared memory": 96,
           "blocks per SM": 0.5, "grid": [66, 1, 1], "block": [128, 2, 1]}},
 {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 40.5, "dur": 3,
  "args": {"device": 0, "context": 1, "stream": 7, "bytes": 64}},
 {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 0, "tid": 7, "ts": 12, "dur": 40},
 {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 60, "dur": 9, "args": {"stream": 7}},
 {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "python"}},
 {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}},
 {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0, "args": {"name": "stream 7 "}}
 ], "baseTimeNanoseconds": 1700000000000000000})json";

TEST_F(TraceFiles, TorchWithABaseTime) {
    ASSERT_TRUE(write_text_file(folder_ / "torch.json", kTorch));
    TraceStore store;
    const auto read = required(import_trace(folder_ / "torch.json", store));
    EXPECT_EQ(std::tuple(read.processes, read.calls, read.work, read.streams),
              std::tuple(1u, 2u, 3u, 1u));
    EXPECT_EQ(store.sources().realtime_offset_ns(), 1'700'000'000'000'000'000);
    EXPECT_EQ(store.timeline().misplaced(), 0u);
    const TraceProcess& process = store.processes()[0];
    EXPECT_EQ(std::tuple(process.pid, process.name, process.labels.rank, process.labels.world_size),
              std::tuple(9u, std::string("python"), 3, 8));
    ASSERT_EQ(process.devices.size(), 1u);
    EXPECT_EQ(process.devices[0].warps_per_multiprocessor, 64u);
    ASSERT_EQ(process.syncs.size(), 1u);
    EXPECT_EQ(process.syncs.view()[0].type, SyncType::stream);
    const auto stream = std::ranges::find(store.tracks(), TrackKind::gpu_stream, &TraceTrack::kind);
    ASSERT_NE(stream, store.tracks().end());
    ASSERT_EQ(stream->rows.size(), 1u);
    const auto row = stream->rows[0].view();
    ASSERT_EQ(row.size(), 3u);
    EXPECT_EQ(row[1].end_ns, row[2].begin_ns);
    const auto t = static_cast<std::size_t>(stream - store.tracks().begin());
    const GpuWork &copy = *store.tracks()[t].work_of(0, row[0]),
                  &kern = *store.tracks()[t].work_of(0, row[1]);
    EXPECT_EQ(std::tuple(copy.kind, copy.bytes, copy.source, copy.target),
              std::tuple(GpuWorkKind::copy, 512u, MemoryType::pinned, MemoryType::device));
    EXPECT_EQ(std::tuple(kern.grid[0], kern.block[1], kern.registers, kern.dynamic_shared),
              std::tuple(66u, 2u, 32u, 96u));
    const auto range = range_of(store, t, 0, row[1]);
    ASSERT_NE(range.span, nullptr);
    EXPECT_TRUE(range.inferred);  // launched from a thread without ranges
    ASSERT_EQ(store.frames().history(StatScope::iteration).size(), 1u);
    EXPECT_EQ(store.frames().history(StatScope::iteration)[0].number, 7u);
    EXPECT_GT(store.frames()
                  .history(StatScope::iteration)[0]
                  .gpu_ms[static_cast<std::size_t>(Stage::adam)],
              0.0f);
}

// A foreign Perfetto trace of GPU work: the launching slice is on an ordinary thread track and
// names render stages.
TEST_F(TraceFiles, ForeignRenderStages) {
    std::string bytes;
    pbf_writer trace(bytes);
    const auto packet = [&](std::uint64_t time, auto write) {
        pbf_writer p(trace, 1);
        p.add_uint64(8, time);
        p.add_uint64(10, 5);
        write(p);
    };
    packet(0, [](pbf_writer& p) {
        p.add_uint64(13, 1);
        {
            pbf_writer t(p, 60);
            t.add_uint64(1, 77);
            pbf_writer d(t, 4);
            d.add_uint64(1, 12);
            d.add_uint64(2, 13);
            d.add_string(5, "python");
        }
        pbf_writer i(p, 12);
        {
            pbf_writer c(i, 23);
            c.add_uint64(1, 1);
            c.add_uint64(2, 12);
        }
        const auto specification = [&](std::uint64_t iid, std::string_view name) {
            pbf_writer s(i, 24);
            s.add_uint64(1, iid);
            s.add_string(2, name);
        };
        specification(1, "Kernel");
        specification(2, "Stream #21");
        pbf_writer k(i, 1000);
        k.add_uint64(1, 4);
        k.add_string(2, "_Z3fooi");
        k.add_string(3, "foo(int)");
    });
    packet(100, [](pbf_writer& p) {
        pbf_writer e(p, 11);
        e.add_uint64(9, 1);
        e.add_uint64(11, 77);
        e.add_string(23, "cudaLaunchKernel");
        pbf_writer c(e, 3000);
        c.add_uint64(1, 900);
    });
    packet(120, [](pbf_writer& p) {
        pbf_writer e(p, 11);
        e.add_uint64(9, 2);
        e.add_uint64(11, 77);
    });
    packet(150, [](pbf_writer& p) {
        pbf_writer s(p, 53);
        s.add_uint64(1, 900);
        s.add_uint64(2, 40);
        s.add_uint64(5, 1);
        s.add_uint64(11, 2);
        s.add_uint64(13, 2);
        s.add_uint64(14, 1);
        s.add_uint64(19, 4);
    });
    ASSERT_TRUE(write_text_file(folder_ / "foreign.pftrace", bytes));
    TraceStore store;
    const auto read = required(import_trace(folder_ / "foreign.pftrace", store));
    EXPECT_EQ(std::tuple(read.processes, read.calls, read.work), std::tuple(1u, 1u, 1u));
    const auto stream = std::ranges::find(store.tracks(), TrackKind::gpu_stream, &TraceTrack::kind);
    ASSERT_NE(stream, store.tracks().end());
    EXPECT_EQ(std::pair(stream->device, stream->stream), std::pair(2u, 21u));
    const TraceSpan& span = stream->rows[0].view()[0];
    EXPECT_EQ(store.name(span.name), "foo(int)");
    EXPECT_EQ(span.length_ns(), 40);
    const auto by = store.timeline().launching_span(
        static_cast<std::size_t>(stream - store.tracks().begin()), 0, span);
    ASSERT_NE(by.span, nullptr);
    EXPECT_EQ(by.span->begin_ns, 100);
    EXPECT_EQ(store.tracks()[by.track].tid, 13u);
}

TEST_F(TraceFiles, AskedToStopItStops) {
    TraceStore large({.max_points = 200'000});
    TraceBatch b = process(100, 0, 0, 1);
    for (int i = 0; i < 70'000; ++i) b.counters.push_back({i, 1.0 * i, 0, 10});
    large.ingest(b);
    ASSERT_TRUE(export_perfetto(large, folder_ / "large.pftrace"));
    ImportOptions options;
    double seen = 0;
    options.progress = [&](double share) {
        seen = share;
        return false;
    };
    TraceStore store;
    const auto read = import_trace(folder_ / "large.pftrace", store, options);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "stopped");
    EXPECT_GT(seen, 0);
    EXPECT_LT(seen, 1);
    EXPECT_EQ(store.span_count(), 0u);
}

TEST_F(TraceFiles, MutatedFiles) {
    const auto parse = [&](const std::string& bytes) {
        std::FILE* file = std::fopen((folder_ / "m").c_str(), "wb");
        std::fwrite(bytes.data(), 1, bytes.size(), file);
        std::fclose(file);
        TraceStore store;
        const auto read = import_trace(folder_ / "m", store);
        if (read) return store.span_count() <= bytes.size();
        EXPECT_FALSE(read.error().message.empty());
        return false;
    };
    TraceStore small;
    small.ingest(process(100, 0, 5'000'000, 2));
    ASSERT_TRUE(export_perfetto(small, folder_ / "s.pftrace"));
    ASSERT_TRUE(export_chrome(small, folder_ / "s.json"));
    test::hammer(*read_text_file(folder_ / "s.pftrace"), 500, parse);
    test::hammer(*read_text_file(folder_ / "s.json"), 300, parse);
    test::hammer(kTorch, 300, parse);
}

}  // namespace
}  // namespace gs
