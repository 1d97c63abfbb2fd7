// Tables and columns: NVIDIA's "SQLite Schema Reference" of Nsight Systems, 2020 to 2025.
#include "profiler/files/import_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/nth.h"
#include "profiler/files/sqlite_table.h"

namespace gs {
namespace {

/// NVTX_EVENTS.eventType.
enum : std::int64_t {
    kCategory = 33,
    kMark = 34,
    kPushPop = 59,
    kStartEnd = 60,
    kDomain = 75,
};
constexpr const char* kOsDomain = "OS runtime";

/// A thread's number is 24 bits below its process's 24 bits; above are the machine's.
std::uint32_t pid_of(std::int64_t global) {
    return static_cast<std::uint32_t>(global >> 24 & 0xFFFFFF);
}
std::uint32_t tid_of(std::int64_t global) { return static_cast<std::uint32_t>(global & 0xFFFFFF); }

/// "cudaLaunchKernel_v7000": the version of the runtime is no part of the name.
std::string_view without_version(std::string_view call) {
    const std::size_t at = call.rfind("_v");
    if (!call.starts_with("cuda") || at == call.npos || at + 2 == call.size()) return call;
    const auto digits = call.substr(at + 2);
    return digits.find_first_not_of("0123456789") == digits.npos ? call.substr(0, at) : call;
}

MemoryType memory_type(std::int64_t kind) {
    constexpr std::array kTypes{MemoryType::pageable, MemoryType::pinned,  MemoryType::device,
                                MemoryType::array,    MemoryType::managed, MemoryType::device,
                                MemoryType::managed};
    return kind >= 0 && kind < std::ssize(kTypes) ? kTypes[static_cast<std::size_t>(kind)]
                                                  : MemoryType::unknown;
}

class NsysReader {
  public:
    NsysReader(const SqliteBytes& file, ImportEvents& out) : file_(file), out_(out) {}

    void read() {
        each("StringIds", {"id", "value"}, [&](const SqliteTable& row) {
            if (const auto id = row.whole(0)) strings_.try_emplace(*id, row.text(1));
        });
        each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const SqliteTable& row) {
            const std::int64_t since_1970 = row.whole_or(0, 0);
            if (since_1970 > 0 && since_1970 < kMaxImportTime)
                out_.clock.realtime_offset_ns = since_1970;
        });
        take_ranges();
        take_calls();
        take_kernels();
        take_copies();
        take_waits();
        take_samples();
        name_threads();
        describe_processes();
        tell_of_the_rest();
    }

  private:
    struct Times {
        std::int64_t begin = 0, end = 0;
    };
    using Columns = std::initializer_list<const char*>;

    template <class Take>
    void each(const std::string& table, Columns columns, const Take& take) {
        read_.insert(table);
        SqliteTable rows(file_, table, columns);
        while (rows.next()) take(rows);
        if (rows.damaged() && !out_.stopped())
            out_.notes.cut(
                fmt::format("the file is damaged or cut off: rows of {} are missing ({})", table,
                            file_.error()));
    }
    /// Of rows whose first two columns are "start" and "end".
    template <class Take>
    void each_timed(const std::string& table, Columns columns, const Take& take) {
        each(table, columns, [&](const SqliteTable& row) {
            const Times at{row.whole_or(0, -1), row.whole_or(1, -1)};
            if (at.begin < 0 || at.end < at.begin || at.end > kMaxImportTime)
                out_.notes.skip("rows of impossible times");
            else
                take(row, at);
        });
    }

    std::string_view string(std::optional<std::int64_t> id) const {
        const auto found = id ? strings_.find(*id) : strings_.end();
        return found == strings_.end() ? std::string_view() : std::string_view(found->second);
    }
    std::uint32_t track(std::int64_t global_tid, TrackKind kind = TrackKind::thread) {
        const std::uint32_t pid = pid_of(global_tid);
        const std::int64_t key = kind == TrackKind::thread ? global_tid : -1 - std::int64_t{pid};
        const auto [place, added] = tracks_.try_emplace(key, kNoTrack);
        if (!added) return place->second;
        pids_.insert(pid);
        place->second = out_.add_track();
        if (place->second == kNoTrack) return kNoTrack;
        TrackInfo& info = out_.info(place->second);
        info.pid = pid;
        info.tid = kind == TrackKind::thread ? tid_of(global_tid) : 0;
        info.kind = kind;
        return place->second;
    }

    void take_ranges() {
        static constexpr Columns kColumns{"start",       "end",         "eventType",  "globalTid",
                                          "text",        "textId",      "domainId",   "category",
                                          "uint64Value", "uint32Value", "int64Value", "int32Value",
                                          "doubleValue", "floatValue"};
        each("NVTX_EVENTS", kColumns, [&](const SqliteTable& row) { take_definition(row); });
        each("NVTX_EVENTS", kColumns, [&](const SqliteTable& row) { take_range(row); });
        each_timed("OSRT_API", {"start", "end", "globalTid", "nameId"},
                   [&](const SqliteTable& row, Times at) {
                       ImportedEvent call{.begin_ns = at.begin,
                                          .end_ns = at.end,
                                          .name = out_.name(string(row.whole(3)), kOsDomain)};
                       out_.add(track(row.whole_or(2, 0), TrackKind::overlapping), call);
                   });
    }

    std::string_view text_of(const SqliteTable& row) const {
        return row.text(4).empty() ? string(row.whole(5)) : row.text(4);
    }
    /// Names of domains and of their categories.
    void take_definition(const SqliteTable& row) {
        const std::uint32_t pid = pid_of(row.whole_or(3, 0));
        if (row.whole(2) == kDomain) domains_[{pid, row.whole_or(6, 0)}] = text_of(row);
        if (row.whole(2) == kCategory)
            categories_[{pid, row.whole_or(6, 0), row.whole_or(7, 0)}] = text_of(row);
    }

    void take_range(const SqliteTable& row) {
        const std::int64_t type = row.whole_or(2, 0), thread = row.whole_or(3, 0);
        if (type != kPushPop && type != kStartEnd && type != kMark) return;
        ImportedEvent range{.begin_ns = row.whole_or(0, -1)};
        range.end_ns = row.whole(1).value_or(range.begin_ns);
        if (range.begin_ns < 0 || range.end_ns < range.begin_ns || range.end_ns > kMaxImportTime)
            return out_.notes.skip("rows of impossible times");
        const std::int64_t number = row.whole_or(6, 0);
        const auto domain = domains_.find({pid_of(thread), number});
        const std::string& of = domain == domains_.end() ? kNoText : domain->second;
        range.name = out_.name(text_of(row), of);
        take_payload(row, range);
        if (type == kMark)
            return out_.add_instant(
                {range.begin_ns, range.payload, track(thread), range.name, range.payload_kind});
        const auto category = categories_.find({pid_of(thread), number, row.whole_or(7, 0)});
        if (category != categories_.end()) range.category = out_.category(category->second, of);
        if (!row.whole(1)) range.kind = ImportedEvent::Kind::begin;  // open at the end
        out_.add(track(thread, type == kPushPop ? TrackKind::thread : TrackKind::overlapping),
                 range);
    }

    static void take_payload(const SqliteTable& row, ImportedEvent& range) {
        range.has_payload = true;
        for (const int column : {8, 9})
            if (const auto value = row.whole(column))
                return void(range.payload = static_cast<std::uint64_t>(*value));
        range.payload_kind = PayloadKind::signed_whole;
        for (const int column : {10, 11})
            if (const auto value = row.whole(column))
                return void(range.payload = static_cast<std::uint64_t>(*value));
        range.payload_kind = PayloadKind::real;
        for (const int column : {12, 13})
            if (const auto value = row.real(column))
                return void(range.payload = std::bit_cast<std::uint64_t>(*value));
        range.payload_kind = PayloadKind::whole;
        range.has_payload = false;
    }

    /// Of the runtime and of the driver; older exports have a table for each.
    void take_calls() {
        for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"})
            each_timed(table,
                       {"start", "end", "globalTid", "nameId", "correlationId", "returnValue"},
                       [&](const SqliteTable& row, Times at) {
                           const std::int64_t thread = row.whole_or(2, 0);
                           const std::string_view call = without_version(string(row.whole(3)));
                           threads_.insert(thread);
                           out_.add(pid_of(thread), &TraceBatch::api_calls,
                                    {at.begin, at.end, row.small(4), tid_of(thread),
                                     out_.name(call), row.small(5), !call.starts_with("cuda")});
                       });
    }

    void take_kernels() {
        each_timed("CUPTI_ACTIVITY_KIND_KERNEL",
                   {"start",
                    "end",
                    "globalPid",
                    "deviceId",
                    "contextId",
                    "streamId",
                    "correlationId",
                    "graphNodeId",
                    "demangledName",
                    "shortName",
                    "gridX",
                    "gridY",
                    "gridZ",
                    "blockX",
                    "blockY",
                    "blockZ",
                    "registersPerThread",
                    "staticSharedMemory",
                    "dynamicSharedMemory",
                    "localMemoryPerThread"},
                   [&](const SqliteTable& row, Times at) {
                       GpuWorkEvent work = work_of(row, at);
                       const std::string_view whole = string(row.whole(8));
                       work.name = out_.name(whole.empty() ? string(row.whole(9)) : whole);
                       for (int i = 0; i < 3; ++i) {
                           work.grid[i] = row.small(10 + i);
                           work.block[i] = row.small(13 + i);
                       }
                       work.registers = row.small(16);
                       work.static_shared = row.small(17);
                       work.dynamic_shared = row.small(18);
                       work.local_per_thread = row.small(19);
                       add_work(row, work);
                   });
    }
    void take_copies() {
        each_timed("CUPTI_ACTIVITY_KIND_MEMCPY",
                   {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                    "correlationId", "graphNodeId", "bytes", "srcKind", "dstKind"},
                   [&](const SqliteTable& row, Times at) {
                       GpuWorkEvent work = work_of(row, at);
                       work.kind = GpuWorkKind::copy;
                       work.bytes = large(row, 8);
                       work.source = memory_type(row.whole_or(9, -1));
                       work.target = memory_type(row.whole_or(10, -1));
                       add_work(row, work);
                   });
        each_timed("CUPTI_ACTIVITY_KIND_MEMSET",
                   {"start", "end", "globalPid", "deviceId", "contextId", "streamId",
                    "correlationId", "graphNodeId", "bytes"},
                   [&](const SqliteTable& row, Times at) {
                       GpuWorkEvent work = work_of(row, at);
                       work.kind = GpuWorkKind::fill;
                       work.bytes = large(row, 8);
                       add_work(row, work);
                   });
        each_timed(
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"},
            [&](const SqliteTable& row, Times at) {
                GpuWorkEvent work = work_of(row, at);
                work.kind = GpuWorkKind::graph;
                add_work(row, work);
            });
    }
    void take_waits() {
        each_timed(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            {"start", "end", "globalPid", "contextId", "streamId", "correlationId", "syncType"},
            [&](const SqliteTable& row, Times at) {
                out_.add(pid_of(row.whole_or(2, 0)), &TraceBatch::syncs,
                         {at.begin, at.end, row.small(5), row.small(3), row.small(4),
                          enumerator<SyncType>(row.small(6))});
            });
    }
    static std::uint64_t large(const SqliteTable& row, int column) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(row.whole_or(column, 0), 0));
    }
    /// What all tables of work have, in the columns after the times.
    static GpuWorkEvent work_of(const SqliteTable& row, Times at) {
        GpuWorkEvent work{.begin_ns = at.begin,
                          .end_ns = at.end,
                          .device = row.small(3),
                          .context = row.small(4),
                          .stream = row.small(5)};
        work.correlation = row.small(6);
        if (const std::int64_t node = row.whole_or(7, 0); node != 0)
            work.graph = std::max(1u, static_cast<std::uint32_t>(node >> 32));
        return work;
    }
    void add_work(const SqliteTable& row, const GpuWorkEvent& work) {
        const std::uint32_t pid = pid_of(row.whole_or(2, 0));
        pids_.insert(pid);
        gpu_pids_.insert(pid);
        out_.add_work(pid, work);
    }

    void take_samples() {
        std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>> taken;  // by id
        std::unordered_map<std::int64_t, std::int64_t> last;                            // by thread
        std::vector<std::int64_t> gaps;
        each("COMPOSITE_EVENTS", {"id", "start", "globalTid"}, [&](const SqliteTable& row) {
            const std::int64_t at = row.whole_or(1, -1), thread = row.whole_or(2, 0);
            if (at < 0 || at > kMaxImportTime) return;
            taken[row.whole_or(0, -1)] = {at, thread};
            const auto [before, first] = last.try_emplace(thread, at);
            if (!first && at > before->second) gaps.push_back(at - before->second);
            before->second = at;
        });
        const std::int64_t period = gaps.empty() ? 1'000'000 : upper_median(gaps);
        std::vector<FrameEvent> stack;
        std::int64_t of = -1;
        const auto finish = [&] {
            const auto found = taken.find(of);
            if (found == taken.end() || stack.empty()) return;
            const auto [at, thread] = found->second;
            threads_.insert(thread);
            SampleEvent sample{.time_ns = at, .weight_ns = period, .tid = tid_of(thread)};
            out_.add_sample(pid_of(thread), sample, stack);
        };
        each("SAMPLING_CALLCHAINS", {"id", "symbol", "module"}, [&](const SqliteTable& row) {
            if (const std::int64_t id = row.whole_or(0, -1); id != of) {
                finish();
                stack.clear();
                of = id;
            }
            if (stack.size() < kMostFrames) stack.push_back(frame_of(row));
        });
        finish();
    }
    FrameEvent frame_of(const SqliteTable& row) const {
        return {.function = std::string(string(row.whole(1))),
                .module = std::string(string(row.whole(2)))};
    }

    void name_threads() {
        for (const std::int64_t thread : threads_) pids_.insert(pid_of(thread));
        each("ThreadNames", {"globalTid", "nameId"}, [&](const SqliteTable& row) {
            const std::int64_t thread = row.whole_or(0, -1);
            if (!threads_.contains(thread) && !tracks_.contains(thread)) return;
            if (const std::uint32_t named = track(thread); named != kNoTrack)
                out_.info(named).name = string(row.whole(1));
        });
    }

    void describe_processes() {
        std::unordered_map<std::uint32_t, std::string> names;
        each("PROCESSES", {"globalPid", "name"},
             [&](const SqliteTable& row) { names[pid_of(row.whole_or(0, 0))] = row.text(1); });
        for (const std::uint32_t pid : pids_) {
            ImportedProcess& process = out_.process(pid);
            process.declared = true;
            const std::string& name = names[pid];
            process.batch.process_name = name.empty() ? fmt::format("process {}", pid) : name;
        }
        describe_gpus();
    }
    /// A process numbers the GPUs that CUDA_VISIBLE_DEVICES lets it see; cuDevice is another's
    /// number, for exports without the table that joins them.
    void describe_gpus() {
        std::map<std::int64_t, GpuDeviceEvent> gpus;  // by id
        std::set<std::uint32_t> joined;
        each("TARGET_INFO_GPU",
             {"cuDevice", "id", "name", "uuid", "computeMajor", "computeMinor", "smCount",
              "maxWarpsPerSm", "maxBlocksPerSm", "maxRegistersPerSm", "maxShmemPerSm",
              "maxShmemPerBlock", "l2CacheSize", "clockRate", "totalMemory"},
             [&](const SqliteTable& row) { gpus.try_emplace(row.whole_or(1, -1), gpu_of(row)); });
        each("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid", "numMultiprocessors"},
             [&](const SqliteTable& row) {
                 const auto found = gpus.find(row.whole_or(0, -1));
                 const std::uint32_t pid = row.small(2);
                 if (found == gpus.end() || !row.whole(1) || !gpu_pids_.contains(pid)) return;
                 GpuDeviceEvent gpu = found->second;
                 gpu.device = row.small(1);
                 if (const std::uint32_t of_slice = row.small(3); of_slice > 0 && of_slice < 4096)
                     gpu.multiprocessors = static_cast<int>(of_slice);
                 joined.insert(pid);
                 out_.process(pid).batch.devices.push_back(std::move(gpu));
             });
        for (const std::uint32_t pid : gpu_pids_)
            for (const auto& [id, gpu] : gpus)
                if (!joined.contains(pid)) out_.process(pid).batch.devices.push_back(gpu);
    }
    static GpuDeviceEvent gpu_of(const SqliteTable& row) {
        const auto number = [&](int column) {
            return static_cast<int>(std::min<std::uint32_t>(row.small(column), 1u << 20));
        };
        GpuDeviceEvent gpu{.device = row.whole(0) ? row.small(0) : row.small(1),
                           .name = std::string(row.text(2)),
                           .uuid = std::string(row.text(3)),
                           .compute_major = number(4),
                           .compute_minor = number(5),
                           .multiprocessors = number(6),
                           .warps_per_multiprocessor = row.small(7),
                           .blocks_per_multiprocessor = row.small(8),
                           .registers_per_multiprocessor = row.small(9),
                           .shared_per_multiprocessor = row.small(10),
                           .shared_per_block = row.small(11),
                           .l2_bytes = row.small(12)};
        gpu.clock_khz =
            static_cast<int>(std::clamp<std::int64_t>(row.whole_or(13, 0) / 1000, 0, 1 << 30));
        gpu.memory_bytes = large(row, 14);
        return gpu;
    }

    /// Tables of events that nothing here reads.
    void tell_of_the_rest() {
        std::vector<std::string> others;
        for (const std::string& table : file_.tables()) {
            if (read_.contains(table)) continue;
            const auto columns = file_.columns(table);
            const bool timed = std::any_of(columns.begin(), columns.end(), [](const auto& column) {
                return column == "start" || column == "timestamp";
            });
            if (timed && SqliteTable(file_, table, {"start"}).next()) others.push_back(table);
        }
        if (!others.empty())
            out_.notes.note(fmt::format("tables that are not read: {}", fmt::join(others, ", ")));
    }

    static constexpr std::size_t kMostFrames = 512;
    static inline const std::string kNoText;

    const SqliteBytes& file_;
    ImportEvents& out_;
    std::unordered_map<std::int64_t, std::string> strings_;
    std::unordered_map<std::int64_t, std::uint32_t> tracks_;  // by globalTid; -1 - pid: overlapping
    std::map<std::pair<std::uint32_t, std::int64_t>, std::string> domains_;  // by pid, number
    std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::string> categories_;
    std::set<std::int64_t> threads_;  // with calls or samples, by globalTid
    std::set<std::uint32_t> pids_, gpu_pids_;
    std::set<std::string> read_;
};

}  // namespace

bool is_sqlite(std::string_view bytes) { return bytes.starts_with("SQLite format 3"); }

Result<void> import_nsys(std::string& bytes, const std::string& path, ImportEvents& out) {
    const SqliteBytes file(bytes, [&out] { return out.go_on(0.5); });
    if (!file.has("StringIds") && !file.has("NVTX_EVENTS"))
        return fail(ErrorKind::malformed, path,
                    file.readable() ? "a SQLite file, but no export of Nsight Systems"
                                    : "the SQLite file cannot be read: it is damaged or cut off",
                    "nsys export --type sqlite report.nsys-rep makes one");
    NsysReader(file, out).read();
    if (file.is_cut()) out.notes.cut("the file is cut off; rows before that are shown");
    return {};
}

}  // namespace gs
