// Exports of Nsight Systems: ranges, CUDA calls, GPU work and samples of its SQLite tables, as
// several versions write them, and files that were made to do harm.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "profiler/analysis/iterations.h"
#include "profiler/analysis/stack_profile.h"
#include "tests/unit/foreign_traces.h"

namespace gs {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, clockRate INTEGER, smCount INTEGER, uuid TEXT,
  cuDevice INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxRegistersPerSm INTEGER, maxShmemPerSm INTEGER,
  maxShmemPerBlock INTEGER, computeMajor INTEGER, computeMinor INTEGER, l2CacheSize INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, numMultiprocessors INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
  int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread
  INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory
  INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId
  INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId
  INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);
CREATE TABLE COMPOSITE_EVENTS (id INTEGER, start INTEGER, cpu INTEGER, threadState INTEGER, globalTid INTEGER,
  cpuCycles INTEGER);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER);
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
)";
// Process 300 (0x12C), threads 300 and 301.
constexpr std::int64_t kPid = 0x12Cll << 24, kMain = kPid | 300, kLoader = kPid | 301;

class Nsys : public test::ForeignTraces {
  protected:
    static constexpr std::int64_t kStep = 10'000'000;

    /// An SQLite file that these statements make.
    std::string made(const std::string& sql) {
        const std::string file = (folder_ / "made.sqlite").string();
        fs::remove(file);
        sqlite3* database = nullptr;
        EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
        char* why = nullptr;
        const std::string all = "PRAGMA synchronous=OFF; BEGIN;" + sql + ";COMMIT";
        EXPECT_EQ(sqlite3_exec(database, all.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
        sqlite3_free(why);
        sqlite3_close(database);
        return *read_text_file(file);
    }
    /// Eight training steps: a push range with two in it, a kernel and a copy launched in each.
    static std::string training() {
        std::string sql = kTables;
        sql += fmt::format(
            "INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'void "
            "gemm<float>(int)'),(3,'cudaMemcpyAsync_v3020'),(4,'trainer'),(5,'backward'),(6,'poll')"
            ",(7,'work()'),(8,'libwork.so'),(9,'main');INSERT "
            "INTO ThreadNames VALUES (4, 1, {0});INSERT INTO PROCESSES VALUES ({1}, 300, "
            "'python3');INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790000000000000000, "
            "'', '');INSERT INTO TARGET_INFO_GPU VALUES (7,'NVIDIA "
            "H100',85899345920,1980000000,132,'GPU-1',0,64,32,65536,233472,49152,9,0,52428800);"
            "INSERT "
            "INTO NVTX_EVENTS(start,eventType,text,globalTid,domainId) VALUES "
            "(0,75,'torch',{0},2);INSERT INTO "
            "NVTX_EVENTS(start,eventType,text,globalTid,domainId,category) VALUES "
            "(0,33,'compute',{0},2,5);INSERT INTO NVTX_EVENTS(start,eventType,text,globalTid) "
            "VALUES (50,34,'a mark',{0});INSERT INTO "
            "NVTX_EVENTS(start,end,eventType,text,globalTid) VALUES "
            "(1000,90000000,60,'download',{2});INSERT INTO OSRT_API(start,end,globalTid,nameId) "
            "VALUES (100,5000,{2},6);INSERT INTO NVTX_EVENTS(start,eventType,text,globalTid) "
            "VALUES (95000000,59,'open',{0});INSERT INTO GPU_METRICS VALUES (1,1,1,1);",
            kMain, kPid, kLoader);
        for (std::int64_t i = 0; i < 8; ++i) {
            const std::int64_t at = 1'000'000 + i * kStep;
            sql += fmt::format(
                "INSERT INTO "
                "NVTX_EVENTS(start,end,eventType,text,textId,globalTid,domainId,category,"
                "uint64Value) "
                "VALUES "
                "({0},{1},59,'step',NULL,{2},0,0,{3}),({0}+10,{0}+4000000,59,'forward',NULL,{2},2,"
                "5,NULL),({0}+4000000,{0}+8000000,59,NULL,5,{2},2,5,NULL);INSERT "
                "INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "
                "({0}+100,{0}+5100,0,{2},{4},1,0,0),({0}+6000,{0}+9000,0,{2},{4}+1,3,0,0);INSERT "
                "INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                "({0}+20000,{0}+2020000,0,1,7,{4},{5},2,2,40,10,2,1,256,1,1,1024,0,0,NULL);INSERT "
                "INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
                "({0}+2030000,{0}+2040000,0,1,7,{4}+1,{5},4096,1,1,2);INSERT INTO "
                "CUPTI_ACTIVITY_KIND_MEMSET VALUES "
                "({0}+2050000,{0}+2051000,0,1,7,99,{5},0,512);INSERT INTO COMPOSITE_EVENTS VALUES "
                "({6},{0}+500000,0,0,{2},1);INSERT INTO SAMPLING_CALLCHAINS VALUES "
                "({6},7,8,0),({6},9,8,1);",
                at, at + 9'000'000, kMain, 100 + i, 10 * i + 1, kPid, i + 1);
        }
        return sql;
    }
    static std::vector<std::string> names_of(const TraceStore& store, TrackKind kind) {
        std::set<std::string> out;
        for (const TraceTrack& track : store.tracks())
            if (track.kind == kind)
                for (const auto& row : track.rows)
                    for (const TraceSpan& span : row.view())
                        out.insert(std::string(store.name(span.name)));
        return {out.begin(), out.end()};
    }
    using Names = std::vector<std::string>;
};

TEST_F(Nsys, RangesCallsWorkAndSamplesComeIn) {
    TraceStore store;
    const ImportSummary summary = read(made(training()), store, "run.sqlite");
    EXPECT_EQ(summary.format, "Nsight Systems");
    EXPECT_EQ(summary.calls, 16u);
    EXPECT_EQ(summary.work, 24u);
    EXPECT_EQ(summary.samples, 8u);
    EXPECT_EQ(summary.instants, 1u);
    EXPECT_EQ(summary.open, 1u);
    EXPECT_EQ(summary.lost, 0u);
    EXPECT_NE(note_with(summary, "tables that are not read: GPU_METRICS"), "");
    ASSERT_EQ(store.processes().size(), 1u);
    EXPECT_EQ(store.processes()[0].pid, 300u);
    EXPECT_EQ(store.processes()[0].name, "python3");
    EXPECT_EQ(store.sources().realtime_offset_ns(), 1'790'000'000'000'000'000);
    EXPECT_EQ(names_of(store, TrackKind::thread), (Names{"backward", "forward", "step"}));
    EXPECT_EQ(names_of(store, TrackKind::overlapping), (Names{"download", "poll"}));
    EXPECT_EQ(names_of(store, TrackKind::api), (Names{"cudaLaunchKernel", "cudaMemcpyAsync"}));
    const Iterations steps = find_iterations(store, 0);
    ASSERT_EQ(steps.items.size(), 8u) << steps.how;
    EXPECT_EQ(steps.items.front().number, 100u);
    EXPECT_NEAR(steps.items.front().milliseconds(), 9, 1e-9);
    EXPECT_EQ(store.tracks()[steps.track].name, "trainer");
    expect_kept(store);
}

TEST_F(Nsys, RangesHaveDomainsAndCategoriesAndWorkItsLaunchAndNumbers) {
    TraceStore store;
    read(made(training()), store, "run.sqlite");
    std::size_t kernels = 0, compute = 0;
    for (const TraceTrack& track : store.tracks())
        for (std::size_t r = 0; r < track.rows.size(); ++r)
            for (const TraceSpan& span : track.rows[r].view()) {
                if (store.name(span.name) == "forward") {
                    EXPECT_EQ(store.names().domain(span.name), "torch");
                    compute += store.names().category(span.name, span.category) == "compute";
                }
                const GpuWork* const work = track.work_of(r, span);
                if (work == nullptr) continue;
                EXPECT_EQ(track.device, 0u);
                EXPECT_EQ(track.stream, 7u);
                if (work->kind == GpuWorkKind::kernel) {
                    ++kernels;
                    EXPECT_EQ(store.name(span.name), "void gemm<float>(int)");
                    EXPECT_EQ(work->grid[0] * work->grid[1] * work->block[0], 10u * 2 * 256);
                    const TraceLaunch* const launch = track.launch_of(r, span);
                    ASSERT_NE(launch, nullptr);
                    EXPECT_EQ(span.begin_ns - launch->time_ns, 19'900);
                } else if (work->kind == GpuWorkKind::copy) {
                    EXPECT_EQ(work->bytes, 4096u);
                    EXPECT_EQ(work->source, MemoryType::pinned);
                    EXPECT_EQ(work->target, MemoryType::device);
                }
            }
    EXPECT_EQ(kernels, 8u);
    EXPECT_EQ(compute, 8u);
    ASSERT_EQ(store.processes()[0].devices.size(), 1u);
    EXPECT_EQ(store.processes()[0].devices[0].name, "NVIDIA H100");
    EXPECT_EQ(store.processes()[0].devices[0].clock_khz, 1'980'000);
}

TEST_F(Nsys, ThreadsThatOnlyCallOrAreSampledHaveTheirNames) {
    TraceStore store;
    read(made(training() +
              fmt::format(
                  "INSERT INTO StringIds VALUES (20,'pt_autograd_0'),(21,'worker'),(22,'idle');"
                  "INSERT INTO ThreadNames VALUES (20,1,{0}+302),(21,1,{0}+303),(22,1,{0}+304);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "
                  "(2000000,2001000,0,{0}+302,900,1,0,0);"
                  "INSERT INTO COMPOSITE_EVENTS VALUES (100,1500000,0,0,{0}+303,1);"
                  "INSERT INTO SAMPLING_CALLCHAINS VALUES (100,7,8,0);",
                  kPid)),
         store, "run.sqlite");
    EXPECT_EQ(thread_name(store, 0, 302), "pt_autograd_0");
    EXPECT_EQ(thread_name(store, 0, 303), "worker");
    std::set<std::string> of_calls;
    for (const TraceTrack& track : store.tracks()) {
        EXPECT_NE(track.tid, 304u) << "it did nothing";
        if (track.kind == TrackKind::api) of_calls.insert(track.name);
    }
    EXPECT_EQ(of_calls,
              (std::set<std::string>{"CUDA calls of trainer", "CUDA calls of pt_autograd_0"}));
}

// CUDA_VISIBLE_DEVICES: each process begins at 0. The last one is not in the table that says so.
TEST_F(Nsys, GpusAreThoseThatEachProcessSees) {
    std::string sql =
        training() +
        "INSERT INTO TARGET_INFO_GPU(id,name,uuid,cuDevice,smCount) VALUES "
        "(8,'NVIDIA A100','GPU-2',1,108);INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES "
        "(8,0,300,'',108),(7,0,400,'MIG-1',16),(8,1,400,'',0),(9,2,400,'',1),(8,NULL,400,'',1);";
    for (const std::int64_t pid : {400, 500})
        sql += fmt::format(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,streamId,globalPid,"
            "shortName) VALUES (5000,6000,0,7,{},2);",
            pid << 24);
    TraceStore store;
    read(made(sql), store, "run.sqlite");
    std::map<std::uint32_t, std::string> seen;
    for (const TraceProcess& process : store.processes())
        for (const GpuDeviceEvent& gpu : process.devices)
            seen[process.pid] +=
                fmt::format("{}: {} {} {}, ", gpu.device, gpu.name, gpu.uuid, gpu.multiprocessors);
    EXPECT_EQ(seen, (std::map<std::uint32_t, std::string>{
                        {300, "0: NVIDIA A100 GPU-2 108, "},
                        {400, "0: NVIDIA H100 GPU-1 16, 1: NVIDIA A100 GPU-2 108, "},
                        {500, "0: NVIDIA H100 GPU-1 132, 1: NVIDIA A100 GPU-2 108, "}}));
}

// Of 2020: texts in the rows, no domains, no processes, calls of the driver in a table of their
// own.
TEST_F(Nsys, AnOldExportWithFewColumnsIsRead) {
    TraceStore store;
    const ImportSummary summary = read(
        made(fmt::format(
            "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES "
            "(1,'cuLaunchKernel'),(2,'gemm');CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, "
            "eventType INTEGER, text TEXT, globalTid INTEGER); INSERT INTO NVTX_EVENTS VALUES "
            "(10,20,59,'a range',{0});CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (start INTEGER, end "
            "INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER); INSERT INTO "
            "CUPTI_ACTIVITY_KIND_DRIVER VALUES (11,12,{0},1,1);CREATE TABLE "
            "CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, streamId INTEGER, "
            "correlationId INTEGER, globalPid INTEGER, shortName INTEGER); INSERT INTO "
            "CUPTI_ACTIVITY_KIND_KERNEL VALUES (13,19,3,1,{1},2);",
            kMain, kPid)),
        store, "old.sqlite");
    EXPECT_EQ(std::tuple(summary.spans, summary.calls, summary.work), std::tuple(1u, 1u, 1u));
    EXPECT_EQ(store.processes()[0].name, "process 300");
    EXPECT_EQ(names_of(store, TrackKind::gpu_stream), Names{"gemm"});
}

TEST_F(Nsys, ValuesOfAnyTypeAndNoneAreNoHarm) {
    std::string sql = training();
    for (const char* value :
         {"NULL", "'text'", "x'00FF'", "-1", "1e300", "-9223372036854775808", "9223372036854775807",
          "zeroblob(200000)", "printf('%.*c', 200000, 'x')"})
        for (const char* table :
             {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
              "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "OSRT_API",
              "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "ThreadNames", "PROCESSES",
              "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME"}) {
            std::string columns;
            for (const char* at = std::strstr(kTables, (std::string(table) + " (").c_str());
                 *at != ';'; ++at)
                if (*at == ',' || *at == ';' || std::strncmp(at, ");", 2) == 0)
                    columns += (columns.empty() ? "" : ",") + std::string(value);
            sql += fmt::format("INSERT OR IGNORE INTO {} VALUES ({});", table, columns);
        }
    TraceStore store;
    const ImportSummary summary = read(made(sql), store, "odd.sqlite");
    EXPECT_EQ(summary.work, 24u);
    EXPECT_NE(note_with(summary, "rows of impossible times"), "");
    for (const auto& [name, begin, end] : test::lengths_of(store)) EXPECT_LE(begin, end);
}

// Its views, triggers and generated columns are code that a stranger wrote.
TEST_F(Nsys, NoCodeOfTheFileRuns) {
    const Error error = refused(
        made("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT "
             "start + 1 FROM n) SELECT start, start AS end, 59 AS eventType FROM n;"),
        "view.sqlite");
    EXPECT_NE(error.message.find("Nsight Systems"), std::string::npos) << error.text();
}

TEST_F(Nsys, NoVirtualTableRunsEither) {
    const std::string bytes = made(
        "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(start, end, eventType, globalTid, text);"
        "INSERT INTO NVTX_EVENTS VALUES (1,2,59,300,'x'); PRAGMA writable_schema=ON;"
        "UPDATE sqlite_master SET rootpage = 2 WHERE name = 'NVTX_EVENTS'");
    std::ofstream(folder_ / "virtual.sqlite", std::ios::binary) << bytes;
    TraceStore store;
    const auto summary = import_trace(folder_ / "virtual.sqlite", store);
    EXPECT_TRUE(!summary || summary->spans == 0);
}

// Pages that point at each other so that a few of them have 10^10 rows.
TEST_F(Nsys, RowsEndWithTheFile) {
    constexpr std::size_t kPage = 4096, kCells = 100, kLevels = 5;
    std::string bytes = made(
        "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, globalTid "
        "INTEGER, text TEXT); INSERT INTO NVTX_EVENTS VALUES (1,2,59,300,'x')");
    ASSERT_EQ(bytes.size(), 2 * kPage) << "the schema, and the table's one page of rows";
    const auto number = [](std::string& to, std::size_t at, std::size_t length, std::size_t value) {
        for (std::size_t i = 0; i < length; ++i)
            to[at + i] = static_cast<char>(value >> 8 * (length - 1 - i) & 0xFF);
    };
    const auto inner = [&](std::size_t child) {
        std::string page(kPage, '\0');
        page[0] = 5;
        number(page, 3, 2, kCells);
        number(page, 5, 2, kPage - 5 * kCells);
        number(page, 8, 4, child);
        for (std::size_t i = 0; i < kCells; ++i) {
            const std::size_t cell = kPage - 5 * (i + 1);
            number(page, 12 + 2 * i, 2, cell);
            number(page, cell, 4, child);
            page[cell + 4] = static_cast<char>(i + 1);
        }
        return page;
    };
    const std::string rows = bytes.substr(kPage);
    bytes.resize(kPage);
    for (std::size_t level = 0; level < kLevels; ++level) bytes += inner(level + 3);
    bytes += rows;
    number(bytes, 28, 4, bytes.size() / kPage);
    TraceStore store;
    const ImportSummary summary = read(bytes, store, "loop.sqlite");
    EXPECT_TRUE(summary.cut);
    EXPECT_GT(summary.spans, 0u);
    EXPECT_LE(summary.spans, bytes.size() / 4 + 1);
}

TEST_F(Nsys, OtherDatabasesAndReportsAreRefusedWithWhatToDo) {
    const Error other = refused(made("CREATE TABLE a (b INTEGER)"), "other.sqlite");
    EXPECT_NE(other.message.find("no export of Nsight Systems"), std::string::npos);
    for (const char* name : {"run.nsys-rep", "run.qdrep"}) {
        const Error error = refused("a report", name);
        EXPECT_NE(error.message.find("Nsight Systems"), std::string::npos);
        EXPECT_NE(error.advice.find(std::string("nsys export --type sqlite ") + name),
                  std::string::npos);
    }
    const Error damaged = refused(std::string("SQLite format 3\0 and so on", 25), "run.sqlite");
    EXPECT_NE(damaged.message.find("damaged or cut off"), std::string::npos);
}

TEST_F(Nsys, DamagedFilesGiveWhatIsWhole) {
    const std::string whole = made(training());
    TraceStore store;
    const ImportSummary summary = read(whole.substr(0, whole.size() - 1), store, "cut.sqlite");
    EXPECT_TRUE(summary.cut);
    EXPECT_GT(summary.spans + summary.calls + summary.work, 0u);
    hammer_reader(whole);
}

}  // namespace
}  // namespace gs
