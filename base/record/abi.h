// The ring's layout in memory, version 1.6: what a recording process writes and any reader may rely
// on. Included by the recorder (ring.cpp), by readers (profiler/collect/reader.cpp) and by the
// injection library, which writes rings in processes gausscope does not own.
//
// A recording process owns one sealed memfd (it can neither shrink nor grow), maps it and is its
// only writer. Any number of readers map it read-only. Nobody waits for anybody: the writer
// overwrites the oldest records and never looks at a reader; a reader finds out by arithmetic what
// it missed. What was written outlives the process for as long as someone holds the memfd.
//
//   0               4096              217,088              479,232 total_bytes <= 16 MiB
//   +---------------+-----------------+--------------------+------------------------------------------------------+
//   | RingHeader    | Lane[128]       | string arena       | records of lane 0 | records of lane 1
//   | ...  | unused |
//   +---------------+-----------------+--------------------+------------------------------------------------------+
//   (offsets are in the header; readers use those, not this picture)
//
//   Lane, 1664 bytes                                        Record, 32 bytes
//   +-------------------------------+ 0                     +--------------------------+ 0
//   | state kind generation tid     |                       | begin        u64 ticks   |
//   | where its records lie, owner  |                       +--------------------------+ 8
//   +-------------------------------+ 64                    | end          u64 ticks   |
//   | head, depth, dropped (hot)    |                       +--------------------------+ 16
//   +-------------------------------+ 128                   | payload      u64         |
//   | OpenRange[64], 24 bytes each  |                       +-----------+----+----+----+ 24
//   +-------------------------------+ 1664                  | name  u32 |kind|dep.|flag| u8 u8 u16
//                                                           +-----------+----+----+----+ 32
//
// Lane protocol. One thread owns a lane at a time and is its only writer. Record n is in slot n %
// record_capacity. Writing record n: fence(release), four relaxed 8-byte stores, head = n + 1
// (release). Reading: h1 = head (acquire), copy records [max(tail, h1 - capacity), h1),
// fence(acquire), h2 = head; copied records with n <= h2 - capacity may be torn and count as
// lapped, the rest is whole. `head` never goes back, not even when another thread takes the lane:
// its records start at owner_first, and a thread_begin record says the same in band.
//
// Device lanes (1.1). Work that a GPU did has a lane per stream, of kind device, named after it
// ("CUDA stream training"). Its writer is whatever host thread polls the stream, one at a time;
// ownership, head and record rules are those of a thread's lane, but a record is a DeviceRecord of
// 64 bytes, which begins as a Record does and then says which range of which thread's lane had
// launched the work: its begin in ticks, lane, generation of the lane's owner, depth. begin and end
// are GPU times in this process's ticks, converted by the writer; spans of one depth do not
// overlap. A lane has no open ranges (depth stays 0). `untimed` counts work that was launched but
// not timed, because all event pairs were in use. `tid` is 0. thread_begin, thread_name and
// thread_end records are DeviceRecords as well.
//
//   DeviceRecord, 64 bytes
//   +--------------------------+ 0
//   | a Record                 |
//   +--------------------------+ 32
//   | launch_begin u64 ticks   |  0: no range was open, or none is known
//   +------------+-------------+ 40
//   | launch_lane| generation  |  u32 u32
//   +------------+-------------+ 48
//   | depth u32  | reserved    |
//   +------------+-------------+ 56
//   | correlation u64          |  1, 2, 3, ... per lane in order of launch
//   +--------------------------+ 64
//
// Activity lanes (1.2). CUPTI's records of a process's GPUs and CUDA calls go into one lane of kind
// activity. The thread that completes CUPTI's buffers writes it; `tid` is 0, depth stays 0. Its
// records are ActivityRecords of 64 bytes, in the order CUPTI delivers them, which is not the order
// of time. Their begin and end are CUPTI's nanoseconds, NOT ticks: readers convert with the clock
// snapshots that carry cupti_ns. `detail` depends on the kind.
//
//   ActivityRecord, 64 bytes
//   +--------------------------+ 0
//   | begin u64, end u64       |  CUPTI nanoseconds
//   +------------+-------------+ 16
//   | correlation| name        |  u32: joins work with the API call that launched it; string id
//   +--+--+------+-------------+ 24
//   |k |d |flags | stream      |  u8 ActivityKind, u8 device, u16, u32 (of API calls and overhead:
//   kernel thread id)
//   +--+--+------+-------------+ 32
//   | detail, 32 bytes         |  KernelDetail, CopyDetail, ApiDetail, SyncDetail, OverheadDetail,
//   MemoryDetail
//   +--------------------------+ 64
//
// CUPTI hands its records over late, and the later the busier the GPU is: a buffer comes when all
// that was launched while it was filled has ended. cupti_complete_ns (1.4) says how far the lane is
// complete; what began later may still be missing.
//
// Ranges that overlap (1.2). NVTX start/end ranges do not nest; they are async_span records in the
// lane of the thread that ended them, with depth 255. They are not on the stack of open ranges.
//
// Pauses (1.3). While the budget holds recording back there are pause records in the lane of the
// service's thread: begin..end is a stretch that is over, payload says what was left out in it
// (kPauses...). They are written while the pause lasts, each where the last one ended, so a reader
// is never further behind than the service's tick. What is missing in a pause was not recorded;
// that does not mean that nothing happened.
//
// Values of ranges (1.5). The values of a range beyond its one payload (NVTX's payload extension)
// are value records in the lane of its thread, written when it begins, so before its span record:
// begin and depth are the range's, end is begin, name is the value's, payload the value. Those of a
// mark have the mark's time and depth 255.
//
// Open ranges. On entry a range is written to stack[depth] and depth goes up; on exit depth goes
// down and one record is written. So the ranges open at the moment of a crash or a hang are there
// to read. depth may exceed 64: the excess is not kept.
//
// Strings. Ids count from 1 in arena order. An entry is a StringEntry, its text (UTF-8, no
// terminator) and zeros up to a multiple of 8. Content first, then arena_published (release), then
// string_count. Ids first_stage_string .. + stage_count - 1 are gausscope's stages.
//
// Time. Ticks are of tick_clock; readers convert with the clock snapshots {ticks, MONOTONIC,
// REALTIME, CUPTI}: the first ever is kept, the others are a ring of 64, clock_count being written
// last (release).
//
// Versions. A reader refuses another major. A minor only appends: into reserved bytes, or by larger
// *_bytes, which readers step by.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::abi {

inline constexpr std::uint64_t kMagic = 0x31474E4952534724ull;  ///< "$GSRING1", little endian
inline constexpr std::uint32_t kMajor = 1, kMinor = 6;
inline constexpr std::uint32_t kVersion = kMajor << 16 | kMinor;
inline constexpr std::uint64_t kHardCap = 16u
                                          << 20;  ///< bytes of one process's ring, never exceeded
inline constexpr std::uint32_t kLaneCount = 128;
inline constexpr std::uint32_t kStackSlots = 64;
inline constexpr std::uint32_t kClockSlots = 64;
inline constexpr std::uint32_t kMaxStringBytes = 240;  ///< longer names are cut and counted
inline constexpr std::uint64_t kArenaBytes = 256u << 10;

enum class TickClock : std::uint32_t {
    counter = 1,       ///< the CPU's invariant counter, unit unknown: use the snapshots
    monotonic_ns = 2,  ///< CLOCK_MONOTONIC in nanoseconds, where the counter cannot be trusted
};

enum class RecordKind : std::uint8_t {
    none = 0,          ///< never written
    span = 1,          ///< begin..end, payload
    counter = 2,       ///< at begin, payload is a double's bits
    instant = 3,       ///< at begin, payload
    thread_begin = 4,  ///< a thread took the lane: payload is its kernel id, name its name or 0
    thread_name = 5,   ///< the lane's thread is called `name` from now on
    thread_end = 6,    ///< the thread left
    async_span = 7,    ///< begin..end, payload; may overlap anything (1.2)
    pause = 8,         ///< begin..end, payload: what was not recorded in it, kPauses... (1.3)
    value = 9,         ///< payload: one of the values of the range that began at begin (1.5)
};
/// Payload of a pause, bits.
inline constexpr std::uint64_t kPausesRanges = 1;  ///< outermost ranges that began
inline constexpr std::uint64_t kPausesGpu = 2;     ///< CUPTI's records, and inner ranges
/// Record::flags and OpenRange::flags. The payload is a u64 unless one of the two others says what
/// its bits are. The upper byte is the NVTX category's number, 0: none (1.2); its name is the
/// StringEntry of that category and domain.
inline constexpr std::uint16_t kHasPayload = 1;
inline constexpr std::uint16_t kPayloadIsDouble = 2, kPayloadIsSigned = 4;
inline constexpr std::uint16_t kPayloadIsName = 8;  ///< of values: a string id (1.5)
inline constexpr int kCategoryShift = 8;

struct Record {
    std::uint64_t begin, end;  ///< ticks
    std::uint64_t payload;     ///< see RecordKind
    std::uint32_t name;        ///< string id, 0: none
    std::uint8_t kind;         ///< RecordKind
    std::uint8_t depth;        ///< ranges open around it, 255: that many or more
    std::uint16_t flags;
};
static_assert(sizeof(Record) == 32 && alignof(Record) == 8);
static_assert(offsetof(Record, payload) == 16 && offsetof(Record, name) == 24 &&
              offsetof(Record, kind) == 28 && offsetof(Record, depth) == 29 &&
              offsetof(Record, flags) == 30);

/// What a device lane holds: a span of GPU work, and the range that launched it.
struct DeviceRecord {
    Record record;
    std::uint64_t launch_begin;  ///< ticks, 0: not known
    std::uint32_t launch_lane, launch_generation;
    std::uint32_t launch_depth, reserved;
    std::uint64_t correlation;
};
static_assert(sizeof(DeviceRecord) == 64 && offsetof(DeviceRecord, launch_begin) == 32 &&
              offsetof(DeviceRecord, launch_lane) == 40 &&
              offsetof(DeviceRecord, launch_depth) == 48 &&
              offsetof(DeviceRecord, correlation) == 56);

enum class ActivityKind : std::uint8_t {
    none = 0,
    kernel = 1,
    copy = 2,
    fill = 3,
    graph = 4,            ///< a whole CUDA graph, if its nodes are not reported
    api = 5,              ///< a call of the CUDA runtime or driver
    synchronization = 6,  ///< the wait that a synchronising call was
    overhead = 7,         ///< time the driver or the tool took
    memory = 8,           ///< allocation or release of device memory, at begin
};
/// ActivityRecord::flags.
inline constexpr std::uint16_t kAsynchronous = 1;  ///< copies and fills, as asked for
inline constexpr std::uint16_t kReleases = 2;      ///< memory: given back, not taken
inline constexpr std::uint16_t kDriverApi = 4;     ///< api: of the driver, not the runtime

struct KernelDetail {
    std::uint32_t grid_x;
    std::uint16_t grid_y, grid_z;
    std::uint16_t block_x, block_y, block_z;
    std::uint16_t registers;                      ///< a thread
    std::uint32_t static_shared, dynamic_shared;  ///< bytes
    std::uint32_t graph;                          ///< id of the graph it is a node of, 0: none
    std::uint16_t context, local_per_thread;      ///< bytes, 65535: that many or more
};
struct CopyDetail {  ///< and fills
    std::uint64_t bytes;
    std::uint8_t source, target;  ///< MemoryType
    std::uint16_t context;
    std::uint32_t graph;
    std::uint64_t reserved[2];
};
enum class MemoryType : std::uint8_t { unknown = 0, pageable, pinned, device, array, managed };
struct ApiDetail {
    std::uint32_t result;  ///< the call's error code
    std::uint32_t callback_id;
    std::uint64_t reserved[3];
};
enum class SyncType : std::uint32_t { unknown = 0, event, stream_wait_event, stream, context };
struct SyncDetail {
    std::uint32_t type;  ///< SyncType
    std::uint32_t context, event, reserved0;
    std::uint64_t reserved[2];
};
enum class OverheadType : std::uint32_t {
    other = 0,
    compiler,
    buffer_flush,
    instrumentation,
    resource,
    module_load,
    function_load,
    command_buffer_full
};
struct OverheadDetail {
    std::uint32_t type;  ///< OverheadType
    std::uint32_t reserved0;
    std::uint64_t reserved[3];
};
struct MemoryDetail {
    std::uint64_t bytes, address;
    std::uint8_t type;  ///< MemoryType
    std::uint8_t reserved0[7];
    std::uint64_t reserved;
};

struct ActivityRecord {
    std::uint64_t begin, end;  ///< CUPTI nanoseconds
    std::uint32_t correlation, name;
    std::uint8_t kind;  ///< ActivityKind
    std::uint8_t device;
    std::uint16_t flags;
    std::uint32_t stream;  ///< of API calls and overhead: kernel thread id; 0: none (waits for a
                           ///< whole context)
    std::uint64_t detail[4];
};
static_assert(sizeof(ActivityRecord) == 64 && offsetof(ActivityRecord, correlation) == 16 &&
              offsetof(ActivityRecord, kind) == 24 && offsetof(ActivityRecord, stream) == 28 &&
              offsetof(ActivityRecord, detail) == 32);
static_assert(sizeof(KernelDetail) == 32 && sizeof(CopyDetail) == 32 && sizeof(ApiDetail) == 32 &&
              sizeof(SyncDetail) == 32 && sizeof(OverheadDetail) == 32 &&
              sizeof(MemoryDetail) == 32);

/// A GPU the process uses; what the occupancy of its kernels follows from. Written once, before the
/// first record that bears its number.
struct GpuDevice {
    std::uint32_t name;  ///< string id, 0: this slot is not used
    std::uint16_t compute_major, compute_minor;
    std::uint32_t multiprocessors;
    std::uint32_t warps_per_multiprocessor, blocks_per_multiprocessor;
    std::uint32_t registers_per_multiprocessor, shared_per_multiprocessor,
        shared_per_block;  ///< bytes
    std::uint32_t clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
    std::uint64_t memory_bytes;
    std::uint8_t uuid[16];
    std::uint32_t pci_domain, pci_bus, pci_device;
    std::uint32_t reserved[11];
};
static_assert(sizeof(GpuDevice) == 128 && offsetof(GpuDevice, memory_bytes) == 48 &&
              offsetof(GpuDevice, uuid) == 56);
inline constexpr std::uint32_t kGpuSlots = 8;

struct OpenRange {
    std::uint64_t begin;  ///< ticks
    std::uint64_t payload;
    std::uint32_t name;
    std::uint32_t flags;  ///< lower half: Record::flags; the upper half is the writer's own
};
static_assert(sizeof(OpenRange) == 24 && offsetof(OpenRange, name) == 16);

enum class LaneState : std::uint32_t { unused = 0, owned = 1, released = 2 };
enum class LaneKind : std::uint32_t {
    thread = 0,
    device =
        1,  ///< a GPU's work, written by the thread that polls or drains it; record_bytes is 64
    activity = 2,  ///< CUPTI's records; record_bytes is 64 (1.2)
};

struct alignas(64) Lane {
    std::uint32_t state;            ///< LaneState
    std::uint32_t kind;             ///< LaneKind
    std::uint32_t generation;       ///< 1, 2, 3, ... for each owner
    std::uint32_t tid;              ///< kernel thread id of the present or last owner
    std::uint64_t records_offset;   ///< from the start of the ring
    std::uint32_t record_capacity;  ///< a power of two; 0 until first used
    std::uint32_t record_bytes;
    std::uint64_t owner_first;  ///< head when the owner took the lane
    std::uint32_t name;         ///< string id of the thread's name, 0: none
    std::uint32_t reserved0;
    std::uint64_t released_at;  ///< ticks
    std::uint64_t untimed;  ///< device lanes (1.1): pieces of work that were launched and not timed
    // ---- second cache line: changes with every record
    std::uint64_t head;   ///< records written since the ring began
    std::uint32_t depth;  ///< ranges open now
    std::uint32_t reserved2;
    std::uint64_t reserved3[6];
    // ----
    OpenRange stack[kStackSlots];
};
static_assert(sizeof(Lane) == 1664 && offsetof(Lane, records_offset) == 16 &&
              offsetof(Lane, owner_first) == 32 && offsetof(Lane, head) == 64 &&
              offsetof(Lane, depth) == 72 && offsetof(Lane, stack) == 128);

struct StringEntry {
    std::uint32_t bytes;   ///< of text that follows, without padding
    std::uint32_t domain;  ///< id of the string that names its NVTX domain, 0: none
    std::uint32_t color;   ///< 0xRRGGBB | 1 << 24 when the producer chose one, else 0
    std::uint32_t flags;   ///< 0, or kCategoryName | number << 8
};
static_assert(sizeof(StringEntry) == 16);
inline constexpr std::uint32_t kCategoryName = 1;  ///< names an NVTX category of `domain` (1.2)

/// What became of CUPTI in this process.
enum class CuptiState : std::uint32_t {
    not_asked = 0,  ///< only NVTX is recorded
    recording = 1,
    released = 2,     ///< given up, so that another tool can have it: cupti_reason says why
    held = 3,         ///< another tool has it; cupti_reason names it
    unavailable = 4,  ///< no library, no device, an error: cupti_reason says which
    paused = 5,       ///< the budget's duty cycle has it off for now
};

struct ClockSnapshot {
    std::uint64_t ticks;
    std::uint64_t monotonic_ns;
    std::uint64_t realtime_ns;
    std::uint64_t cupti_ns;           ///< 0: CUPTI is not there
    std::uint64_t uncertainty_ticks;  ///< between the reads before and after
};
static_assert(sizeof(ClockSnapshot) == 40);

struct alignas(64) RingHeader {
    std::uint64_t magic;    ///< written last: a ring without it is not ready
    std::uint32_t version;  ///< major << 16 | minor
    std::uint32_t header_bytes, lane_bytes, record_bytes, clock_bytes, string_entry_bytes;
    std::uint64_t total_bytes;  ///< the budget
    std::uint64_t lanes_offset;
    std::uint32_t lane_count, stack_slots;
    std::uint64_t arena_offset, arena_bytes;
    std::uint64_t rings_offset, rings_bytes;
    std::uint32_t pid;
    std::uint32_t tick_clock;     ///< TickClock
    std::uint64_t process_start;  ///< field 22 of /proc/PID/stat: distinguishes a reused pid from
                                  ///< the same process
    std::uint64_t start_realtime_ns;
    std::uint8_t boot_id[16];
    char process_name[64];  ///< zero-terminated
    std::uint32_t stage_count, first_stage_string;
    std::uint64_t reserved0[7];
    // ---- 256: strings
    std::uint64_t arena_published;  ///< bytes of the arena that are valid
    std::uint32_t string_count;
    std::uint32_t reserved1;
    std::uint64_t truncated_strings;  ///< cut to kMaxStringBytes
    std::uint64_t dropped_strings;    ///< arena full: id 0 was given instead
    std::uint64_t reserved2[4];
    // ---- 320: lanes
    std::uint64_t rings_used;       ///< bytes given to lanes
    std::uint32_t lanes_used;       ///< lanes [0, lanes_used) were ever used
    std::uint32_t armed;            ///< 1 while the process records
    std::uint64_t dropped_records;  ///< records of threads that got no lane
    std::uint64_t
        unmatched_ends;  ///< ends of ranges that were not open: a mistake of the program (1.2)
    std::uint64_t
        too_deep;  ///< ranges not recorded because kStackSlots were open around them (1.2)
    /// Descriptors of the recorder that the program has closed or replaced (1.6).
    std::uint64_t lost_descriptors;
    std::uint64_t reserved3[2];
    // ---- 384: signs of life
    std::uint64_t heartbeat_ns;   ///< CLOCK_MONOTONIC of the last clock snapshot
    std::uint64_t clock_count;    ///< snapshots ever taken; number i > 0 is clocks[i % kClockSlots]
    std::uint32_t cupti_state;    ///< CuptiState (1.2)
    std::uint32_t cupti_reason;   ///< string id, 0: none
    std::uint64_t cupti_dropped;  ///< records CUPTI says it lost
    std::uint64_t budget_skipped;  ///< records not taken because the budget was used up
    std::uint64_t service_cpu_ns;  ///< processor time that the service's own threads have used in
                                   ///< this process
    std::uint32_t budget_ppm;  ///< share of the process's time that recording may cost, 0: no limit
    std::uint32_t duty_ppm;    ///< share of the time that recording is on now: 1,000,000 is always
    std::uint64_t
        service_ticks;  ///< spent by the process's own threads in the recorder's slow paths
    // ---- 448
    ClockSnapshot first_clock;
    /// CLOCK_MONOTONIC time up to which the activity lane has all of CUPTI's records of launches;
    /// 0: CUPTI records nothing, so there is nothing to wait for (1.4).
    std::uint64_t cupti_complete_ns;
    std::uint64_t reserved5[2];
    // ---- 512
    ClockSnapshot clocks[kClockSlots];
    // ---- 3072: its GPUs, slot i is device i (1.2)
    GpuDevice devices[kGpuSlots];
};
static_assert(sizeof(RingHeader) == 4096 && offsetof(RingHeader, total_bytes) == 32 &&
              offsetof(RingHeader, pid) == 88 && offsetof(RingHeader, boot_id) == 112 &&
              offsetof(RingHeader, process_name) == 128 &&
              offsetof(RingHeader, arena_published) == 256 &&
              offsetof(RingHeader, rings_used) == 320 &&
              offsetof(RingHeader, heartbeat_ns) == 384 &&
              offsetof(RingHeader, cupti_state) == 400 &&
              offsetof(RingHeader, first_clock) == 448 &&
              offsetof(RingHeader, cupti_complete_ns) == 488 &&
              offsetof(RingHeader, clocks) == 512 && offsetof(RingHeader, devices) == 3072);

}  // namespace gs::abi
