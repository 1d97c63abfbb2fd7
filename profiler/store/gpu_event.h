// What a reader learns of a process's GPU and CUDA calls from its own stage timer, from CUPTI's
// activity records or from a trace file, as plain structs: work on a device, calls of the CUDA API,
// overhead, and the devices themselves. Times are nanoseconds of CLOCK_MONOTONIC, names by number
// as everywhere in a TraceBatch (event.h). Numbers a source does not tell are zero where zero
// cannot be true (registers, blocks), and "unknown" where it could.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/record/abi.h"

namespace gs {

inline constexpr std::uint32_t kNoTrack = ~0u;
/// What the 64 bits of a payload are.
enum class PayloadKind : std::uint8_t {
    whole,
    real,
    signed_whole,
    name,  ///< number of a name; only of values (RangeValueEvent)
};

enum class GpuWorkKind : std::uint8_t { kernel, copy, fill, graph, stage };
using abi::MemoryType, abi::OverheadType, abi::SyncType;

std::string_view name_of(MemoryType type);    ///< "pageable"
std::string_view name_of(OverheadType type);  ///< "loading a module"

/// The last value of each; the first is what is not known.
template <class E>
inline constexpr E kLast = E{};
template <>
inline constexpr MemoryType kLast<MemoryType> = MemoryType::managed;
template <>
inline constexpr SyncType kLast<SyncType> = SyncType::context;
template <>
inline constexpr OverheadType kLast<OverheadType> = OverheadType::command_buffer_full;
/// From a number that anybody may have written.
template <class E>
constexpr E enumerator(std::uint64_t value) {
    return value <= static_cast<std::uint64_t>(kLast<E>) ? static_cast<E>(value) : E{};
}
/// The one that name_of() calls `name`.
template <class E>
E enumerator(std::string_view name) {
    for (std::uint64_t i = 0; i <= static_cast<std::uint64_t>(kLast<E>); ++i)
        if (name_of(static_cast<E>(i)) == name) return static_cast<E>(i);
    return E{};
}

/// What work without a name of its own is called: "copy pageable to device", "fill".
std::string work_text(GpuWorkKind kind, MemoryType source, MemoryType target);

/// The span that launched a piece of GPU work: of track `track`, row (depth) `row`, begun at
/// `time_ns`. track is kNoTrack when it is not known.
struct TraceLaunch {
    std::int64_t time_ns = 0;
    std::uint32_t track = kNoTrack;
    std::uint8_t row = 0;
};

/// One kernel, copy, fill or whole graph as a device carried it out; or a stage of a program, as
/// its own stage timer measured it on a stream.
struct GpuWorkEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::int64_t queued_ns = 0, submitted_ns = 0;  ///< 0: unknown
    std::uint64_t correlation = 0;  ///< of the API call that launched it, 0: unknown; of stages
                                    ///< 1, 2, 3, ... per stream in order of launch
    std::uint64_t bytes = 0;        ///< copies and fills
    std::uint32_t name = 0;         ///< the kernel's or stage's; 0: work_text() says
    std::uint32_t device = 0, context = 0, stream = 0;
    std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    std::uint32_t registers = 0;                                                ///< a thread
    std::uint32_t static_shared = 0, dynamic_shared = 0, local_per_thread = 0;  ///< bytes
    std::uint32_t graph = 0;  ///< id of the graph it is a node of, 0: none
    GpuWorkKind kind = GpuWorkKind::kernel;
    MemoryType source = MemoryType::unknown, target = MemoryType::unknown;  ///< copies
    bool asynchronous = true;  ///< as it was asked for; a pageable copy may wait all the same
    // ---- of stages, which come per track and depth in order, and tell their stream by its track
    std::uint32_t track = kNoTrack;
    TraceLaunch launch = {};  ///< by the source's numbers; other work is joined by its correlation
    std::uint64_t payload = 0;
    std::uint8_t depth = 0;
    bool has_payload = false;
    PayloadKind payload_kind = PayloadKind::whole;
    std::uint8_t category = 0;
};

enum class ApiKind : std::uint8_t {
    other,
    launch,
    copy,
    fill,
    synchronize,
    allocate,
    release,
    graph_launch
};
/// From the call's name, runtime or driver, with or without "_v2" and "_ptsz" suffixes.
ApiKind api_kind_of(std::string_view call);

/// One call of the CUDA runtime or driver API.
struct ApiCallEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t correlation = 0;
    std::uint32_t tid = 0;     ///< kernel thread id of the caller
    std::uint32_t name = 0;    ///< "cudaLaunchKernel"
    std::uint32_t result = 0;  ///< its error code, 0: success
    bool driver = false;       ///< of the driver's API; most are inside a call of the runtime's
};

/// Time the driver or the tool took for itself.
struct OverheadEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t tid = 0;
    OverheadType kind = OverheadType::other;
};

/// The wait inside a synchronising call.
struct SyncEvent {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t correlation = 0;
    std::uint32_t context = 0, stream = 0;
    SyncType type = SyncType::unknown;
};
/// Device memory taken or given back.
struct MemoryEvent {
    std::int64_t time_ns = 0;
    std::uint64_t bytes = 0, address = 0, correlation = 0;
    std::uint32_t device = 0;
    MemoryType type = MemoryType::device;
    bool released = false;
};

/// What a device is; the occupancy limits of its kernels follow from it.
struct GpuDeviceEvent {
    std::uint32_t device = 0;
    std::string name, uuid;
    int compute_major = 0, compute_minor = 0, multiprocessors = 0;
    std::uint32_t warps_per_multiprocessor = 0, blocks_per_multiprocessor = 0,
                  registers_per_multiprocessor = 0;
    std::uint32_t shared_per_multiprocessor = 0, shared_per_block = 0, l2_bytes = 0;  ///< bytes
    int clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
    std::uint64_t memory_bytes = 0;
};

}  // namespace gs
